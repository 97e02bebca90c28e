#include "Models.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/OtherWeights.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace tessera::runtime {

const io::ModelFile &Models::weights() {
  const io::ModelFile &model = main();
  if (!model.hasWeights()) {
    if (const std::string name = io::otherWeights(model); !name.empty())
      throw Error("cannot load weights", model.path(), "they are in " + name + ", which is not read",
                  "convert them to model.safetensors (transformers' save_pretrained writes that), or name "
                  "others with --model=");
    throw Error("cannot load weights", model.path(), "there are none beside its config.json",
                "download them, name others with --model=, or try --init=random:1");
  }
  if (!model.holds().empty())
    throw Error("cannot load weights", model.path(),
                "it holds " + model.holds() + " of a training run, under the names of the weights",
                "name the model.safetensors of a save, or its folder, with --model=");
  check(model.checkUnchanged());
  return model;
}

// What a tokenizer is read from, either of them.
static constexpr const char *tokenizerTexts[] = {"tokenizer.json", "tokenizer.model"};

void Models::takeTextsFrom(const std::string &save) {
  std::error_code none;
  auto has = [&](const char *name) { return std::filesystem::exists(save + "/" + name, none); };
  if (has("config.json") && std::any_of(std::begin(tokenizerTexts), std::end(tokenizerTexts), has))
    save_ = take(io::ModelFile::open(save));
}

const io::ModelFile &Models::texts() {
  if (save_)
    return *save_;
  const io::ModelFile &model = main();
  auto has = [&](const char *name) { return model.text(name) != nullptr; };
  if (model.format() == io::ModelFormat::Gguf || options_.model.empty() ||
      std::any_of(std::begin(tokenizerTexts), std::end(tokenizerTexts), has))
    return model;
  if (!compiled_)
    compiled_ = openCompiled();
  return *compiled_;
}

std::string Models::folder() const {
  std::error_code none;
  for (const std::string &path : {options_.model, manifest_.model}) {
    if (path.empty())
      continue;
    if (std::filesystem::is_directory(path, none))
      return path;
    // A file of weights in a model's folder.
    const std::string folder = std::filesystem::absolute(path, none).parent_path().string();
    if (path == options_.model && std::filesystem::exists(folder + "/config.json", none))
      return folder;
  }
  return {};
}

checkpoint::Texts Models::textsBeside() {
  std::error_code none;
  if (const std::string beside = folder(); !beside.empty())
    return take(checkpoint::textsBeside(beside));
  if (auto embedded = take(io::ModelFile::openEmbedded())) {
    checkpoint::Texts texts;
    for (const char *name : io::modelTexts)
      if (const std::string_view *text = embedded->text(name))
        texts.emplace_back(name, *text);
    return texts;
  }
  if (!manifest_.model.empty() && !std::filesystem::exists(manifest_.model, none))
    throw Error(
        "cannot save checkpoint", manifest_.model,
        "the folder that this program was compiled from is gone, and config.json, which makes a save a "
        "model, was there",
        "bring it back, name a model's folder with --model=, or compile with --embed-weights");
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
