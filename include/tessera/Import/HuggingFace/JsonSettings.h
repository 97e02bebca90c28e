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

private:
  const nlohmann::json *find(llvm::StringRef key) const;
  nlohmann::json object_;
};

/// Rotary settings: at the top, or inside `rope_parameters` or `rope_scaling`. Types default, linear and
/// llama3.
RotaryConfig readRotaryJson(Settings &settings);

} // namespace tessera::importer
#endif
