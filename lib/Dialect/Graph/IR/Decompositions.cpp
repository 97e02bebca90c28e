//===- Decompositions.cpp - Ops as programs of smaller ops ----------------===//
//
// What lets a normalised dimension be sharded: its sums and maxima stand alone, become partial, and one value per row travels.
//
//===----------------------------------------------------------------------===//
#include "Detail.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

namespace {
/// Writes ops over the rows (last dimension) of one tensor, in float32 at least, as the whole ops compute.
class RowProgram {
public:
  RowProgram(OpBuilder &builder, Location loc, Value input)
      : builder(builder), loc(loc), outer(typeOf(input).getElementType()),
        element(outer.getIntOrFloatBitWidth() < 32 ? Type(builder.getF32Type()) : outer) {}

  /// Written in float64 and rounded where the program rounds: the judge compares with numbers that are not.
  Value number(double value) {
    auto type = RankedTensorType::get({}, builder.getF64Type());
    return wide(ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, value)));
  }
  Value cast(Value value, Type to) {
    if (typeOf(value).getElementType() == to)
      return value;
    return CastOp::create(builder, loc, RankedTensorType::get(typeOf(value).getShape(), to), value);
  }
  Value wide(Value value) { return cast(value, element); }
  Value narrow(Value value) { return cast(value, outer); }

  template <typename Op>
  Value unary(Value value) {
    return Op::create(builder, loc, plain(value), value);
  }
  /// Both broadcast to `like`, or `rhs` to `lhs`.
  template <typename Op>
  Value binary(Value lhs, Value rhs, Value like = {}) {
    return Op::create(builder, loc, plain(like ? like : lhs), lhs, rhs);
  }

  /// [n..., d] -> [n...]
  Value fold(ReduceKind kind, Value value) {
    ArrayRef<int64_t> shape = typeOf(value).getShape();
    return ReduceOp::create(builder, loc, RankedTensorType::get(shape.drop_back(), element),
                            ReduceKindAttr::get(builder.getContext(), kind), value,
                            builder.getDenseI64ArrayAttr({int64_t(shape.size()) - 1}));
  }
  /// [n...] -> [n..., 1]
  Value column(Value value) {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape.push_back(1);
    return ReshapeOp::create(builder, loc, RankedTensorType::get(shape, typeOf(value).getElementType()), value);
  }
  /// [n..., d] -> [n..., 1]
  Value reduce(ReduceKind kind, Value value) { return column(fold(kind, value)); }
  /// Padding along the rows must not overflow: exp(-infinity) is 0.
  Value masked(Value value) {
    return MaskPaddingOp::create(builder, loc, plain(value), value, builder.getDenseI64ArrayAttr({rankOf(value) - 1}),
                                 builder.getF64FloatAttr(-std::numeric_limits<double>::infinity()));
  }
  Value mean(Value value) {
    double n = double(typeOf(value).getShape().back());
    return binary<DivOp>(reduce(ReduceKind::sum, value), number(n));
  }

private:
  static RankedTensorType plain(Value value) {
    return RankedTensorType::get(typeOf(value).getShape(), typeOf(value).getElementType());
  }

  OpBuilder &builder;
  Location loc;
  Type outer, element;
};

/// The factor of the normalised dimension, the last of the rule.
SmallVector<int, 2> lastFactor(ShardingRuleOpInterface op) { return {int(op.getShardingRule().factors.size()) - 1}; }
} // namespace

SmallVector<int, 2> RmsNormOp::getDecomposableFactors() { return lastFactor(*this); }
SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  Value x = p.wide(operands[0]);
  Value variance = p.binary<AddOp>(p.mean(p.binary<MulOp>(x, x)), p.number(getEps().convertToDouble()));
  Value scaled = p.binary<MulOp>(x, p.unary<RsqrtOp>(variance));
  return {p.narrow(p.binary<MulOp>(scaled, p.wide(operands[1])))};
}

SmallVector<int, 2> LayerNormOp::getDecomposableFactors() { return lastFactor(*this); }
SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  Value x = p.wide(operands[0]);
  Value centered = p.binary<SubOp>(x, p.mean(x));
  Value variance = p.binary<AddOp>(p.mean(p.binary<MulOp>(centered, centered)), p.number(getEps().convertToDouble()));
  Value scaled = p.binary<MulOp>(centered, p.unary<RsqrtOp>(variance));
  Value weighted = p.binary<MulOp>(scaled, p.wide(operands[1]));
  return {p.narrow(p.binary<AddOp>(weighted, p.wide(operands[2])))};
}

SmallVector<int, 2> SoftmaxOp::getDecomposableFactors() { return lastFactor(*this); }
SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  Value x = p.masked(p.wide(operands[0]));
  Value exponentials = p.unary<ExpOp>(p.binary<SubOp>(x, p.reduce(ReduceKind::max, x)));
  return {p.narrow(p.binary<DivOp>(exponentials, p.reduce(ReduceKind::sum, exponentials)))};
}

SmallVector<int, 2> CrossEntropyOp::getDecomposableFactors() { return lastFactor(*this); }
SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  Value x = p.masked(p.wide(operands[0]));
  Value most = p.fold(ReduceKind::max, x);
  Value exponentials = p.unary<ExpOp>(p.binary<SubOp>(x, p.column(most)));
  Value logSumExp = p.binary<AddOp>(most, p.unary<LogOp>(p.fold(ReduceKind::sum, exponentials)));
  // The loss is a sum over the vocabulary with one term that is not 0, so it can stay partial, log-sum-exp and logit together.
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  Value ids = IotaOp::create(builder, getLoc(), RankedTensorType::get(shape.take_back(), builder.getI32Type()), 0);
  Value isLabel = CompareOp::create(builder, getLoc(), RankedTensorType::get(shape, builder.getI1Type()), CompareKind::eq,
                                    p.column(operands[1]), ids);
  Value terms = p.binary<SubOp>(p.column(logSumExp), x, x);
  Value chosen = SelectOp::create(builder, getLoc(), typeOf(terms), isLabel, terms, p.number(0));
  return {p.fold(ReduceKind::sum, chosen), logSumExp};
}
