//===- PipelinePlan.h - Which stage has which layers, and when ----*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_PIPELINEPLAN_H
#define TESSERA_LIB_PIPELINES_PIPELINEPLAN_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Flags that pipelines do not have, or that have no meaning without one: what can be seen before any work.
Status checkPipeline(const CompileOptions &options);

/// Completes `options.stages` for the @forward of `graph` (rung graph), which is cut over the mesh's axis
/// "pp": layers of each stage, coordinates, and the schedule with its sends and receives. Nothing where the
/// mesh has no such axis. Fails with the flag that cannot be met.
Status planPipeline(mlir::ModuleOp graph, CompileOptions &options);

/// Writes the schedule into the dist.pipeline of `module`, in which stages have been cut.
void writeSchedule(mlir::ModuleOp module, const CompileOptions &options);

} // namespace tessera
#endif
