//===- Settings.cpp -------------------------------------------------------===//
#include "tessera/Import/Settings.h"

#include "tessera/Import/ModelConfig.h"

#include "llvm/ADT/Twine.h"

#include <cmath>

namespace tessera::importer {

using Kind = SettingValue::Kind;

/// A value for a message: of texts as the file has them, in quotes, so that "101" is not taken for 101.
static std::string shown(const SettingValue &v) {
  return v.kind == Kind::Text ? "the string \"" + v.text + "\"" : v.text;
}

/// What overflows float32 or vanishes in it would turn into infinities and zeros in the program.
static bool isPositive(double number) {
  return std::isfinite(number) && float(number) > 0 && std::isfinite(float(number));
}
static bool isPositive(const SettingValue &v) {
  return (v.kind == Kind::Integer || v.kind == Kind::Number) && isPositive(v.number);
}

SettingValue Settings::value(llvm::StringRef key) {
  read_.insert(key);
  return lookup(key);
}

void Settings::require(bool ok, llvm::StringRef key, const llvm::Twine &why) {
  if (!ok)
    fail({"cannot read model", where_ + ", " + key.str(), why.str(),
          "correct the setting, or take the files of the model afresh"});
}

void Settings::unsupported(llvm::StringRef key, llvm::StringRef known) {
  fail({"unsupported setting", where_ + ", " + key.str(),
        "the value " + lookup(key).text + " changes the model's numbers and is not implemented",
        "implemented: " + known.str()});
}

int64_t Settings::size(llvm::StringRef key, std::optional<int64_t> fallback) {
  SettingValue v = value(key);
  if (v.absent()) {
    require(fallback.has_value(), key, "is missing");
    return fallback.value_or(1);
  }
  bool ok = v.kind == Kind::Integer && v.integer >= 1 && v.integer <= kMaxSize;
  require(ok, key, "is " + shown(v) + ", must be an integer from 1 to " + llvm::Twine(kMaxSize));
  return ok ? v.integer : 1;
}

double Settings::positive(llvm::StringRef key, std::optional<double> fallback) {
  SettingValue v = value(key);
  if (v.absent()) {
    require(fallback.has_value(), key, "is missing");
    bool fits = !fallback || isPositive(*fallback); // what follows from other settings need not
    require(fits, key, "is missing, and the other settings give none that float32 holds");
    return fits ? fallback.value_or(1) : 1;
  }
  bool ok = isPositive(v);
  require(ok, key, "is " + shown(v) + ", must be a positive number");
  return ok ? v.number : 1;
}

std::vector<SettingValue> Settings::list(llvm::StringRef key) {
  SettingValue v = value(key);
  std::optional<std::vector<SettingValue>> elements = lookupList(key);
  if (!elements)
    require(false, key, v.absent() ? llvm::Twine("is missing") : "is " + shown(v) + ", must be a list");
  return elements.value_or(std::vector<SettingValue>());
}

std::vector<float> Settings::positives(llvm::StringRef key) {
  std::vector<float> numbers;
  for (const SettingValue &v : list(key)) {
    require(isPositive(v), key, "has " + shown(v) + ", must hold positive numbers");
    numbers.push_back(float(v.number));
  }
  return numbers;
}

bool Settings::flag(llvm::StringRef key, bool fallback) {
  SettingValue v = value(key);
  if (v.absent())
    return fallback;
  require(v.kind == Kind::Bool, key, "is " + shown(v) + ", must be true or false");
  return v.kind == Kind::Bool ? v.boolean : fallback;
}

std::string Settings::text(llvm::StringRef key, std::optional<std::string> fallback) {
  SettingValue v = value(key);
  if (v.absent()) {
    require(fallback.has_value(), key, "is missing");
    return fallback.value_or("");
  }
  require(v.kind == Kind::Text, key, "is " + v.text + ", must be a string");
  return v.kind == Kind::Text ? v.text : fallback.value_or("");
}

} // namespace tessera::importer
