//===- PaddedWork.h - A warning of ranks that work on padding ---*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_PADDEDWORK_H
#define TESSERA_LIB_PIPELINES_PADDEDWORK_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// A warning, in a line, where more than half of what ranks do in one run of a function is done on padding,
/// or of the states or weights that they hold is padding; the worst of these. Empty: there is none. `program`
/// is on rung spmd, one of a pipeline's stages included.
std::string paddedWork(mlir::ModuleOp program, const CompileOptions &options);

} // namespace tessera
#endif
