//===- RowProgram.h - Programs over rows ------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_IR_ROWPROGRAM_H
#define TESSERA_LIB_DIALECT_GRAPH_IR_ROWPROGRAM_H

#include "Detail.h"

#include "llvm/ADT/Sequence.h"

#include <limits>

namespace tessera::graph::inner {

/// Writes ops over the rows of one tensor, in float32 at least, as the whole ops compute. A row is all of its
/// last `rowRank` dimensions, written d below.
class RowProgram {
public:
  RowProgram(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, int64_t rowRank = 1)
      : builder(builder), loc(loc), rowRank(rowRank), outer(typeOf(input).getElementType()),
        element(outer.getIntOrFloatBitWidth() < 32 ? mlir::Type(builder.getF32Type()) : outer) {}

  /// Written in float64 and rounded where the program rounds: the judge compares with numbers that are not.
  mlir::Value number(double value) {
    auto type = mlir::RankedTensorType::get({}, builder.getF64Type());
    return wide(ConstantOp::create(builder, loc, type, mlir::DenseElementsAttr::get(type, value)));
  }
  mlir::Value cast(mlir::Value value, mlir::Type to) {
    if (typeOf(value).getElementType() == to)
      return value;
    return CastOp::create(builder, loc, mlir::RankedTensorType::get(typeOf(value).getShape(), to), value);
  }
  mlir::Type wideType() const { return element; }
  mlir::Value wide(mlir::Value value) { return cast(value, element); }
  mlir::Value narrow(mlir::Value value) { return cast(value, outer); }

  template <typename Op> mlir::Value unary(mlir::Value value) {
    return Op::create(builder, loc, plain(value), value);
  }
  /// Both broadcast to `like`, or `rhs` to `lhs`.
  template <typename Op> mlir::Value binary(mlir::Value lhs, mlir::Value rhs, mlir::Value like = {}) {
    return Op::create(builder, loc, plain(like ? like : lhs), lhs, rhs);
  }

  /// [n..., d] -> [n...]
  mlir::Value fold(ReduceKind kind, mlir::Value value) {
    llvm::ArrayRef<int64_t> shape = typeOf(value).getShape();
    auto dims = llvm::to_vector(llvm::seq<int64_t>(int64_t(shape.size()) - rowRank, int64_t(shape.size())));
    return ReduceOp::create(
        builder, loc, mlir::RankedTensorType::get(shape.drop_back(size_t(rowRank)), element),
        ReduceKindAttr::get(builder.getContext(), kind), value, builder.getDenseI64ArrayAttr(dims));
  }
  /// [n...] -> [n..., 1], with a 1 for each dimension of a row
  mlir::Value column(mlir::Value value) {
    llvm::SmallVector<int64_t> shape(typeOf(value).getShape());
    shape.append(size_t(rowRank), 1);
    return ReshapeOp::create(builder, loc, mlir::RankedTensorType::get(shape, typeOf(value).getElementType()),
                             value);
  }
  /// [n..., d] -> [n..., 1]
  mlir::Value reduce(ReduceKind kind, mlir::Value value) { return column(fold(kind, value)); }
  /// Padding along the rows must not overflow: exp(-infinity) is 0.
  mlir::Value masked(mlir::Value value) {
    return MaskPaddingOp::create(builder, loc, plain(value), value,
                                 builder.getDenseI64ArrayAttr({rankOf(value) - 1}),
                                 builder.getF64FloatAttr(-std::numeric_limits<double>::infinity()));
  }
  mlir::Value mean(mlir::Value value) {
    double n = 1;
    for (int64_t size : typeOf(value).getShape().take_back(size_t(rowRank)))
      n *= double(size);
    return binary<DivOp>(reduce(ReduceKind::sum, value), number(n));
  }

protected:
  /// The type of `value` without an encoding.
  static mlir::RankedTensorType plain(mlir::Value value) {
    return mlir::RankedTensorType::get(typeOf(value).getShape(), typeOf(value).getElementType());
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t rowRank;
  mlir::Type outer, element;
};

} // namespace tessera::graph::inner
#endif
