#include "Models.h"
#include "tessera/runtime/core/Error.h"

#include <filesystem>

namespace tessera::runtime {

const io::ModelFile &Models::weights() {
  const io::ModelFile &model = main();
  if (!model.hasWeights())
    throw Error("cannot load weights", model.path(), "there are none beside its config.json",
                "download them, name others with --model=, or try --init=random:1");
  check(model.checkUnchanged());
  return model;
}

const io::ModelFile &Models::texts() {
  const io::ModelFile &model = main();
  if (model.format() == io::ModelFormat::Gguf || model.text("tokenizer.json") || options_.model.empty())
    return model;
  if (!compiled_)
    compiled_ = openCompiled();
  return *compiled_;
}

std::string Models::directory() const {
  std::error_code none;
  for (const std::string &path : {options_.model, manifest_.model})
    if (!path.empty() && std::filesystem::is_directory(path, none))
      return path;
  return {};
}

const io::ModelFile &Models::main() {
  if (!main_)
    main_ = options_.model.empty() ? openCompiled() : take(io::ModelFile::open(options_.model));
  return *main_;
}

std::unique_ptr<io::ModelFile> Models::openCompiled() {
  if (auto embedded = take(io::ModelFile::openEmbedded()))
    return embedded;
  return take(io::ModelFile::open(manifest_.model));
}

} // namespace tessera::runtime
