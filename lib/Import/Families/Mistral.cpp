//===- Mistral.cpp - Mistral ----------------------------------------------===//
//
// Llama with a window in all layers (arXiv 2310.06825); the later models have none. In GGUF it is a `llama`,
// whose converter leaves the window out: such a file sees all keys, as in llama.cpp. A window that a file has
// counts.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

using namespace tessera;
using namespace tessera::importer;

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c = readDecoderJson(settings, {.maxPositions = 4096 * 32});
  c.window = readWindowJson(settings, /*fallback=*/4096);
  return c;
}

const Family &importer::mistralFamily() {
  static const Family family = {
      "mistral", {{"MistralForCausalLM"}, "mistral", readHuggingFace, huggingFaceNames()}, {}, gatedDecoder};
  return family;
}
