// The model files of a run.
#ifndef TESSERA_RUNTIME_APP_MODELS_H
#define TESSERA_RUNTIME_APP_MODELS_H

#include "Options.h"
#include "tessera/runtime/checkpoint/Store.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/io/ModelFile.h"

#include <memory>
#include <string>

namespace tessera::runtime {

// Weights from --model, or from inside the executable, or from where the model was compiled. Opened when they
// are first asked for; throw Error where there are none.
class Models {
public:
  Models(const Manifest &manifest, const Options &options) : manifest_(manifest), options_(options) {}

  const io::ModelFile &weights();
  // --model may name bare weights; the tokenizer then comes from the model that was compiled.
  const io::ModelFile &texts();
  // A run that goes on from a save has its texts there: those of the model, which may lie elsewhere by now.
  void takeTextsFrom(const std::string &save);
  // What belongs to the weights beside them, for saves: of --model, else of the model that was compiled, from
  // where it lies or from inside the executable. None of a model that had none.
  checkpoint::Texts textsBeside();
  // The folder that these lie in; empty: they lie in none.
  std::string folder() const;

private:
  const io::ModelFile &main();
  std::unique_ptr<io::ModelFile> openCompiled();

  const Manifest &manifest_;
  const Options &options_;
  std::unique_ptr<io::ModelFile> main_, compiled_, save_;
};

} // namespace tessera::runtime
#endif
