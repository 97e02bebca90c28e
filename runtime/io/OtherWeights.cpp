#include "tessera/runtime/io/OtherWeights.h"

#include <filesystem>

namespace tessera::io {

static bool isCalled(const std::string &name, const std::string &begin, const std::string &end) {
  return name.size() >= begin.size() + end.size() && name.compare(0, begin.size(), begin) == 0 &&
         name.compare(name.size() - end.size(), end.size(), end) == 0;
}

std::string otherWeights(const ModelFile &model) {
  if (model.format() != ModelFormat::HuggingFace || model.hasWeights() || model.isEmbedded())
    return {};
  std::string ofOthers, ours; // the first of each by the alphabet
  auto note = [](std::string &first, const std::string &name) {
    if (first.empty() || name < first)
      first = name;
  };
  std::error_code error;
  for (std::filesystem::directory_iterator at(model.path(), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (isCalled(name, "pytorch_model", ".bin") || isCalled(name, "consolidated.", ".pth") ||
        isCalled(name, "tf_model", ".h5") || isCalled(name, "flax_model", ".msgpack"))
      note(ofOthers, name);
    else if (isCalled(name, "", ".safetensors"))
      note(ours, name);
  }
  return ofOthers.empty() ? ours : ofOthers;
}

} // namespace tessera::io
