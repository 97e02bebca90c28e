//===- RepeatedWork.h - A warning of ranks that do the same -----*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_REPEATEDWORK_H
#define TESSERA_LIB_PIPELINES_REPEATEDWORK_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Warnings, a line for each axis of the mesh whose ranks do more than half of the work alike in every
/// function that does much, of all programs: nothing lies over the axis, or what does is made whole before it
/// is computed with. Empty: there is none. `programs`: one, or a pipeline's stages, on rung spmd; of the axes
/// `known` another warning has spoken.
std::string repeatedWork(llvm::ArrayRef<mlir::ModuleOp> programs, const CompileOptions &options,
                         llvm::ArrayRef<llvm::StringRef> known = {});

} // namespace tessera
#endif
