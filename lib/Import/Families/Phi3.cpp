//===- Phi3.cpp - Phi-3, Phi-3.5 and Phi-4 --------------------------------===//
//
// Llama with one tensor for q, k and v and one for gate and up, a window in all layers of some, a part of
// each head turned in Phi-4-mini, and longrope (arXiv 2404.14219, 2503.01743). llama.cpp reads the window of
// a GGUF file and passes over it; here it counts, as in transformers.
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
  ModelConfig c = readDecoderJson(
      settings, {.headsForKeys = true, .maxPositions = 4096, .normEps = 1e-5, .turnsPart = true});
  c.window = readWindowJson(settings, std::nullopt);
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "phi3", "phi3.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "phi3", c, /*turnsPart=*/true);
  readWindowGguf(settings, "phi3", {.period = 0}, c);
  return c;
}

const Family &importer::phi3Family() {
  static const Family family = {
      "phi3",
      {{"Phi3ForCausalLM"},
       "phi3",
       readHuggingFace,
       huggingFaceNames({{"layers.q", "model.layers.{}.self_attn.qkv_proj.weight"},
                         {"layers.k", "model.layers.{}.self_attn.qkv_proj.weight"},
                         {"layers.v", "model.layers.{}.self_attn.qkv_proj.weight"},
                         {"layers.gate", "model.layers.{}.mlp.gate_up_proj.weight"},
                         {"layers.up", "model.layers.{}.mlp.gate_up_proj.weight"}})},
      {{"phi3"},
       "",
       readGguf,
       ggufNames(StorageOrder::OutputMajor, {{"layers.q", "blk.{}.attn_qkv.weight"},
                                             {"layers.k", "blk.{}.attn_qkv.weight"},
                                             {"layers.v", "blk.{}.attn_qkv.weight"},
                                             {"layers.gate", "blk.{}.ffn_up.weight"},
                                             {"layers.up", "blk.{}.ffn_up.weight"}})},
      gatedDecoder};
  return family;
}
