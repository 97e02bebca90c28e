#include "Targets.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::fuzz {

const std::vector<Target> &targets() {
  static const std::vector<Target> all = {
      {"safetensors", runSafetensors},
      {"gguf", runGguf},
      {"blocks", runBlocks},
      {"tokenizer-json", runTokenizerJson},
      {"sentencepiece", runSentencePiece},
      {"text", runText},
      {"config", runConfig},
      {"command-line", runCommandLine},
  };
  return all;
}

void expect(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void expectOneLine(const Failure &failure) {
  std::string message = failure.message();
  expect(!failure.what.empty() && !failure.why.empty(), "a failure says what and why");
  expect(message.size() < 4000, "a message is short");
  for (char c : message)
    expect(static_cast<unsigned char>(c) >= 0x20, "a message is one line of printable text");
}

MemoryFile::MemoryFile(std::string_view bytes) : fd_(memfd_create("input", MFD_CLOEXEC)) {
  expect(fd_ >= 0, "there are files in memory");
  for (size_t at = 0; at < bytes.size();) {
    ssize_t written = ::write(fd_, bytes.data() + at, bytes.size() - at);
    expect(written > 0, "files in memory can be written");
    at += size_t(written);
  }
}

MemoryFile::~MemoryFile() { ::close(fd_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

} // namespace tessera::fuzz
