//===- Phases.cpp - One pipeline per rung ---------------------------------===//
#include "tessera/Pipelines/Phases.h"

#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Pipelines/Kernels.h"
#include "tessera/Pipelines/Sharding.h"

using namespace mlir;

namespace tessera {

/// The check that stands after a rung of graph and dist ops.
static void verifyRung(OpPassManager &pm, Rung rung) {
  dist::VerifyRungPassOptions options;
  options.rung = rungName(rung).str();
  pm.addPass(dist::createVerifyRungPass(options));
}

void buildPhase(OpPassManager &pm, Rung rung, const CompileOptions &options) {
  BackendOptions backend;
  backend.cpu = options.cpu;
  switch (rung) {
  case Rung::Graph: //===--- Made by import, or by a person -----------------------------===//
    return verifyRung(pm, Rung::Graph);

  case Rung::Step: { //===--- Prefill, decode and head with a KV cache --------------------===//
    graph::BuildGenerateStepOptions step;
    step.batch = options.batch;
    step.maxSeqLen = options.maxSeqLen;
    pm.addPass(graph::createBuildGenerateStep(step));
    return verifyRung(pm, Rung::Step);
  }
  case Rung::Sharded: { //===--- Every value a sharding, every disagreement a reshard -------===//
    ShardingOptions sharding;
    sharding.mesh = options.mesh;
    sharding.shard = options.shard;
    sharding.machine = options.machine;
    return buildShardedPipeline(pm, sharding);
  }
  case Rung::Spmd: //===--- One rank: local shapes, collectives -------------------------===//
    return buildSpmdPipeline(pm);

  case Rung::Kernels: //===--- Fused loops and library calls -------------------------------===//
    return buildKernelsPipeline(pm, backend);

  case Rung::Exec: //===--- Buffers in one arena ----------------------------------------===//
    return buildExecPipeline(pm, backend);

  case Rung::Binary: //===--- LLVM and the manifest -------------------------------------===//
    return buildBinaryPipeline(pm, backend);
  }
}

} // namespace tessera
