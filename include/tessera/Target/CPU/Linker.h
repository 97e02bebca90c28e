// From objects to an executable, by lld.
#ifndef TESSERA_TARGET_CPU_LINKER_H
#define TESSERA_TARGET_CPU_LINKER_H

#include "tessera/Target/LinkOptions.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Links a position independent executable: static libstdc++ and libgcc, dynamic glibc, RELRO, no executable
/// stack. Written beside `output` under a temporary name and renamed: on any error `output` is as it was and
/// nothing is left behind. Errors (no linker, no C library, unresolved symbols, full disk) are one line of
/// the form `WHAT: WHY; TRY`.
llvm::Error linkExecutable(const LinkOptions &options, llvm::StringRef output);

} // namespace tessera

#endif
