//===- Settings.h - Typed, checked access to a configuration ----*- C++ -*-===//
//
// One interface over the JSON object of config.json and GGUF's metadata. The first thing that is wrong is
// kept as `failure()`, and later calls return harmless values, so a family reads all its settings in a row
// and looks once at the end.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_SETTINGS_H
#define TESSERA_IMPORT_SETTINGS_H

#include "tessera/runtime/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::importer {

/// A scalar or something else that a setting holds.
struct SettingValue {
  enum class Kind { Missing, Null, Bool, Integer, Number, Text, Object, Array };
  Kind kind = Kind::Missing;
  bool boolean = false;
  int64_t integer = 0; ///< Integer; saturated to 64 bits
  double number = 0;   ///< Number, Integer
  std::string text;    ///< Text; for the rest how it looks in the file, shortened

  bool absent() const { return kind == Kind::Missing || kind == Kind::Null; }
};

class Settings {
public:
  virtual ~Settings() = default;

  /// The value of `key`; "a.b" is b inside object a.
  SettingValue value(llvm::StringRef key);
  bool has(llvm::StringRef key) { return !value(key).absent(); }

  /// A size: an integer in [1, kMaxSize]. An error if absent and there is no fallback.
  int64_t size(llvm::StringRef key, std::optional<int64_t> fallback = std::nullopt);
  /// A finite number > 0.
  double positive(llvm::StringRef key, std::optional<double> fallback = std::nullopt);
  bool flag(llvm::StringRef key, bool fallback);
  std::string text(llvm::StringRef key, std::optional<std::string> fallback = std::nullopt);
  /// The elements of a list; an error if `key` is absent or something else.
  std::vector<SettingValue> list(llvm::StringRef key);
  /// A list of finite numbers > 0.
  std::vector<float> positives(llvm::StringRef key);

  /// An error that `key` has a value which is not implemented.
  void unsupported(llvm::StringRef key, llvm::StringRef known);
  /// An error about `key` unless `ok`.
  void require(bool ok, llvm::StringRef key, const llvm::Twine &why);
  void fail(Failure failure) {
    if (!failure_)
      failure_ = std::move(failure);
  }

  const std::optional<Failure> &failure() const { return failure_; }
  const std::string &where() const { return where_; }
  /// `key` has been asked for.
  bool wasRead(llvm::StringRef key) const { return read_.contains(key); }

protected:
  explicit Settings(std::string where) : where_(std::move(where)) {}
  virtual SettingValue lookup(llvm::StringRef key) const = 0;
  /// The elements of `key`, if it is a list that this format lets families read.
  virtual std::optional<std::vector<SettingValue>> lookupList(llvm::StringRef key) const {
    return std::nullopt;
  }

private:
  std::string where_;
  std::optional<Failure> failure_;
  llvm::StringSet<> read_;
};

} // namespace tessera::importer
#endif
