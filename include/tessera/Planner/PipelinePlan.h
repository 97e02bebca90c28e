//===- PipelinePlan.h - Which stage has which layers, and when ----*- C++ -*-===//
#ifndef TESSERA_PLANNER_PIPELINEPLAN_H
#define TESSERA_PLANNER_PIPELINEPLAN_H

#include "tessera/Planner/PipelineProbe.h"

#include "tessera/AutoParallel/Machine.h"

namespace tessera {

/// Flags that pipelines do not have, or that have no meaning without one: what can be seen before any work.
Status checkPipeline(const CompileOptions &options);

/// Whether the mesh has the axis that stages lie along.
bool hasPipeline(const CompileOptions &options);

/// Completes `options.stages` for the @forward of `graph` (rung graph), which is cut over the mesh's axis
/// "pp": layers of each stage, coordinates, and the schedule with its sends and receives; with --memory so
/// that ranks take no more. Nothing where the mesh has no such axis. Fails with the flag that cannot be met.
Status planPipeline(mlir::ModuleOp graph, CompileOptions &options);

/// Writes the schedule into the dist.pipeline of `module`, in which stages have been cut.
void writeSchedule(mlir::ModuleOp module, const CompileOptions &options);

//===--- Parts of it, by task ---------------------------------------------===//

/// The axis that stages lie along.
constexpr llvm::StringLiteral kPipelineAxis = "pp";

Failure badFlag(const std::string &flag, const std::string &why, const std::string &hint = "");
/// The link of that axis on the machine that `options` names.
Result<Link> readLink(const CompileOptions &options);

/// `; as given: stages, micro-batches`: of what a plan is made of, what flags say. Empty: nothing.
std::string describeGiven(const CompileOptions &options);

/// Each rank has a stage, and takes the groups of rows in turn.
Status planGeneration(mlir::ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options);
/// The schedule that trains fastest, by costs of stages that are compiled.
Status planTraining(mlir::ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options);

} // namespace tessera
#endif
