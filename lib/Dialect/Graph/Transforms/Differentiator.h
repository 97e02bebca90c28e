//===- Differentiator.h - Gradients of blocks and loops ---------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_DIFFERENTIATOR_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_DIFFERENTIATOR_H

#include "Activity.h"

#include "tessera/Dialect/Graph/Transforms/Recompute.h"

namespace tessera::graph {

/// What is known of the gradients of a block's values (and of those from outside that it reads) while
/// backward is emitted: the sum of what their readers gave.
class GradientSums {
public:
  /// Null: nothing so far, zero.
  mlir::Value lookup(mlir::Value of) const { return sums.lookup(of); }
  void set(mlir::Value of, mlir::Value gradient) { sums[of] = gradient; }
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value of, mlir::Value gradient);
  /// The gradient of `of`, zeros where nothing is known.
  mlir::Value orZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value of) const;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> sums;
};

/// The gradient of a value that nothing depends on.
mlir::Value zeroGradient(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value of);
/// Erases ops from the last one of `block` back to, but not including, `first` (null: all) whose results
/// nobody reads.
void eraseDead(mlir::Block &block, mlir::Operation *first = nullptr);

class Differentiator {
public:
  Differentiator(const Activity &activity, const Recompute &recompute)
      : activity(activity), recompute(recompute) {}
  /// Ops that others took the place of.
  ~Differentiator() {
    for (mlir::Operation *op : replaced)
      op->erase();
  }

  /// Emits at `builder` the gradients of what the ops of `forward` read, from those of their results.
  void runBlock(mlir::Block &forward, mlir::OpBuilder &builder, GradientSums &gradients);

private:
  friend class RepeatDifferentiator;
  void runOp(mlir::Operation *op, mlir::OpBuilder &builder, GradientSums &gradients);
  void nameMade(mlir::Operation *op, mlir::Operation *before, mlir::Operation *last,
                const GradientSums &gradients) const;
  void runRepeat(RepeatOp op, mlir::OpBuilder &builder, GradientSums &gradients);

  const Activity &activity;
  const Recompute &recompute;
  llvm::SmallVector<mlir::Operation *> replaced;
  int64_t differentiated = 0; ///< ops so far
};

} // namespace tessera::graph
#endif
