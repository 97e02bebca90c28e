//===- Frontend.h - MODEL to rung graph -------------------------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_FRONTEND_H
#define TESSERA_PIPELINES_FRONTEND_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

/// Imports `options.model`, or parses it if its name ends in `.mlir`. The module carries what the manifest
/// says about the model: `tessera.model`, its absolute path; of an import `tessera.task` and `tessera.dtype`
/// (--dtype), which a program in text may carry itself.
Result<mlir::OwningOpRef<mlir::ModuleOp>> loadModel(mlir::MLIRContext &context,
                                                    const CompileOptions &options);

/// `options.model` is a program written by a person.
bool isProgramText(const CompileOptions &options);

} // namespace tessera
#endif
