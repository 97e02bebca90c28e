//===- GradientProgram.h - Programs of gradients ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_IR_GRADIENTPROGRAM_H
#define TESSERA_LIB_DIALECT_GRAPH_IR_GRADIENTPROGRAM_H

#include "RowProgram.h"

#include "llvm/ADT/SmallBitVector.h"

namespace tessera::graph::inner {

using Gradients = llvm::SmallVector<mlir::Value>;
using Known = llvm::ArrayRef<mlir::Value>;   ///< gradients of results; null: zero
using Wanted = const llvm::SmallBitVector &; ///< operands whose gradients are wanted

/// Writes the gradients of one op: in float32 at least, rounded at the end.
class GradientProgram : public RowProgram {
public:
  GradientProgram(mlir::OpBuilder &builder, mlir::Operation *op)
      : GradientProgram(builder, op, op->getResult(0)) {}
  /// `like`: of the type that elements are in. `rowRank`: RowProgram's.
  GradientProgram(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value like, int64_t rowRank = 1)
      : RowProgram(builder, op->getLoc(), like, rowRank), op(op) {}

  /// Operand or result `i` of the op, widened.
  mlir::Value operand(unsigned i) { return wide(op->getOperand(i)); }
  mlir::Value result(unsigned i = 0) { return wide(op->getResult(i)); }

  mlir::Value neg(mlir::Value x) { return unary<NegOp>(x); }
  /// Arithmetic; the larger operand is `x`, or else `like` has the result's shape.
  mlir::Value add(mlir::Value x, mlir::Value y, mlir::Value like = {}) { return binary<AddOp>(x, y, like); }
  mlir::Value sub(mlir::Value x, mlir::Value y, mlir::Value like = {}) { return binary<SubOp>(x, y, like); }
  mlir::Value mul(mlir::Value x, mlir::Value y, mlir::Value like = {}) { return binary<MulOp>(x, y, like); }
  mlir::Value div(mlir::Value x, mlir::Value y, mlir::Value like = {}) { return binary<DivOp>(x, y, like); }
  mlir::Value scaled(mlir::Value x, double by) { return mul(x, number(by)); }
  /// 1 - x
  mlir::Value oneMinus(mlir::Value x) { return sub(number(1), x, x); }

  /// The value 0 of an element type: a scalar.
  mlir::Value zero(mlir::Type element) { return zeros({}, element); }
  mlir::Value zeros(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// 0, 1, 2, ... as i32 [n, 1, ..., 1], with `behind` ones.
  mlir::Value counting(int64_t n, int64_t behind);

  mlir::Value reshaped(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transposed(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value sliced(mlir::Value x, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes);
  mlir::Value concat(mlir::ValueRange parts, int64_t dim);
  /// `x` reduced over `dims`, which disappear; itself if there are none.
  mlir::Value folded(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> dims);
  /// The same, where they stay as 1.
  mlir::Value reduced(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> dims);
  /// Compares with trailing broadcast to `shape`.
  mlir::Value compare(CompareKind kind, mlir::Value x, mlir::Value y, llvm::ArrayRef<int64_t> shape);
  /// condition ? x : y with trailing broadcast to `shape`; y null: 0.
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y, llvm::ArrayRef<int64_t> shape);

  /// `gradient` as that of `value`: rounded once, or not at all.
  mlir::Value given(mlir::Value gradient, mlir::Value value) {
    return cast(gradient, gradientElementType(value));
  }
  /// The gradient of `value`, which was broadcast (aligned at the last dimension) to the shape of `gradient`:
  /// sums over the dimensions along which it repeats.
  mlir::Value sumTo(mlir::Value gradient, mlir::Value value);

private:
  mlir::Operation *op;
};

} // namespace tessera::graph::inner
#endif
