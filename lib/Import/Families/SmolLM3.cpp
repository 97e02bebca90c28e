//===- SmolLM3.cpp - SmolLM3 ----------------------------------------------===//
//
// Llama whose every fourth layer does not turn queries and keys (arXiv 2501.18795). GGUF leaves out which;
// four is what llama.cpp takes.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

#include "llvm/ADT/Twine.h"

using namespace tessera;
using namespace tessera::importer;

/// Which layers turn, from `no_rope_layers` (1: turns) or every `no_rope_layer_interval`th that does not.
static std::vector<LayerKind> readTurns(Settings &settings, int64_t layers) {
  int64_t interval = settings.size("no_rope_layer_interval", 4);
  std::vector<LayerKind> turns;
  if (settings.has("no_rope_layers")) {
    for (const SettingValue &v : settings.list("no_rope_layers")) {
      settings.require(v.kind == SettingValue::Kind::Integer && (v.integer == 0 || v.integer == 1),
                       "no_rope_layers", "has " + v.text + ", must hold zeros and ones");
      turns.push_back({.turns = v.integer == 1});
    }
    settings.require(int64_t(turns.size()) >= layers, "no_rope_layers",
                     "has " + llvm::Twine(turns.size()) + " entries for " + llvm::Twine(layers) + " layers");
    return turns;
  }
  for (int64_t i = 0; i < interval; ++i)
    turns.push_back({.turns = (i + 1) % interval != 0});
  return turns;
}

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c = readDecoderJson(settings, {.maxPositions = 32768, .tiedHead = true, .theta = 2e6});
  c.attentionBias = settings.flag("attention_bias", false);
  c.mlpBias = settings.flag("mlp_bias", false);
  c.kinds = readTurns(settings, c.layers);
  if (settings.flag("use_sliding_window", false))
    settings.unsupported("use_sliding_window", "false");
  settings.value("sliding_window"); // means nothing without that
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "smollm3", "smollm3.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "smollm3", c);
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  c.mlpBias = file.find("blk.0.ffn_up.bias") != nullptr;
  c.kinds = {{}, {}, {}, {.turns = false}};
  return c;
}

const Family &importer::smolLM3Family() {
  static const Family family = {"smollm3",
                                {{"SmolLM3ForCausalLM"}, "smollm3", readHuggingFace, huggingFaceNames()},
                                // The converter is Llama's, with its permuted rows.
                                {{"smollm3"}, "", readGguf, ggufNames(StorageOrder::AdjacentPairs)},
                                gatedDecoder};
  return family;
}
