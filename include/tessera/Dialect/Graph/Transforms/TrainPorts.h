//===- TrainPorts.h - Arguments and results of a training step --*- C++ -*-===//
//
// What @train and @evaluate take and give (docs/TrainStep.md): inputs of every micro-batch, single numbers,
// weights, and what the optimizer keeps of them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_TRAINPORTS_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_TRAINPORTS_H

#include "tessera/Dialect/Graph/Transforms/Optimizer.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

namespace tessera::graph {

/// Sizes of a step.
struct TrainSizes {
  int64_t batch, seq, microBatches;
  /// Of a micro-batch; rows beyond the batch are inert.
  int64_t rows() const { return (batch + microBatches - 1) / microBatches; }
};

/// A weight of @forward.
struct TrainedWeight {
  unsigned argument; ///< of @forward
  ParameterOp symbol;
  llvm::SmallVector<llvm::StringRef> dims;
  bool decays = false;
  /// What the optimizer keeps; none: the loss does not depend on the weight, and it stays.
  llvm::SmallVector<ParameterOp, 2> states;
  /// Which copy of it this is, where two stages of a pipeline have one.
  std::optional<int64_t> copy;
};

/// Weights decay whose tensors in the file have two or more dimensions: not what is split by heads here, nor
/// what is stacked. Fails, with an error, where its sources differ in that.
llvm::FailureOr<bool> decays(ParameterOp parameter);

/// Marks `weight` as a variable and adds the optimizer's states of it, in `type`, behind it.
void addStates(TrainedWeight &weight, const Optimizer &optimizer, mlir::FloatType type);

} // namespace tessera::graph
#endif
