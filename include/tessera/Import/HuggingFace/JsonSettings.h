//===- JsonSettings.h - Settings of config.json -----------------*- C++ -*-===//
#ifndef TESSERA_IMPORT_HUGGINGFACE_JSONSETTINGS_H
#define TESSERA_IMPORT_HUGGINGFACE_JSONSETTINGS_H

#include "tessera/Import/ModelConfig.h"
#include "tessera/Import/Settings.h"

#include <nlohmann/json.hpp>

namespace tessera::importer {

/// Key "a.b" is b inside object a.
class JsonSettings : public Settings {
public:
  /// `object` must be a JSON object.
  JsonSettings(nlohmann::json object, std::string where)
      : Settings(std::move(where)), object_(std::move(object)) {}

  /// An error if a setting that is known to change a model's numbers, and was not read by the family, is not
  /// neutral.
  void refuseUnreadSettings();

protected:
  SettingValue lookup(llvm::StringRef key) const override;
  std::optional<std::vector<SettingValue>> lookupList(llvm::StringRef key) const override;

private:
  const nlohmann::json *find(llvm::StringRef key) const;
  nlohmann::json object_;
};

/// What a family's configuration means where config.json leaves something out: as transformers has it.
struct DecoderDefaults {
  bool headsForKeys = false; ///< missing num_key_value_heads: as many as heads; else an error
  std::optional<int64_t> heads = {}, kvHeads = {}, vocab = {}; ///< none: missing ones are errors
  int64_t maxPositions = 2048;
  int64_t headDim = 0; ///< 0: hidden / heads
  double normEps = 1e-6;
  bool tiedHead = false;
  double theta = 10000;
  bool turnsPart = false; ///< the family can turn a part of each head
  double rotaryPart = 1;
  /// Second names of rope_theta and partial_rotary_factor.
  llvm::StringRef thetaAlias = {}, partAlias = {};
  /// Of several kinds of layers with settings of their own: the one that is read, "full_attention" say. Where
  /// `rope_parameters` has it, all is read there.
  llvm::StringRef rotaryKind = {};
};

/// Settings that most families spell as Llama does, rotary ones included. Not biases and windows.
ModelConfig readDecoderJson(Settings &settings, const DecoderDefaults &defaults);

/// Rotary settings of heads of `config`: at the top, or inside `rope_parameters` or `rope_scaling`.
RotaryConfig readRotaryJson(Settings &settings, const ModelConfig &config, const DecoderDefaults &defaults);

/// `sliding_window`; null: none.
std::optional<int64_t> readWindowJson(Settings &settings, std::optional<int64_t> fallback);

/// Which of `layers` slide, from `layer_types`; empty: that is not there.
std::vector<LayerKind> readLayerTypesJson(Settings &settings, int64_t layers);

/// The same of a model that says by `use_sliding_window` whether layers slide at all; none: that is off, and
/// none may.
std::optional<std::vector<LayerKind>> readSwitchedLayerTypesJson(Settings &settings, int64_t layers);

/// Sets window and kinds of Qwen2 and Qwen3: if `use_sliding_window` is on, layers slide that `layer_types`
/// says, or those from `max_window_layers` on.
void readUpperWindowJson(Settings &settings, ModelConfig &config);

} // namespace tessera::importer
#endif
