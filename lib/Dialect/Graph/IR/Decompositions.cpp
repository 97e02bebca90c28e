//===- Decompositions.cpp - Ops as programs of smaller ops ----------------===//
//
// What lets a normalised dimension be sharded: its sums and maxima stand alone, become partial, and one value
// per row travels.
//
//===----------------------------------------------------------------------===//
#include "Detail.h"
#include "RowProgram.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

namespace {
/// The factors of the normalised dimensions, the last `count` of the rule.
SmallVector<int, 2> lastFactors(ShardingRuleOpInterface op, int64_t count = 1) {
  int factors = int(op.getShardingRule().factors.size());
  return llvm::to_vector<2>(llvm::seq(factors - int(count), factors));
}
} // namespace

SmallVector<int, 2> RmsNormOp::getDecomposableFactors() { return lastFactors(*this, rankOf(getWeight())); }
SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0], rankOf(getWeight()));
  Value x = p.wide(operands[0]);
  Value variance = p.binary<AddOp>(p.mean(p.binary<MulOp>(x, x)), p.number(getEps().convertToDouble()));
  Value scaled = p.binary<MulOp>(x, p.unary<RsqrtOp>(variance));
  return {p.narrow(p.binary<MulOp>(scaled, p.wide(operands[1])))};
}

SmallVector<int, 2> LayerNormOp::getDecomposableFactors() { return lastFactors(*this); }
SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  Value x = p.wide(operands[0]);
  Value centered = p.binary<SubOp>(x, p.mean(x));
  Value variance =
      p.binary<AddOp>(p.mean(p.binary<MulOp>(centered, centered)), p.number(getEps().convertToDouble()));
  Value scaled = p.binary<MulOp>(centered, p.unary<RsqrtOp>(variance));
  Value weighted = p.binary<MulOp>(scaled, p.wide(operands[1]));
  return {p.narrow(p.binary<AddOp>(weighted, p.wide(operands[2])))};
}

SmallVector<int, 2> SoftmaxOp::getDecomposableFactors() { return lastFactors(*this); }
SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  Value x = p.masked(p.wide(operands[0]));
  Value exponentials = p.unary<ExpOp>(p.binary<SubOp>(x, p.reduce(ReduceKind::max, x)));
  return {p.narrow(p.binary<DivOp>(exponentials, p.reduce(ReduceKind::sum, exponentials)))};
}

SmallVector<int, 2> CrossEntropyOp::getDecomposableFactors() { return lastFactors(*this); }
SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  Value x = p.masked(p.wide(operands[0]));
  Value most = p.fold(ReduceKind::max, x);
  Value exponentials = p.unary<ExpOp>(p.binary<SubOp>(x, p.column(most)));
  Value logSumExp = p.binary<AddOp>(most, p.unary<LogOp>(p.fold(ReduceKind::sum, exponentials)));
  // The loss is a sum over the vocabulary with one term that is not 0, so it can stay partial, log-sum-exp
  // and logit together.
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  Value ids =
      IotaOp::create(builder, getLoc(), RankedTensorType::get(shape.take_back(), builder.getI32Type()), 0);
  Value isLabel = CompareOp::create(builder, getLoc(), RankedTensorType::get(shape, builder.getI1Type()),
                                    CompareKind::eq, p.column(operands[1]), ids);
  Value terms = p.binary<SubOp>(p.column(logSumExp), x, x);
  Value chosen = SelectOp::create(builder, getLoc(), typeOf(terms), isLabel, terms, p.number(0));
  return {p.fold(ReduceKind::sum, chosen), logSumExp};
}
