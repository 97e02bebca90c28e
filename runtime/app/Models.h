// The model files of a run.
#ifndef TESSERA_RUNTIME_APP_MODELS_H
#define TESSERA_RUNTIME_APP_MODELS_H

#include "Options.h"
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
  // The directory whose configuration and tokenizer belong to the weights; empty if there is none.
  std::string directory() const;

private:
  const io::ModelFile &main();
  std::unique_ptr<io::ModelFile> openCompiled();

  const Manifest &manifest_;
  const Options &options_;
  std::unique_ptr<io::ModelFile> main_, compiled_;
};

} // namespace tessera::runtime
#endif
