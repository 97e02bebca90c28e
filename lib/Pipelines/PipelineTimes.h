//===- PipelineTimes.h - What a pipeline's parts are predicted to take ------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_PIPELINETIMES_H
#define TESSERA_LIB_PIPELINES_PIPELINETIMES_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Writes into the dist.pipeline of `module`, whose stages are on rung spmd, what each stage and each link is
/// predicted to take (`times`). Nothing where there is none.
void writePipelineTimes(mlir::ModuleOp module, const CompileOptions &options);

} // namespace tessera
#endif
