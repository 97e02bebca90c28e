// An executable for several CPUs (llm-compile --cpu=any) holds the same program in several versions.
#ifndef TESSERA_RUNTIME_APP_VERSIONS_H
#define TESSERA_RUNTIME_APP_VERSIONS_H

#include "tessera/runtime/abi.h"
#include "tessera/runtime/core/Manifest.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tessera::runtime {

// The last of `held` that `runs`, the first where none does: they stand with the plainest first. `forced`:
// the one of this name, whether it runs or not; null or empty: any. Throws Error if there is none of the
// name.
size_t chooseVersion(const std::vector<std::string> &held, const char *forced,
                     const std::function<bool(size_t)> &runs);

// What the process runs.
struct ChosenProgram {
  const ts_program *program;
  std::vector<std::string> held; // names of all versions; empty: it is the only one, without a name
  size_t number = 0;             // of the chosen one
};

// The best version of `program` that `runs` on this machine, or the one that TESSERA_CPU names.
ChosenProgram chooseProgram(const ts_program &program, const std::function<bool(const Manifest &)> &runs);

// What `info` says, one line of JSON or a page, and which versions there are.
std::string withVersions(const std::string &described, const ChosenProgram &chosen, bool json);
// The same with what multiplies bfloat16 on this machine (Driver::bfloat16Unit), which is no matter of
// versions: products are the library's, and it chooses at run time. As `described` where the program
// multiplies none, or the unit is not known.
std::string withBfloat16Unit(const std::string &described, const Manifest &manifest, const std::string &unit,
                             bool json);

} // namespace tessera::runtime
#endif
