// What a fuzzer throws bytes at (docs/Fuzzing.md). A target takes any input and returns: a crash, a hang, too
// much memory or an abort is a finding.
#ifndef TESSERA_RUNTIME_FUZZ_TARGETS_H
#define TESSERA_RUNTIME_FUZZ_TARGETS_H

#include "tessera/runtime/Result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::fuzz {

struct Target {
  const char *name; // also of its folder of inputs
  void (*run)(std::string_view input);
};
// Those of a program: runtime/fuzz/RuntimeTargets.cpp and test/fuzz/CompilerTargets.cpp have a list each.
const std::vector<Target> &targets();

// Aborts unless `failure` is one line of printable text that says what and why.
void expectOneLine(const Failure &failure);
// Aborts, saying what did not hold.
void expect(bool holds, const char *what);

// A regular file that holds `bytes` and so many zeros behind them, in memory; gone with this object. Zeros
// that nobody reads take no memory.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes, size_t zeros = 0);
  ~MemoryFile();
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  std::string path() const;

private:
  int fd_;
};

// A folder for files that are found by their names; gone with this object.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  // `zeros`: as above.
  void write(const std::string &name, std::string_view bytes, size_t zeros = 0) const;
  void remove(const std::string &name) const;
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

// The text in front of the first NUL, and what stands behind it; null if there is none.
struct Parts {
  std::string_view first;
  std::optional<std::string_view> second;
};
Parts splitAtNul(std::string_view input);

// A file of safetensors: its header, and behind the last '}' the tensors' bytes. What no mutation hits, the
// length of the header, is put before it.
std::string safetensorsOf(std::string_view input);

// Words of a command line: each is a line of `input`, to its first NUL, as an argument has it.
std::vector<std::string> wordsOf(std::string_view input);

void runSafetensors(std::string_view input);
void runGguf(std::string_view input);
void runQuantized(std::string_view input);
void runEmbedded(std::string_view input);
void runTrainingData(std::string_view input);
void runBlocks(std::string_view input);
void runTokenizerJson(std::string_view input);
void runSentencePiece(std::string_view input);
void runText(std::string_view input);
void runConfig(std::string_view input);
void runCommandLine(std::string_view input);
void runTemplate(std::string_view input);
void runSchedule(std::string_view input);
void runCheckpoint(std::string_view input);
void runLog(std::string_view input);

} // namespace tessera::fuzz
#endif
