//===- AttentionGradients.cpp - What backward of attention computes -------===//
//
// Gradients of queries, and of keys and values, from the log-sum-exp that forward keeps (FlashAttention's
// backward, arXiv 2205.14135): no weight is kept. Verifiers, rules, costs and the ops written out; meanings
// are in AttentionReference.cpp.
//
//===----------------------------------------------------------------------===//
#include "AttentionScores.h"
#include "GradientProgram.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

namespace {
/// Operands of both gradient ops.
enum { Q, K, V, Positions, G, LogSumExp, Delta, DropKeys };
} // namespace

//===----------------------------------------------------------------------===//
// The derivative of attention
//===----------------------------------------------------------------------===//

StringRef AttentionOp::whyNoGradient() {
  return getPages()  ? "has no derivative where a table says where keys stand"
         : getRing() ? "has no derivative where keys stand in a ring"
                     : "";
}

Operation *AttentionOp::withStatistics(OpBuilder &builder) {
  if (getLogSumExp())
    return nullptr;
  auto perQuery = RankedTensorType::get(getQuery().getType().getShape().drop_back(), builder.getF32Type());
  return AttentionOp::create(builder, getLoc(), getResult().getType(), perQuery, getQuery(), getKey(),
                             getValue(), getPositions(), getPages(), getSinks(), getDropKeys(),
                             getDropShare(), getScaleAttr(), getWindowAttr(), getSoftcapAttr(),
                             getPageAttr());
}

/// Of sinks [kv_heads, group]: each is a column of the softmax without a value, so that its slope is
/// -weight * delta, summed over batch and seq.
static Value sinkGradient(GradientProgram &p, Value sinks, Value logSumExp, Value delta) {
  Value weight = p.unary<ExpOp>(p.sub(p.wide(sinks), logSumExp, logSumExp));
  return p.given(p.neg(p.folded(ReduceKind::sum, p.mul(weight, delta), {0, 1})), sinks);
}

SmallVector<Value> AttentionOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  GradientProgram p(builder, *this);
  Value g = gradients[0];
  if (!g) // of the log-sum-exp alone
    g = p.zeros(getResult().getType().getShape(), getResult().getType().getElementType());
  Value delta = p.fold(ReduceKind::sum, p.mul(p.wide(g), p.result()));
  if (gradients[1])
    delta = p.sub(delta, gradients[1]);
  Gradients result(getNumOperands());
  auto plain = [](Value value) {
    return RankedTensorType::get(typeOf(value).getShape(), typeOf(value).getElementType());
  };
  if (wanted[Q])
    result[Q] =
        AttentionQueryGradientOp::create(builder, getLoc(), plain(getQuery()), getQuery(), getKey(),
                                         getValue(), getPositions(), g, getLogSumExp(), delta, getDropKeys(),
                                         getDropShare(), getScaleAttr(), getWindowAttr(), getSoftcapAttr());
  if (wanted[K] || wanted[V]) {
    auto both = AttentionKeyValueGradientOp::create(builder, getLoc(), plain(getKey()), plain(getValue()),
                                                    getQuery(), getKey(), getValue(), getPositions(), g,
                                                    getLogSumExp(), delta, getDropKeys(), getDropShare(),
                                                    getScaleAttr(), getWindowAttr(), getSoftcapAttr());
    result[K] = wanted[K] ? Value(both.getKeyGradient()) : Value();
    result[V] = wanted[V] ? Value(both.getValueGradient()) : Value();
  }
  if (getSinks())
    if (unsigned number = getSinksMutable()[0].getOperandNumber(); wanted[number])
      result[number] = sinkGradient(p, getSinks(), getLogSumExp(), delta);
  return result;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Operands of a gradient op are those of an attention, with what belongs to its results.
