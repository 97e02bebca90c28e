//===- FloatArithmetic.h - Elementwise f32 with broadcast -------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_FLOATARITHMETIC_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_FLOATARITHMETIC_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include <limits>

namespace tessera::graph {

/// Elementwise arithmetic in f32: of two tensors of one shape, or of a tensor and a single number.
struct FloatArithmetic {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, builder.getF32Type());
  }
  mlir::Value splat(mlir::RankedTensorType of, double value) {
    return ConstantOp::create(builder, loc, of, mlir::DenseElementsAttr::get(of, float(value)));
  }
  mlir::Value number(double value) { return splat(type({}), value); }

  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary<DivOp>(x, y); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return binary<MinimumOp>(x, y); }
  mlir::Value sqrt(mlir::Value x) { return SqrtOp::create(builder, loc, x.getType(), x); }
  /// In another type.
  mlir::Value in(mlir::Value x, mlir::Type element) {
    auto of = mlir::cast<mlir::RankedTensorType>(x.getType());
    if (of.getElementType() == element)
      return x;
    return CastOp::create(builder, loc, mlir::RankedTensorType::get(of.getShape(), element), x);
  }
  /// Whether a number that is not negative is finite: i1.
  mlir::Value isFinite(mlir::Value x) {
    return CompareOp::create(builder, loc, mlir::RankedTensorType::get({}, builder.getI1Type()),
                             CompareKind::lt, x, number(std::numeric_limits<double>::infinity()));
  }
  /// The sum of all elements.
  mlir::Value sum(mlir::Value x) {
    auto rank = mlir::cast<mlir::RankedTensorType>(x.getType()).getRank();
    if (rank == 0)
      return x;
    // Rows first: they need not wait for each other, what is summed up need not be stored, and a long sum in
    // one float loses digits.
    if (rank > 1) {
      auto rows = type(mlir::cast<mlir::RankedTensorType>(x.getType()).getShape().drop_back());
      return sum(ReduceOp::create(builder, loc, rows, ReduceKind::sum, x, llvm::ArrayRef<int64_t>{rank - 1}));
    }
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    return ReduceOp::create(builder, loc, type({}), ReduceKind::sum, x, dims);
  }

private:
  template <typename Op> mlir::Value binary(mlir::Value x, mlir::Value y) {
    auto a = mlir::cast<mlir::RankedTensorType>(x.getType()),
         b = mlir::cast<mlir::RankedTensorType>(y.getType());
    return Op::create(builder, loc, a.getRank() >= b.getRank() ? a : b, x, y);
  }
};

} // namespace tessera::graph
#endif
