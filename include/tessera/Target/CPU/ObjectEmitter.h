// From an LLVM dialect module to an object file.
#ifndef TESSERA_TARGET_CPU_OBJECTEMITTER_H
#define TESSERA_TARGET_CPU_OBJECTEMITTER_H

#include "tessera/Target/CPU/TargetInfo.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Translates `module` (LLVM dialect only) to LLVM IR, optimizes it for `target` and writes a position
/// independent ELF object to `path` through a temporary file: either the whole object is there, or nothing.
/// Errors are one line. Cost: about 5 ms a kernel function.
llvm::Error emitObject(mlir::ModuleOp module, const CPUTarget &target, llvm::StringRef path);

} // namespace tessera

#endif
