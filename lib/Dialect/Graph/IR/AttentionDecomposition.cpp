//===- AttentionDecomposition.cpp - Attention as general ops --------------===//
//
// What lets the context of keys and values be sharded (decoding from a cache that no rank holds whole): every
// rank computes the scores of its keys, their maximum and the sums that follow, and these are combined once.
// The maximum is one value for each head and token; the weighted values and the sum of the weights lie in one
// tensor, so that one sum combines both (flash-decoding's reduction, over ranks).
//
//===----------------------------------------------------------------------===//
#include "AttentionScores.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// The factor of `context` in the rule.
SmallVector<int, 2> AttentionOp::getDecomposableFactors() {
  return {getShardingRule().operands[1].dims[1].front()};
}

/// Scores below this are those of queries that see nothing: no finite score is.
static constexpr double kLeastMaximum = -1e30;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// log(sum(exp(scores))) of every query [..., 1] from their maximum and the sum of exp(score - maximum).
static Value logSumExp(AttentionOp op, OpBuilder &builder, RowProgram &p, Value largest, Value total) {
  Value sum = p.binary<AddOp>(largest, p.unary<LogOp>(total));
  auto seen = RankedTensorType::get(typeOf(sum).getShape(), builder.getI1Type());
  Value sees =
      CompareOp::create(builder, op.getLoc(), seen, CompareKind::gt, largest, p.number(kLeastMaximum));
  sum = SelectOp::create(builder, op.getLoc(), typeOf(sum), sees, sum, p.number(-kInfinity));
  auto type = cast<RankedTensorType>(op.getLogSumExp().getType());
  return ReshapeOp::create(builder, op.getLoc(), RankedTensorType::get(type.getShape(), p.wideType()), sum);
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder, ValueRange operands) {
  AttentionScores<AttentionOp> p(builder, *this, operands);
  int64_t width = sizeOf(getValue(), 3), last = rankOf(getResult()) - 1;
  Value scores = p.whereSeen(p.capped(p.rawScores()), -kInfinity);
  Value largest = p.binary<MaximumOp>(p.reduce(ReduceKind::max, scores), p.number(kLeastMaximum)), sinks;
  if (getSinks()) { // [kv_heads, group, 1]
    sinks = p.wide(p.column(operands[getSinksMutable()[0].getOperandNumber()]));
    largest = p.binary<MaximumOp>(largest, sinks);
  }
  Value weights = p.unary<ExpOp>(p.binary<SubOp>(scores, largest));
  Value sums[] = {p.einsum(p.perQuery(width), p.dropped(weights), operands[2], "bshgc,bchv->bshgv"),
                  p.reduce(ReduceKind::sum, weights)};
  Value both = ConcatOp::create(builder, getLoc(), p.perQuery(width + 1), sums, last);
  auto piece = [&](int64_t at, int64_t size) -> Value {
    SmallVector<int64_t> offsets(last, 0);
    offsets.push_back(at);
    return SliceOp::create(builder, getLoc(), p.perQuery(size), both, builder.getDenseI64ArrayAttr(offsets));
  };
  // Behind the combined sum: a rank's own part of it would count the sink once for each rank.
  Value total = piece(width, 1);
  if (sinks)
    total = p.binary<AddOp>(total, p.unary<ExpOp>(p.binary<SubOp>(sinks, largest, largest)));
  // The largest score has weight 1: only the sum of a query that sees nothing is below 1, and its result 0.
  total = p.binary<MaximumOp>(total, p.number(1));
  SmallVector<Value> results = {p.narrow(p.binary<DivOp>(piece(0, width), total))};
  if (getLogSumExp())
    results.push_back(logSumExp(*this, builder, p, largest, total));
  return results;
}
