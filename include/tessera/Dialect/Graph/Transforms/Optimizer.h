//===- Optimizer.h - How a weight is updated --------------------*- C++ -*-===//
//
// Optimizers as elementwise ops on one weight and what is kept beside it (docs/TrainStep.md).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_OPTIMIZER_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_OPTIMIZER_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/DenseMap.h"

namespace tessera::graph {

/// The numbers that a step takes, tensors [] of f32, by what fills them.
using Hyperparameters = llvm::DenseMap<FillSource, mlir::Value>;

/// A weight with its gradient (clipped) and what is kept beside it, tensors of one shape.
struct WeightUpdate {
  mlir::Value weight, gradient;
  llvm::SmallVector<mlir::Value, 2> states; ///< in the order of the optimizer's
  bool decays = false;
};

struct Optimizer {
  llvm::StringLiteral name;
  llvm::ArrayRef<FillSource> hyperparameters; ///< that it reads
  llvm::ArrayRef<llvm::StringLiteral> states; ///< that it keeps of every weight; zeros at first
  /// Of `states`: the one that is left as the gradient where all numbers but epsilon are 0.
  llvm::StringLiteral gradientState;
  /// The next weight and the next states, in place of the present ones.
  void (*update)(mlir::OpBuilder &, mlir::Location, const Hyperparameters &, WeightUpdate &);
};

/// Null: there is none of this name.
const Optimizer *findOptimizer(llvm::StringRef name);
/// Names of all, for messages.
std::string optimizerNames();

/// What gradients of norm `norm` are multiplied with so that it is at most `clip`: min(1, clip / (norm +
/// 1e-6)), or 1 where `clip` is 0.
mlir::Value clippingScale(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value norm, mlir::Value clip);

/// The sum of the squares of all elements of `gradients`; of none 0. The norm is its root.
mlir::Value sumOfSquares(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange gradients);

} // namespace tessera::graph
#endif
