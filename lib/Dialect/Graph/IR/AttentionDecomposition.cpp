//===- AttentionDecomposition.cpp - Attention as general ops --------------===//
//
// What lets the context of keys and values be sharded (decoding from a cache that no rank holds whole): every
// rank computes the scores of its keys, their maximum and the sums that follow, and these are combined once.
// The maximum is one value for each head and token; the weighted values and the sum of the weights lie in one
// tensor, so that one sum combines both (flash-decoding's reduction, over ranks).
//
//===----------------------------------------------------------------------===//
#include "Detail.h"
#include "RowProgram.h"

#include "tessera/Dialect/Graph/IR/AttentionWindow.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// The factor of `context` in the rule.
SmallVector<int, 2> AttentionOp::getDecomposableFactors() {
  return {getShardingRule().operands[1].dims[1].front()};
}

namespace {
/// Scores below this are those of queries that see nothing: no finite score is.
constexpr double kLeastMaximum = -1e30;

/// Where the key of each column of `scores` is seen. Keys have the positions of their places, which a rank
/// knows; `positions` are the queries'.
Value maskScores(AttentionOp op, OpBuilder &builder, RowProgram &p, Value scores, Value positions) {
  Location loc = op.getLoc();
  SmallVector<int64_t> shape(typeOf(scores).getShape());
  int64_t context = shape.back();
  Type integer = typeOf(positions).getElementType();
  auto of = [&](ArrayRef<int64_t> sizes, Type element) { return RankedTensorType::get(sizes, element); };
  Value keys = IotaOp::create(builder, loc, of({context}, integer), builder.getI64IntegerAttr(0));
  Value queries = ReshapeOp::create(builder, loc, of({shape[0], shape[1], 1, 1, 1}, integer), positions);
  auto keep = [&](CompareKind kind, Value limit) {
    Value seen = CompareOp::create(builder, loc, of({shape[0], shape[1], 1, 1, context}, builder.getI1Type()),
                                   kind, keys, limit);
    scores = SelectOp::create(builder, loc, of(shape, typeOf(scores).getElementType()), seen, scores,
                              p.number(-std::numeric_limits<double>::infinity()));
  };
  keep(CompareKind::le, queries);
  if (std::optional<int32_t> window = hidingWindow(op)) {
    auto scalar = of({}, integer);
    Value width = ConstantOp::create(
        builder, loc, scalar, DenseElementsAttr::get(scalar, builder.getIntegerAttr(integer, *window)));
    keep(CompareKind::gt, SubOp::create(builder, loc, typeOf(queries), queries, width));
  }
  // The last rank's padding: no key.
  return MaskPaddingOp::create(builder, loc, of(shape, typeOf(scores).getElementType()), scores,
                               builder.getDenseI64ArrayAttr({int64_t(shape.size()) - 1}),
                               builder.getF64FloatAttr(-std::numeric_limits<double>::infinity()));
}
} // namespace

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  SmallVector<int64_t> rows(typeOf(getResult()).getShape().drop_back());
  int64_t context = sizeOf(getKey(), 1), width = sizeOf(getValue(), 3);
  auto shaped = [&](int64_t last) {
    SmallVector<int64_t> shape(rows);
    shape.push_back(last);
    return RankedTensorType::get(shape, p.wideType());
  };
  double scale = getScale().convertToDouble(), softcap = getSoftcap() ? getSoftcap()->convertToDouble() : 0;
  Value scores =
      EinsumOp::create(builder, getLoc(), shaped(context), operands[0], operands[1], "bshgd,bchd->bshgc");
  scores = p.binary<MulOp>(scores, p.number(softcap != 0 ? scale / softcap : scale));
  if (softcap != 0)
    scores = p.binary<MulOp>(p.unary<TanhOp>(scores), p.number(softcap));
  scores = maskScores(*this, builder, p, scores, operands[3]);
  Value largest = p.binary<MaximumOp>(p.reduce(ReduceKind::max, scores), p.number(kLeastMaximum));
  Value weights = p.unary<ExpOp>(p.binary<SubOp>(scores, largest));
  Value sums[] = {
      EinsumOp::create(builder, getLoc(), shaped(width), weights, operands[2], "bshgc,bchv->bshgv"),
      p.reduce(ReduceKind::sum, weights)};
  Value both = ConcatOp::create(builder, getLoc(), shaped(width + 1), sums, rows.size());
  auto piece = [&](int64_t at, int64_t size) -> Value {
    SmallVector<int64_t> offsets(rows.size(), 0);
    offsets.push_back(at);
    return SliceOp::create(builder, getLoc(), shaped(size), both, builder.getDenseI64ArrayAttr(offsets));
  };
  // The largest score has weight 1: only the sum of a query that sees nothing is below 1, and its result 0.
  Value total = p.binary<MaximumOp>(piece(width, 1), p.number(1));
  return {p.narrow(p.binary<DivOp>(piece(0, width), total))};
}