template <typename OpT> static LogicalResult verifyGradient(OpT op) {
  NamedValue q{"query", op.getQuery()}, v{"value", op.getValue()}, g{"gradient", op.getGradient()};
  if (failed(verifyTensors(op)) ||
      failed(
          verifyAttentionOperands(op, op->getOperands(), op.getScale(), op.getWindow(), op.getSoftcap())) ||
      failed(expectRank(op, g, 5)) || failed(expectSameElements(op, q, g)) ||
      failed(expectSameSizes(op, g, 0, q, 0, 4)) || failed(expectSameSize(op, g, 4, v, 3)))
    return failure();
  for (NamedValue row : {NamedValue{"log_sum_exp", op.getLogSumExp()}, NamedValue{"delta", op.getDelta()}})
    if (failed(expectRank(op, row, 4)) || failed(expectSameSizes(op, row, 0, q, 0, 4)))
      return failure();
  return verifyDropped(op, q, op.getDropKeys(), op.getDropShare());
}

/// `result` has the shape of `operand`.
static LogicalResult expectShapeOf(Operation *op, NamedValue result, NamedValue operand) {
  if (failed(expectRank(op, result, rankOf(operand.value))))
    return failure();
  return expectSameSizes(op, result, 0, operand, 0, rankOf(operand.value));
}

LogicalResult AttentionQueryGradientOp::verify() {
  NamedValue result{"result", getResult()}, query{"query", getQuery()};
  if (failed(verifyGradient(*this)) || failed(expectShapeOf(*this, result, query)))
    return failure();
  return expectSameElements(*this, result, query);
}

