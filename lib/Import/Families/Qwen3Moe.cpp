//===- Qwen3Moe.cpp - Qwen3 with experts ----------------------------------===//
//
// Qwen3 with experts in place of the MLP of all layers or some (arXiv 2505.09388). In GGUF all have them, and
// their shares always add up to 1, as llama.cpp computes them.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <set>

using namespace tessera;
using namespace tessera::importer;

/// `num_local_experts` as transformers 5 writes it, `num_experts` as those before it.
static int64_t readCount(Settings &settings) {
  bool newer = settings.has("num_local_experts"), older = settings.has("num_experts");
  int64_t count = settings.size(newer ? "num_local_experts" : "num_experts", 128);
  if (newer && older)
    settings.require(settings.size("num_experts") == count, "num_experts",
                     "is not what num_local_experts says: " + llvm::Twine(count));
  return count;
}

/// Which layers have experts: the last one of every `decoder_sparse_step`, but for those of
/// `mlp_only_layers`. Numbers of no layer mean nothing there.
static void readSparseLayers(Settings &settings, ModelConfig &c) {
  int64_t step = settings.size("decoder_sparse_step", 1);
  std::set<int64_t> listed;
  if (settings.has("mlp_only_layers"))
    for (const SettingValue &layer : settings.list("mlp_only_layers")) {
      settings.require(layer.kind == SettingValue::Kind::Integer, "mlp_only_layers",
                       "has " + layer.text + ", must hold numbers of layers");
      if (layer.integer >= 0 && layer.integer < c.layers)
        listed.insert(layer.integer);
    }
  if (step == 1 && listed.empty())
    return;
  if (step > c.layers || int64_t(listed.size()) == c.layers) {
    c.experts = 0;
    return;
  }
  settings.require(c.layers <= kMostMixedLayers, "num_hidden_layers",
                   "is " + llvm::Twine(c.layers) + ", must be at most " + llvm::Twine(kMostMixedLayers) +
                       " where some layers have no experts");
  std::vector<LayerKind> kinds;
  for (int64_t i = 0; i < std::min(c.layers, kMostMixedLayers); ++i) {
    LayerKind kind = c.kind(i);
    kind.isDense = (i + 1) % step != 0 || listed.count(i);
    kinds.push_back(kind);
  }
  if (llvm::all_of(kinds, [](LayerKind kind) { return kind.isDense; }))
    c.experts = 0;
  c.kinds = std::move(kinds);
}

/// A window, where it is on, is one of all layers. Releases of transformers before 4.53 had it in those from
/// `max_window_layers` on, as in the dense models: what they would compute otherwise is refused.
static void readWindow(Settings &settings, ModelConfig &c) {
  std::optional<int64_t> window = readWindowJson(settings, 4096);
  SettingValue without = settings.value("max_window_layers");
  std::optional<std::vector<LayerKind>> kinds = readSwitchedLayerTypesJson(settings, c.layers);
  if (!kinds)
    return;
  if (!without.absent() && !(without.kind == SettingValue::Kind::Integer && without.integer == 0))
    settings.unsupported("max_window_layers", "0, or to leave it out: releases of transformers do not agree "
                                              "on which layers have the window");
  if (!llvm::all_of(*kinds, [](LayerKind kind) { return kind.slides; }))
    settings.unsupported("layer_types", "a window in all layers");
  c.window = window;
}

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c = readDecoderJson(settings, {.maxPositions = 32768});
  c.attentionBias = settings.flag("attention_bias", false);
  c.queryKeyNorm = QueryKeyNorm::EachHead;
  readWindow(settings, c);
  c.experts = readCount(settings);
  c.expertsUsed = settings.size("num_experts_per_tok", 8);
  c.expertFfn = settings.size("moe_intermediate_size", 768);
  c.normalizedShares = settings.flag("norm_topk_prob", false);
  settings.require(c.expertsUsed <= c.experts, "num_experts_per_tok",
                   "is " + llvm::Twine(c.expertsUsed) + " of " + llvm::Twine(c.experts) + " experts");
  readSparseLayers(settings, c);
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "qwen3moe", "qwen3moe.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "qwen3moe", c);
  readWindowGguf(settings, "qwen3moe", {}, c); // which layers have it the file has to say
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  c.queryKeyNorm = QueryKeyNorm::EachHead;
  readExpertsGguf(settings, "qwen3moe", c);
  settings.require(c.experts > 0, "qwen3moe.expert_count", "is missing");
  return c;
}

const Family &importer::qwen3MoeFamily() {
  static const Family family = {
      "qwen3_moe",
      {{"Qwen3MoeForCausalLM"},
       "qwen3_moe",
       readHuggingFace,
       huggingFaceNames({{"layers.router", "model.layers.{}.mlp.gate.weight"},
                         {"layers.experts.gate", "model.layers.{}.mlp.experts.{expert}.gate_proj.weight"},
                         {"layers.experts.up", "model.layers.{}.mlp.experts.{expert}.up_proj.weight"},
                         {"layers.experts.down", "model.layers.{}.mlp.experts.{expert}.down_proj.weight"}})},
      {{"qwen3moe"}, "", readGguf, ggufNames(StorageOrder::OutputMajor)},
      gatedDecoder};
  return family;
}
