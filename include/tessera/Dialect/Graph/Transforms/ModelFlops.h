//===- ModelFlops.h - What a model computes ---------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_MODELFLOPS_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_MODELFLOPS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::graph {

/// FLOPs of one run of `root` in the ops that multiply operands with each other and add up: those with a
/// factor that two operands have and no result has. Loops count as often as they run.
double contractionFlops(mlir::Operation *root);

/// `train` with the FLOPs of a token, of a step whose forward is all that `evaluate` computes.
TrainAttr withModelFlops(TrainAttr train, mlir::Operation *evaluate);

} // namespace tessera::graph
#endif
