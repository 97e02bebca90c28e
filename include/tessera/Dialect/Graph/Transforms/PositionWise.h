//===- PositionWise.h - How a program depends on its sequence ---*- C++ -*-===//
//
// An analysis of one function over dimensions called `seq` (docs/Step.md). An op is position-wise if `seq`
// passes through it as a dimension of its own: then it can run on any number of positions. Only ops that say
// so (PositionMixingOpInterface: attention) may mix positions.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_POSITIONWISE_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_POSITIONWISE_H

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::graph {

class PositionWise {
public:
  PositionWise(mlir::func::FuncOp function, const DimNames &names) : function_(function), names_(names) {}

  /// Dimension of `value` called `name`, or -1.
  int find(mlir::Value value, llvm::StringRef name) const;
  /// Sizes of `batch` and `seq` in the arguments that have both; 0 where none has.
  struct Sizes {
    int64_t batch = 0, seq = 0;
  };
  Sizes sizes() const;
  bool dependsOnSeq(mlir::Value value) const { return find(value, "seq") >= 0; }

  /// Fails, with an error at the op, unless `name` passes through every op of the function as a dimension of
  /// its own, what positions look into (keys and values) apart. `name` is "seq" or "batch".
  mlir::LogicalResult checkPassesThrough(llvm::StringRef name) const;

  /// The type of `value` when `batch` and `seq` have other sizes. What is no tensor keeps its type.
  mlir::Type resized(mlir::Value value, int64_t batch, int64_t seq) const;

  /// What follows the last mixing of positions.
  struct Tail {
    mlir::Value input; ///< [batch, seq, ...] float: all that the tail needs to know about positions
    llvm::SmallSetVector<mlir::Operation *, 16> ops; ///< from `input` to the result, in reverse order
  };
  /// The longest tail of the function's one result that has a single input.
  Tail findTail() const;

private:
  mlir::LogicalResult checkOp(mlir::Operation *op, llvm::StringRef name) const;

  mutable mlir::func::FuncOp function_; // op handles have no const methods
  const DimNames &names_;
};

} // namespace tessera::graph
#endif
