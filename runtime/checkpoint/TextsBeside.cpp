#include "tessera/runtime/checkpoint/Store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace tessera::checkpoint {

Result<Texts> textsBeside(const std::string &path) {
  static constexpr std::string_view weights[] = {".bin",  ".gguf", ".h5",  ".msgpack",
                                                 ".onnx", ".pt",   ".pth", ".safetensors"};
  static constexpr std::string_view indexEnding = ".index.json";
  Texts texts;
  std::error_code error;
  std::filesystem::directory_iterator folder(path, error), end;
  for (; !error && folder != end; folder.increment(error)) {
    std::string name = folder->path().filename().string();
    std::error_code none;
    if (name[0] == '.' || name == markName || !folder->is_regular_file(none) ||
        folder->file_size(none) > uintmax_t(64) << 20 ||
        std::find(std::begin(weights), std::end(weights), folder->path().extension().string()) !=
            std::end(weights) ||
        (name.size() >= indexEnding.size() &&
         name.compare(name.size() - indexEnding.size(), indexEnding.size(), indexEnding) == 0))
      continue;
    std::string text;
    if (int failed = realFiles().read(folder->path().string(), text))
      return Failure{"cannot read model", folder->path().string(), std::strerror(failed), ""};
    texts.emplace_back(name, std::move(text));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

} // namespace tessera::checkpoint
