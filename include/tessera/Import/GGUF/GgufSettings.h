//===- GgufSettings.h - Settings in GGUF's metadata -------------*- C++ -*-===//
#ifndef TESSERA_IMPORT_GGUF_GGUFSETTINGS_H
#define TESSERA_IMPORT_GGUF_GGUFSETTINGS_H

#include "tessera/Import/ModelConfig.h"
#include "tessera/Import/Settings.h"
#include "tessera/runtime/io/ModelFile.h"

namespace tessera::importer {

class GgufSettings : public Settings {
public:
  explicit GgufSettings(const io::ModelFile &file) : Settings(file.path()), file_(file) {}

  /// An error if a key `ARCHITECTURE.*` was not read and is not known to leave the numbers alone.
  void refuseUnreadSettings(llvm::StringRef architecture);

protected:
  SettingValue lookup(llvm::StringRef key) const override;
  std::optional<std::vector<SettingValue>> lookupList(llvm::StringRef key) const override;

private:
  const io::ModelFile &file_;
};

/// Settings that all families spell alike (`llama.block_count`, ...). `architecture` is the prefix of the
/// keys. The head is tied where the file has no `output.weight`.
ModelConfig readGgufConfig(Settings &settings, const io::ModelFile &file, llvm::StringRef architecture,
                           llvm::StringRef normEpsKey);
/// Rotary settings of heads of `config`, with the divisors of tensor `rope_freqs.weight` (how converters
/// write llama3 scaling) and those of longrope. `turnsPart`: the family can turn a part of each head.
RotaryConfig readRotaryGguf(Settings &settings, const io::ModelFile &file, llvm::StringRef architecture,
                            const ModelConfig &config, bool turnsPart = false);
/// How many experts there are, how many a token chooses and how wide each is (`expert_count`, ...); none: the
/// config stays as it is.
void readExpertsGguf(Settings &settings, llvm::StringRef architecture, ModelConfig &config);
/// What a family has where its file says nothing of windows.
struct WindowDefaults {
  /// As of `slidingBut`; none: a window without a pattern is refused.
  std::optional<int64_t> period = std::nullopt;
  std::optional<int64_t> window = std::nullopt; ///< keys
};
/// `attention.sliding_window`, 0 for none, and which layers have it: `attention.sliding_window_pattern` is a
/// period (of so many layers the last sees all keys; 0: none does) or a list with an entry for each layer,
/// true where it slides.
void readWindowGguf(Settings &settings, llvm::StringRef architecture, WindowDefaults defaults,
                    ModelConfig &config);

} // namespace tessera::importer
#endif
