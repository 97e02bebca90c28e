//===- Sharding.cpp - From rung step to rung spmd -------------------------===//
#include "tessera/Pipelines/Sharding.h"

#include "tessera/Dialect/Dist/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

static void verifyRung(OpPassManager &pm, StringRef rung) {
  dist::VerifyRungPassOptions options;
  options.rung = rung.str();
  pm.addPass(dist::createVerifyRungPass(options));
}

void tessera::buildShardedPipeline(OpPassManager &pm, const ShardingOptions &options) {
  //===--- Rung step ------------------------------------------------------===//
  // Equal values should lie equally: what is computed twice would be placed, and resharded, twice.
  pm.addPass(createCSEPass());
  dist::DistAnnotatePassOptions annotate;
  annotate.mesh = options.mesh;
  annotate.shard = options.shard;
  annotate.machine = options.machine;
  pm.addPass(dist::createDistAnnotatePass(annotate));
  verifyRung(pm, "step");
  // Leaves attributes, which the next pass consumes: nothing may run between.
  pm.addPass(dist::createDistPropagatePass());
  pm.addPass(dist::createDistInsertReshardsPass());
  pm.addPass(dist::createDistWidenInputsPass());
  //===--- Rung sharded ---------------------------------------------------===//
  verifyRung(pm, "sharded");
}

void tessera::buildSpmdPipeline(OpPassManager &pm) {
  pm.addPass(dist::createDistPartitionPass());
  // Needs local types, and partition's steps one by one.
  pm.addPass(dist::createDistOptimizeCollectivesPass());
  // What is left stands where it will run: loops have given up what they can.
  pm.addPass(dist::createDistBundleCollectivesPass());
  // Counts what is left.
  pm.addPass(dist::createDistReportPaddingPass());
  pm.addPass(dist::createDistReportWeightsPass());
  //===--- Rung spmd ------------------------------------------------------===//
  verifyRung(pm, "spmd");
}

void tessera::buildShardingPipeline(OpPassManager &pm, const ShardingOptions &options) {
  buildShardedPipeline(pm, options);
  buildSpmdPipeline(pm);
}

void tessera::registerShardingPipeline() {
  PassPipelineRegistration<ShardingOptions>("tessera-shard", "From rung step to rung spmd: annotate, propagate, reshard, partition",
                                            buildShardingPipeline);
}
