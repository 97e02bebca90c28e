// What of the runtime reads bytes from outside.
#include "Targets.h"

namespace tessera::fuzz {

const std::vector<Target> &targets() {
  static const std::vector<Target> all = {
      {"safetensors", runSafetensors},
      {"gguf", runGguf},
      {"quantized", runQuantized},
      {"embedded", runEmbedded},
      {"training-data", runTrainingData},
      {"blocks", runBlocks},
      {"tokenizer-json", runTokenizerJson},
      {"sentencepiece", runSentencePiece},
      {"text", runText},
      {"config", runConfig},
      {"command-line", runCommandLine},
      {"template", runTemplate},
      {"schedule", runSchedule},
      {"checkpoint", runCheckpoint},
      {"log", runLog},
  };
  return all;
}

} // namespace tessera::fuzz
