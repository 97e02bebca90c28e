//===- Executable.h - Rung binary -------------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_EXECUTABLE_H
#define TESSERA_LIB_PIPELINES_EXECUTABLE_H

#include "Versions.h"

#include "tessera/Pipelines/Compile.h"
#include "tessera/runtime/core/Manifest.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Emits `module` (LLVM dialect alone), links it with the runtime, appends the model's files if asked to, and
/// leaves `options.output`. Returns what the program says of itself.
/// `check` sees the object before; if it fails, no output appears.
Result<runtime::Manifest> makeExecutable(mlir::ModuleOp module, const CompileOptions &options,
                                         const Installation &installation,
                                         llvm::function_ref<Status(const std::string &object)> check);

/// The same of the versions of a program: one of them runs, which the runtime chooses. Returns what the
/// plainest one says of itself.
Result<runtime::Manifest> makeExecutable(llvm::ArrayRef<VersionProgram> versions,
                                         const Installation &installation);

} // namespace tessera
#endif
