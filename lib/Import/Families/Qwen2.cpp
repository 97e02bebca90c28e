//===- Qwen2.cpp - Qwen2 and Qwen2.5 --------------------------------------===//
//
// Llama with biases of q, k and v alone (arXiv 2407.10671). Its window is off in what is published; where it
// is on, the layers from `max_window_layers` on have it.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

using namespace tessera;
using namespace tessera::importer;

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c = readDecoderJson(settings, {.maxPositions = 32768});
  c.inputBias = true;
  readUpperWindowJson(settings, c);
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "qwen2", "qwen2.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "qwen2", c);
  readWindowGguf(settings, "qwen2", {}, c); // which layers have it the file has to say
  c.inputBias = true;
  return c;
}

const Family &importer::qwen2Family() {
  static const Family family = {"qwen2",
                                {{"Qwen2ForCausalLM"}, "qwen2", readHuggingFace, huggingFaceNames()},
                                {{"qwen2"}, "", readGguf, ggufNames(StorageOrder::OutputMajor)},
                                gatedDecoder};
  return family;
}
