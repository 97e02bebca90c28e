// From objects to an executable, by lld.
#ifndef TESSERA_TARGET_CPU_LINKER_H
#define TESSERA_TARGET_CPU_LINKER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace tessera {

struct LinkOptions {
  std::vector<std::string> objects;     ///< in order, compiler's object first
  std::vector<std::string> archives;    ///< searched as one group, may depend on each other
  std::vector<std::string> libraries;   ///< shared libraries: "dnnl" (searched for as -ldnnl) or a path
  std::vector<std::string> searchPaths; ///< looked at before the system's
  std::string linker;                   ///< path of ld.lld; empty: PATH, then /usr/lib/llvm-22/bin
  bool shared = false;                  ///< a shared library instead of an executable
};

/// Links a position independent executable: static libstdc++ and libgcc, dynamic glibc, RELRO, no executable
/// stack. Written beside `output` under a temporary name and renamed: on any error `output` is as it was and
/// nothing is left behind. Errors (no linker, no C library, unresolved symbols, full disk) are one line of
/// the form `WHAT: WHY; TRY`.
llvm::Error linkExecutable(const LinkOptions &options, llvm::StringRef output);

} // namespace tessera

#endif
