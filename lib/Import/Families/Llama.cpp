//===- Llama.cpp - Llama 1 to 3 and models of the same form ---------------===//
//
// RMSNorm before each block, rotary embedding on halves of a head, grouped heads, gated MLP, no learned
// positions (arXiv 2302.13971, 2307.09288, 2407.21783). TinyLlama, SmolLM and SmolLM2 are of this family.
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
  ModelConfig c = readDecoderJson(settings, {.headsForKeys = true, .maxPositions = 2048});
  c.attentionBias = settings.flag("attention_bias", false);
  c.mlpBias = settings.flag("mlp_bias", false);
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "llama", "llama.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "llama", c);
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  c.mlpBias = file.find("blk.0.ffn_up.bias") != nullptr;
  readExpertsGguf(settings, "llama", c);               // Mixtral is a `llama` there
  readWindowGguf(settings, "llama", {.period = 0}, c); // and so is Mistral, whose layers all slide if any do
  return c;
}

const Family &importer::llamaFamily() {
  static const Family family = {
      "llama",
      {{"LlamaForCausalLM"}, "llama", readHuggingFace, huggingFaceNames()},
      // The converter permutes the rows of q and k for rotary embedding on adjacent pairs.
      {{"llama"}, "", readGguf, ggufNames(StorageOrder::AdjacentPairs)},
      gatedDecoder};
  return family;
}
