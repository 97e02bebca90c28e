// Device code to host code that runs in this process.
#ifndef TESSERA_STANDIN_COMPILE_H
#define TESSERA_STANDIN_COMPILE_H

#include "Scheduler.h"

#include <mutex>

namespace standin {

// The host code of a program, one of two: with quick checks, or with the race check.
struct Code {
  const Site *sites = nullptr;
  uint32_t siteCount = 0;
  const uint32_t *siteRanges = nullptr; // four a kernel: those of shared functions, its own
  std::vector<Entry> entries;           // by Kernel::index; null for kernels that are not supported
};

// A module of device code that several images may share, compiled when first launched.
class Program {
public:
  // Programs are kept by content: the second load of the same bitcode costs nothing.
  static tessera::Result<std::shared_ptr<Program>> load(const std::string &bitcodePath);
  // Compiles once for each kind.
  tessera::Result<const Code *> code(bool races);

  std::vector<Kernel> kernels; // without an image
  struct Variable {
    std::string name;
    uint64_t offset, bytes;
    bool constant;
  };
  std::vector<Variable> variables;
  std::vector<char> initial;
  std::vector<std::pair<uint64_t, uint64_t>> pointers;

private:
  // An object file for the host.
  tessera::Result<std::string> compile(bool races) const;

  std::string bitcode, path;
  std::mutex mutex;
  std::unique_ptr<Code> codes[2];
};

} // namespace standin
#endif
