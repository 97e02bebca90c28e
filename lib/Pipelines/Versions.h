//===- Versions.h - Several versions of a program ---------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_VERSIONS_H
#define TESSERA_LIB_PIPELINES_VERSIONS_H

#include "tessera/Pipelines/Compile.h"
#include "tessera/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

/// A program in the LLVM dialect alone, and what it was compiled for.
struct VersionProgram {
  std::string name;       ///< of the version
  CompileOptions options; ///< of this version alone
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Refuses what wants a single program where the options ask for several.
Status checkVersions(const CompileOptions &options);

/// Takes `spmd`, on that rung, through the rest of the ladder once for each of `versions`, before which
/// `begin` is called.
Result<std::vector<VersionProgram>> lowerVersions(mlir::ModuleOp spmd, const CompileOptions &options,
                                                  const std::vector<TargetVersion> &versions,
                                                  llvm::function_ref<void(const std::string &version)> begin);

/// The module whose `tessera_program` lists `versions`, of which there is one at least.
Result<mlir::OwningOpRef<mlir::ModuleOp>> versionTable(mlir::MLIRContext &context,
                                                       llvm::ArrayRef<VersionProgram> versions);

} // namespace tessera
#endif
