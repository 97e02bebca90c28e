//===- Activity.h - Which values have gradients -----------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_ACTIVITY_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_ACTIVITY_H

#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::graph {

/// A value is active if it depends on a wanted argument and something that counts depends on it, both through
/// floats alone: only these have gradients.
class Activity {
public:
  Activity(mlir::Block &block, llvm::ArrayRef<mlir::BlockArgument> wanted,
           llvm::ArrayRef<mlir::Value> counted);

  bool isActive(mlir::Value value) const { return varied.contains(value) && useful.contains(value); }
  /// Gradients flow through the op.
  bool isActive(mlir::Operation *op) const {
    auto active = [&](mlir::Value value) { return isActive(value); };
    return llvm::any_of(op->getResults(), active) && llvm::any_of(read(op), active);
  }

private:
  /// What the op reads: its operands, and those of the ops in it.
  static llvm::SmallVector<mlir::Value> read(mlir::Operation *op);
  void vary(mlir::Value value);
  void use(mlir::Value value);
  void varyBlock(mlir::Block &block);
  void useBlock(mlir::Block &block);
  void varyRepeat(RepeatOp op);
  void useRepeat(RepeatOp op);

  llvm::DenseSet<mlir::Value> varied, useful;
};

} // namespace tessera::graph
#endif
