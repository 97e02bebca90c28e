//===- Sharding.h - From rung step to rung spmd -----------------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_SHARDING_H
#define TESSERA_PIPELINES_SHARDING_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace tessera {

/// What --mesh and --shard say (tessera/Dialect/Dist/Transforms/MeshSpec.h has the grammar).
struct ShardingOptions : public mlir::PassPipelineOptions<ShardingOptions> {
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("Axes and sizes, major to minor: dp=2,tp=4")};
  Option<std::string> shard{*this, "shard", llvm::cl::desc("Items [VALUE:]DIM=AXIS[+AXIS...] or [VALUE:]DIM=-, separated by commas")};
  Option<std::string> machine{*this, "machine", llvm::cl::desc("JSON file that describes the machine (tessera/AutoParallel/Machine.h)")};
};

/// Rung step to rung sharded: annotate, propagate, insert reshards. A module pass pipeline.
void buildShardedPipeline(mlir::OpPassManager &pm, const ShardingOptions &options);
/// Rung sharded to rung spmd: partition, collective clean-up.
void buildSpmdPipeline(mlir::OpPassManager &pm);
/// Both, with verify-rung between: rung step to rung spmd.
void buildShardingPipeline(mlir::OpPassManager &pm, const ShardingOptions &options);
/// `tessera-shard` for tools that read pass names.
void registerShardingPipeline();

} // namespace tessera
#endif