LogicalResult AttentionKeyValueGradientOp::verify() {
  if (failed(verifyGradient(*this)))
    return failure();
  // Terms of what ranks add up, where queries are split among them.
  NamedValue results[] = {{"key_gradient", getKeyGradient()}, {"value_gradient", getValueGradient()}};
  NamedValue operands[] = {{"key", getKey()}, {"value", getValue()}};
  for (auto [result, of] : llvm::zip_equal(results, operands))
    if (failed(expectShapeOf(*this, result, of)) || failed(expectElementsOrSums(*this, result, of)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Rules and costs
//===----------------------------------------------------------------------===//

/// A factor of queries, dimension `dim` of theirs, of what belongs to each of them and of `others`.
template <typename OpT>
static void addOfQueries(RuleBuilder &builder, OpT op, int dim, ArrayRef<TensorDim> others,
                         FactorKind kind = FactorKind::PassThrough) {
  SmallVector<TensorDim> places;
  for (int operand : {int(Q), int(G), int(LogSumExp), int(Delta)})
    places.push_back(operandDim(operand, dim));
  if (op.getDropKeys())
    places.push_back(operandDim(DropKeys, dim));
  llvm::append_range(places, others);
  builder.add(places, kind);
}

/// The numbers that say which keys a query sees.
static void addRange(RuleBuilder &builder, Value positions) {
  if (rankOf(positions) == 3)
    builder.add(operandDim(Positions, 2), FactorKind::NeedReplication);
}

ShardingRule AttentionQueryGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  addOfQueries(builder, *this, 0,
               {operandDim(K, 0), operandDim(V, 0), operandDim(Positions, 0), resultDim(0, 0)});
  addOfQueries(builder, *this, 1, {operandDim(Positions, 1), resultDim(0, 1)});                    // seq
  addOfQueries(builder, *this, 2, {operandDim(K, 2), operandDim(V, 2), resultDim(0, 2)});          // kv_heads
  addOfQueries(builder, *this, 3, {resultDim(0, 3)});                                              // group
  builder.add({operandDim(Q, 4), operandDim(K, 3), resultDim(0, 4)}, FactorKind::NeedReplication); // head_dim
  builder.add({operandDim(K, 1), operandDim(V, 1)}, FactorKind::NeedReplication);                  // context
  builder.add({operandDim(V, 3), operandDim(G, 4)}, FactorKind::NeedReplication); // value_dim
  addRange(builder, getPositions());
  builder.rule.linear = {{G, Delta}};
  return builder.rule;
}

ShardingRule AttentionKeyValueGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  enum { DK, DV };
  addOfQueries(
      builder, *this, 0,
      {operandDim(K, 0), operandDim(V, 0), operandDim(Positions, 0), resultDim(DK, 0), resultDim(DV, 0)});
  addOfQueries(builder, *this, 1, {operandDim(Positions, 1)}, FactorKind::Reduction); // seq
  addOfQueries(builder, *this, 2,
               {operandDim(K, 2), operandDim(V, 2), resultDim(DK, 2), resultDim(DV, 2)}); // kv_heads
  addOfQueries(builder, *this, 3, {}, FactorKind::Reduction);                             // group
  builder.add({operandDim(Q, 4), operandDim(K, 3), resultDim(DK, 3)},
              FactorKind::NeedReplication); // head_dim
  builder.add({operandDim(K, 1), operandDim(V, 1), resultDim(DK, 1), resultDim(DV, 1)},
              FactorKind::NeedReplication); // context
  builder.add({operandDim(V, 3), operandDim(G, 4), resultDim(DV, 3)},
              FactorKind::NeedReplication); // value_dim
  addRange(builder, getPositions());
  builder.rule.linear = {{G, Delta}};
  return builder.rule;
}

/// `products` with every key: scores and gradient . v, then one for each result.
template <typename OpT> static OpCost gradientCost(OpT op, int64_t results) {
  double context = double(sizeOf(op.getKey(), 1)), rows = numElements(op.getLogSumExp());
  double scores = 2 * context * numElements(op.getQuery()),
         values = 2 * context * numElements(op.getGradient());
  return streamingCost(op, scores + values + (results == 1 ? scores : scores + values) +
                               (op.getDropKeys() ? 20 : 6) * context * rows);
}
OpCost AttentionQueryGradientOp::getCost() { return gradientCost(*this, 1); }
OpCost AttentionKeyValueGradientOp::getCost() { return gradientCost(*this, 2); }

//===----------------------------------------------------------------------===//
// Written out
//===----------------------------------------------------------------------===//

SmallVector<int, 2> AttentionQueryGradientOp::getDecomposableFactors() {
  return {getShardingRule().operands[K].dims[1].front()};
}
SmallVector<int, 2> AttentionKeyValueGradientOp::getDecomposableFactors() {
  return {getShardingRule().operands[K].dims[1].front()};
}

namespace {
/// The weights p of every query and key, and the gradient ds of the products q . k.
template <typename OpT> class WeightGradients : public AttentionScores<OpT> {
public:
  WeightGradients(OpBuilder &builder, OpT op, ValueRange operands)
      : AttentionScores<OpT>(builder, op, operands) {
    Value bent, scores = this->capped(this->rawScores(), &bent);
    Value below = this->template binary<SubOp>(scores, this->column(operands[LogSumExp]));
    // Hidden before the exponential: what is infinite there would be NaN in second derivatives.
    weights = this->template unary<ExpOp>(this->whereSeen(below, -std::numeric_limits<double>::infinity()));
    Value values =
        this->einsum(this->perQuery(this->context()), operands[G], operands[V], "bshgv,bchv->bshgc");
    Value slope = this->template binary<SubOp>(this->dropped(values), this->column(operands[Delta]));
    slope =
        this->template binary<MulOp>(this->template binary<MulOp>(weights, slope), this->number(this->scale));
    if (bent) { // tanh's own slope
      Value square = this->template binary<MulOp>(bent, bent);
      slope =
          this->template binary<MulOp>(slope, this->template binary<SubOp>(this->number(1), square, square));
    }
    slopes = slope;
  }
  Value weights, slopes; ///< [batch, seq, kv_heads, group, context]
};

RankedTensorType shapedAs(Value value) {
  return RankedTensorType::get(typeOf(value).getShape(), typeOf(value).getElementType());
}
} // namespace

SmallVector<Value> AttentionQueryGradientOp::decompose(OpBuilder &builder, ValueRange operands) {
  WeightGradients p(builder, *this, operands);
  return {p.einsum(shapedAs(getResult()), p.slopes, operands[K], "bshgc,bchd->bshgd")};
}

SmallVector<Value> AttentionKeyValueGradientOp::decompose(OpBuilder &builder, ValueRange operands) {
  WeightGradients p(builder, *this, operands);
  return {p.einsum(shapedAs(getKeyGradient()), p.slopes, operands[Q], "bshgc,bshgd->bchd"),
          p.einsum(shapedAs(getValueGradient()), p.dropped(p.weights), operands[G], "bshgc,bshgv->bchv")};
}
