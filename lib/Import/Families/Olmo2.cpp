//===- Olmo2.cpp - OLMo 2 -------------------------------------------------===//
//
// Norms behind attention and MLP in place of those before them, and norms of q and k over all heads of a
// token at once (arXiv 2501.00656).
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
  ModelConfig c = readDecoderJson(settings, {.headsForKeys = true, .normEps = 1e-5});
  c.attentionBias = settings.flag("attention_bias", false);
  c.queryKeyNorm = QueryKeyNorm::AllHeads;
  c.normPlaces = {.before = false, .behind = true};
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "olmo2", "olmo2.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "olmo2", c);
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  c.queryKeyNorm = QueryKeyNorm::AllHeads;
  c.normPlaces = {.before = false, .behind = true};
  return c;
}

const Family &importer::olmo2Family() {
  static const Family family = {
      "olmo2",
      {{"Olmo2ForCausalLM"},
       "olmo2",
       readHuggingFace,
       huggingFaceNames({{"layers.attention_out_norm", "model.layers.{}.post_attention_layernorm.weight"},
                         {"layers.mlp_out_norm", "model.layers.{}.post_feedforward_layernorm.weight"}})},
      {{"olmo2"},
       "",
       readGguf,
       ggufNames(StorageOrder::OutputMajor,
                 {{"layers.attention_out_norm", "blk.{}.post_attention_norm.weight"},
                  {"layers.mlp_out_norm", "blk.{}.post_ffw_norm.weight"}})},
      gatedDecoder};
  return family;
}
