//===- Register.cpp - Dialects, passes and pipelines by name --------------===//
#include "tessera/Pipelines/Register.h"

#include "tessera/Conversion/GraphToLinalg/GraphToLinalg.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Pipelines/Explanation.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Target/Target.h"
#include "tessera/Target/Targets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

void tessera::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<dist::DistDialect, exec::ExecDialect, graph::GraphDialect, mlir::func::FuncDialect>();
  registerTileLowering(registry);
  registerTargets();
  for (const TargetDescription &target : registeredTargets())
    target.registerDialects(registry);
}

void tessera::registerPasses() {
  exec::registerExecPasses();
  graph::registerGraphPasses();
  registerTesseraConversionPasses();
  registerTargets();
  for (const TargetDescription &target : registeredTargets())
    target.registerPasses();
  dist::registerDistPasses();
  registerPhasePipelines();
  registerExplainPass();
}
