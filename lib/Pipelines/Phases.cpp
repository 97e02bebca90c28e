//===- Phases.cpp - One pipeline per rung ---------------------------------===//
#include "tessera/Pipelines/Phases.h"

#include "tessera/Dialect/Graph/Transforms/Passes.h"

using namespace mlir;

namespace tessera {

void buildPhase(OpPassManager &pm, Rung rung, const CompileOptions &options) {
  switch (rung) {
  case Rung::Graph: //===- Made by import, or by a person ------------------------------===//
    break;
  case Rung::Step: { //===- Prefill, decode and head with a KV cache ---------------------===//
    graph::BuildGenerateStepOptions step;
    step.batch = options.batch;
    step.maxSeqLen = options.maxSeqLen;
    pm.addPass(graph::createBuildGenerateStep(step));
    break;
  }
  default:
    llvm_unreachable("no such rung yet");
  }
}

} // namespace tessera
