//===- DecoderJson.cpp - What most families call their settings -----------===//
#include "tessera/Import/Family.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace tessera::importer {

ModelConfig readDecoderJson(Settings &settings, const DecoderDefaults &defaults) {
  ModelConfig c;
  c.layers = settings.size("num_hidden_layers");
  c.hidden = settings.size("hidden_size");
  c.heads = settings.size("num_attention_heads");
  // Some classes make up a number of their own where there is none: too likely a mistake to follow them.
  bool asHeads =
      defaults.headsForKeys || settings.value("num_key_value_heads").kind == SettingValue::Kind::Null;
  c.kvHeads = settings.size("num_key_value_heads", asHeads ? std::optional(c.heads) : std::nullopt);
  c.headDim = settings.has("head_dim") ? settings.size("head_dim") : defaults.headDim;
  c.ffn = settings.size("intermediate_size");
  c.vocab = settings.size("vocab_size");
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

/// Layers that have a window according to `layer_types`, or -1 if that is not there.
static int64_t countSlidingLayers(Settings &settings, int64_t layers) {
  if (!settings.has("layer_types"))
    return -1;
  std::vector<SettingValue> kinds = settings.list("layer_types");
  settings.require(int64_t(kinds.size()) == layers, "layer_types",
                   "has " + llvm::Twine(kinds.size()) + " entries for " + llvm::Twine(layers) + " layers");
  if (!llvm::all_of(kinds, [](const SettingValue &kind) {
        return kind.text == "sliding_attention" || kind.text == "full_attention";
      }))
    settings.unsupported("layer_types", "full_attention, sliding_attention");
  return llvm::count_if(kinds, [](const SettingValue &kind) { return kind.text == "sliding_attention"; });
}

std::optional<int64_t> readUpperWindowJson(Settings &settings, int64_t layers) {
  std::optional<int64_t> window = readWindowJson(settings, 4096);
  SettingValue first = settings.value("max_window_layers");
  bool all = first.kind == SettingValue::Kind::Integer && first.integer == 0;
  int64_t without = all ? 0 : settings.size("max_window_layers", 28);
  int64_t sliding = countSlidingLayers(settings, layers);
  if (!settings.flag("use_sliding_window", false)) {
    settings.require(sliding <= 0, "layer_types", "has sliding layers, but use_sliding_window is off");
    return std::nullopt;
  }
  if (sliding < 0)
    sliding = window ? std::max<int64_t>(0, layers - without) : 0;
  if (sliding != 0 && sliding != layers)
    settings.unsupported(settings.has("layer_types") ? "layer_types" : "max_window_layers",
                         "a window in all layers or none");
  settings.require(sliding == 0 || window, "sliding_window", "is missing, but layers slide");
  return sliding ? window : std::nullopt;
}

} // namespace tessera::importer
