//===- DecoderJson.cpp - What most families call their settings -----------===//
#include "tessera/Import/Family.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/LayerRuns.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace tessera::importer {

ModelConfig readDecoderJson(Settings &settings, const DecoderDefaults &defaults) {
  ModelConfig c;
  c.layers = settings.size("num_hidden_layers");
  c.hidden = settings.size("hidden_size");
  c.heads = settings.size("num_attention_heads", defaults.heads);
  // Some classes make up a number of their own where there is none: too likely a mistake to follow them.
  bool asHeads =
      defaults.headsForKeys || settings.value("num_key_value_heads").kind == SettingValue::Kind::Null;
  c.kvHeads = settings.size("num_key_value_heads", asHeads ? std::optional(c.heads) : defaults.kvHeads);
  c.headDim = settings.has("head_dim") ? settings.size("head_dim") : defaults.headDim;
  c.ffn = settings.size("intermediate_size");
  c.vocab = settings.size("vocab_size", defaults.vocab);
  c.maxPositions = settings.size("max_position_embeddings", defaults.maxPositions);
  c.normEps = settings.positive("rms_norm_eps", defaults.normEps);
  c.activation = readActivation(settings, "hidden_act", "silu");
  c.tiedHead = settings.flag("tie_word_embeddings", defaults.tiedHead);
  c.madeUp.plain = c.madeUp.toResidual = settings.positive("initializer_range", 0.02);
  checkHeads(settings, c, "num_attention_heads", "num_key_value_heads", "hidden_size");
  c.rotary = readRotaryJson(settings, c, defaults);
  return c;
}

std::optional<int64_t> readWindowJson(Settings &settings, std::optional<int64_t> fallback) {
  SettingValue::Kind kind = settings.value("sliding_window").kind;
  if (kind == SettingValue::Kind::Null)
    return std::nullopt;
  if (kind == SettingValue::Kind::Missing)
    return fallback;
  return settings.size("sliding_window");
}

std::vector<LayerKind> readLayerTypesJson(Settings &settings, int64_t layers) {
  std::vector<LayerKind> kinds;
  if (!settings.has("layer_types"))
    return kinds;
  for (const SettingValue &type : settings.list("layer_types")) {
    bool slides = type.text == "sliding_attention";
    if (!slides && type.text != "full_attention")
      settings.unsupported("layer_types", "full_attention, sliding_attention");
    kinds.push_back({.slides = slides});
  }
  settings.require(int64_t(kinds.size()) == layers, "layer_types",
                   "has " + llvm::Twine(kinds.size()) + " entries for " + llvm::Twine(layers) + " layers");
  return kinds;
}

static bool slides(LayerKind kind) { return kind.slides; }

std::optional<std::vector<LayerKind>> readSwitchedLayerTypesJson(Settings &settings, int64_t layers) {
  std::vector<LayerKind> kinds = readLayerTypesJson(settings, layers);
  if (settings.flag("use_sliding_window", false))
    return kinds;
  settings.require(!llvm::any_of(kinds, slides), "layer_types",
                   "has sliding layers, but use_sliding_window is off");
  return std::nullopt;
}

void readUpperWindowJson(Settings &settings, ModelConfig &config) {
  std::optional<int64_t> window = readWindowJson(settings, 4096);
  SettingValue first = settings.value("max_window_layers");
  bool all = first.kind == SettingValue::Kind::Integer && first.integer == 0;
  int64_t without = std::min(config.layers, all ? 0 : settings.size("max_window_layers", 28));
  std::optional<std::vector<LayerKind>> listed = readSwitchedLayerTypesJson(settings, config.layers);
  if (!listed)
    return;
  std::vector<LayerKind> kinds = std::move(*listed);
  if (kinds.empty() && window) {
    if (without != 0 && without != config.layers && config.layers > kMostMixedLayers)
      settings.unsupported("max_window_layers", "a window in all layers or none, if there are more than " +
                                                    std::to_string(kMostMixedLayers));
    for (int64_t i = 0; i < std::min(config.layers, kMostMixedLayers); ++i)
      kinds.push_back({.slides = i >= without});
  }
  if (!llvm::any_of(kinds, slides))
    return;
  settings.require(window.has_value(), "sliding_window", "is missing, but layers slide");
  config.window = window;
  if (!llvm::all_of(kinds, slides))
    config.kinds = std::move(kinds);
}

} // namespace tessera::importer
