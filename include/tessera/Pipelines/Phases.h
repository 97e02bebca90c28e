//===- Phases.h - One pipeline per rung -------------------------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_PHASES_H
#define TESSERA_PIPELINES_PHASES_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/Pass/PassManager.h"

namespace tessera {

/// Adds the passes that make `rung` out of the rung before it, and the check that stands between them.
void buildPhase(mlir::OpPassManager &pm, Rung rung, const CompileOptions &options);

} // namespace tessera
#endif
