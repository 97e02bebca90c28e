// What a fuzzer throws bytes at (docs/Fuzzing.md). A target takes any input and returns: a crash, a hang, too
// much memory or an abort is a finding.
#ifndef TESSERA_RUNTIME_FUZZ_TARGETS_H
#define TESSERA_RUNTIME_FUZZ_TARGETS_H

#include "tessera/runtime/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::fuzz {

struct Target {
  const char *name; // also of its folder of inputs
  void (*run)(std::string_view input);
};
const std::vector<Target> &targets();

// Aborts unless `failure` is one line of printable text that says what and why.
void expectOneLine(const Failure &failure);
// Aborts, saying what did not hold.
void expect(bool holds, const char *what);

// A regular file that holds `bytes`, in memory; gone with this object.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  std::string path() const;

private:
  int fd_;
};

void runSafetensors(std::string_view input);
void runGguf(std::string_view input);
void runBlocks(std::string_view input);
void runTokenizerJson(std::string_view input);
void runSentencePiece(std::string_view input);
void runText(std::string_view input);
void runConfig(std::string_view input);
void runCommandLine(std::string_view input);

} // namespace tessera::fuzz
#endif
