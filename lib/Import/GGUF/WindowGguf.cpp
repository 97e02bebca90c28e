//===- WindowGguf.cpp - Sliding windows in GGUF ---------------------------===//
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace tessera::importer {

/// For each of `layers`, whether it slides.
static std::vector<LayerKind> readPatternList(Settings &settings, llvm::StringRef key, int64_t layers) {
  using Kind = SettingValue::Kind;
  std::vector<LayerKind> kinds;
  for (const SettingValue &v : settings.list(key)) {
    bool number = v.kind == Kind::Integer && (v.integer == 0 || v.integer == 1);
    settings.require(number || v.kind == Kind::Bool, key, "has " + v.text + ", must hold true and false");
    kinds.push_back({.slides = number ? v.integer == 1 : v.boolean});
  }
  settings.require(int64_t(kinds.size()) == layers, key,
                   "has " + llvm::Twine(kinds.size()) + " entries for " + llvm::Twine(layers) + " layers");
  return kinds;
}

void readWindowGguf(Settings &settings, llvm::StringRef architecture, WindowDefaults defaults,
                    ModelConfig &config) {
  using Kind = SettingValue::Kind;
  const std::string windowKey = architecture.str() + ".attention.sliding_window",
                    patternKey = windowKey + "_pattern";
  SettingValue window = settings.value(windowKey), pattern = settings.value(patternKey);
  std::optional<int64_t> keys = defaults.window;
  if (window.kind == Kind::Integer && window.integer == 0)
    keys = std::nullopt;
  else if (!window.absent())
    keys = settings.size(windowKey);

  std::vector<LayerKind> kinds;
  if (pattern.kind == Kind::Array) {
    kinds = readPatternList(settings, patternKey, config.layers);
  } else if (pattern.kind == Kind::Integer && pattern.integer == 0) {
    kinds = slidingBut(0, config.layers);
  } else if (!pattern.absent()) {
    kinds = slidingBut(settings.size(patternKey), config.layers);
  } else if (keys) {
    settings.require(defaults.period.has_value(), patternKey,
                     "is missing, and " + windowKey + " is " + llvm::Twine(*keys) +
                         ": which layers have that window the file does not say");
    kinds = slidingBut(defaults.period.value_or(0), config.layers);
  }
  auto slides = [](LayerKind kind) { return kind.slides; };
  if (!llvm::any_of(kinds, slides))
    return; // whatever the window is
  settings.require(keys.has_value(), windowKey,
                   llvm::Twine(window.absent() ? "is missing" : "is 0") + ", but layers slide");
  config.window = keys;
  if (!llvm::all_of(kinds, slides))
    config.kinds = std::move(kinds);
}

} // namespace tessera::importer
