#include "tessera/runtime/checkpoint/Store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace tessera::checkpoint {

Result<Texts> textsBeside(const std::string &path) {
  static constexpr std::string_view weights[] = {".bin",  ".gguf", ".h5",  ".msgpack",
                                                 ".onnx", ".pt",   ".pth", ".safetensors"};
  static constexpr std::string_view indexEnding = ".index.json";
  constexpr uintmax_t most = uintmax_t(64) << 20, mostOfAll = uintmax_t(256) << 20;
  Texts texts;
  uintmax_t bytes = 0;
  std::error_code error;
  std::filesystem::directory_iterator folder(path, error), end;
  for (; !error && folder != end; folder.increment(error)) {
    std::string name = folder->path().filename().string();
    std::error_code none;
    if (name[0] == '.' || name == markName || !folder->is_regular_file(none) ||
        folder->file_size(none) > most ||
        std::find(std::begin(weights), std::end(weights), folder->path().extension().string()) !=
            std::end(weights) ||
        (name.size() >= indexEnding.size() &&
         name.compare(name.size() - indexEnding.size(), indexEnding.size(), indexEnding) == 0))
      continue;
    bytes += folder->file_size(none);
    if (bytes > mostOfAll)
      return Failure{"cannot save checkpoint", path,
                     "the files beside the weights, which each save takes along, are more than 256 MiB",
                     "move those that are no part of the model elsewhere"};
    std::string text;
    if (int failed = realFiles().read(folder->path().string(), text))
      return Failure{"cannot read model", folder->path().string(), std::strerror(failed),
                     "see that you may read it, or move it elsewhere"};
    texts.emplace_back(name, std::move(text));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

} // namespace tessera::checkpoint
