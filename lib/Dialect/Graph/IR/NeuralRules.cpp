//===- NeuralRules.cpp - Sharding rules and costs of neural ops -----------===//
#include "Detail.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

static double elements(Value value) { return numElements(value); }

ShardingRule EmbeddingOp::getShardingRule() {
  RuleBuilder builder(*this);
  int n = int(rankOf(getIds())), d = int(rankOf(getTable())) - 1;
  // A rank knows which rows it holds and gives zeros for the rest.
  int rows = builder.add(operandDim(0, 0), FactorKind::Reduction);
  builder.rule.offsetAware.push_back(rows);
  builder.rule.lookedUp.push_back(rows);
  builder.pair(operandDim(1, 0), resultDim(0, 0), n);
  builder.pair(operandDim(0, 1), resultDim(0, n), d);
  builder.rule.linear = {{0}};
  return builder.rule;
}
OpCost EmbeddingOp::getCost() {
  double bytes = tensorBytes(getResult().getType());
  return {0, bytes + tensorBytes(getIds().getType()), bytes};
}

ShardingRule ScatterAddOp::getShardingRule() {
  RuleBuilder builder(*this);
  int n = int(rankOf(getIds())), d = int(rankOf(getResult())) - 1;
  for (int i = 0; i < n; ++i)
    builder.add({operandDim(0, i), operandDim(1, i)}, FactorKind::Reduction);
  builder.rule.offsetAware.push_back(builder.add(resultDim(0, 0)));
  builder.pair(operandDim(0, n), resultDim(0, 1), d);
  builder.rule.linear = {{0}};
  return builder.rule;
}
OpCost ScatterAddOp::getCost() { return streamingCost(*this, elements(getRows())); }

ShardingRule LinearOp::getShardingRule() {
  RuleBuilder builder(*this);
  int contract = int(getContract()), n = int(rankOf(getInput())) - contract,
      out = int(rankOf(getWeight())) - contract;
  builder.pair(operandDim(0, 0), resultDim(0, 0), n);
  builder.pair(operandDim(1, 0), resultDim(0, n), out);
  for (int d = 0; d < contract; ++d)
    builder.add({operandDim(0, n + d), operandDim(1, out + d)}, FactorKind::Reduction);
  builder.rule.linear = {{0}, {1}};
  return builder.rule;
}
OpCost LinearOp::getCost() {
  double inner = 1;
  for (int64_t d = 0, rank = rankOf(getWeight()); d < int64_t(getContract()); ++d)
    inner *= double(sizeOf(getWeight(), rank - 1 - d));
  return streamingCost(*this, 2 * inner * elements(getResult()));
}

ShardingRule EinsumOp::getShardingRule() {
  RuleBuilder builder(*this);
  auto places = [&](char letter) {
    SmallVector<TensorDim> places;
    if (size_t d = getLhsLetters().find(letter); d != StringRef::npos)
      places.push_back(operandDim(0, int(d)));
    if (size_t d = getRhsLetters().find(letter); d != StringRef::npos)
      places.push_back(operandDim(1, int(d)));
    if (size_t d = getResultLetters().find(letter); d != StringRef::npos)
      places.push_back(resultDim(0, int(d)));
    return places;
  };
  for (char letter : getResultLetters())
    builder.add(places(letter));
  for (char letter : getSummedLetters())
    builder.add(places(letter), FactorKind::Reduction);
  builder.rule.linear = {{0}, {1}};
  return builder.rule;
}
OpCost EinsumOp::getCost() {
  double inner = 1;
  for (auto [d, letter] : llvm::enumerate(getLhsLetters()))
    if (!getResultLetters().contains(letter))
      inner *= double(sizeOf(getLhs(), int64_t(d)));
  return streamingCost(*this, 2 * inner * elements(getResult()));
}

/// All dimensions but the last `rowRank` pass through; these need replication and are those of `vectors`.
static RuleBuilder rowRule(Operation *op, ArrayRef<int> vectors, int rowRank = 1) {
  RuleBuilder builder(op);
  int rank = int(rankOf(op->getResult(0))), first = rank - rowRank;
  builder.pair(operandDim(0, 0), resultDim(0, 0), first);
  for (int d = first; d < rank; ++d) {
    SmallVector<TensorDim> places = {operandDim(0, d), resultDim(0, d)};
    for (int vector : vectors)
      places.push_back(operandDim(vector, d - first));
    builder.add(places, FactorKind::NeedReplication);
  }
  return builder;
}

ShardingRule RmsNormOp::getShardingRule() {
  RuleBuilder builder = rowRule(*this, {1}, int(rankOf(getWeight())));
  builder.rule.linear = {{1}};
  return builder.rule;
}
OpCost RmsNormOp::getCost() { return streamingCost(*this, 4 * elements(getResult())); }

ShardingRule LayerNormOp::getShardingRule() {
  RuleBuilder builder = rowRule(*this, {1, 2});
  builder.rule.linear = {{1, 2}};
  return builder.rule;
}
OpCost LayerNormOp::getCost() { return streamingCost(*this, 7 * elements(getResult())); }

ShardingRule SoftmaxOp::getShardingRule() { return rowRule(*this, {}).rule; }
OpCost SoftmaxOp::getCost() { return streamingCost(*this, 5 * elements(getResult())); }

ShardingRule CrossEntropyOp::getShardingRule() {
  RuleBuilder builder(*this);
  int last = int(rankOf(getLogits())) - 1;
  for (int d = 0; d < last; ++d)
    builder.add({operandDim(0, d), operandDim(1, d), resultDim(0, d), resultDim(1, d)});
  builder.add(operandDim(0, last), FactorKind::NeedReplication);
  return builder.rule;
}
OpCost CrossEntropyOp::getCost() { return streamingCost(*this, 4 * elements(getLogits())); }

ShardingRule RopeOp::getShardingRule() {
  RuleBuilder builder(*this);
  int last = int(rankOf(getInput())) - 1;
  for (int d = 0; d < last; ++d) {
    SmallVector<TensorDim> places = {operandDim(0, d), resultDim(0, d)};
    if (d < 2)
      places.push_back(operandDim(1, d));
    builder.add(places);
  }
  builder.add({operandDim(0, last), resultDim(0, last)}, FactorKind::NeedReplication);
  builder.rule.linear = {{0}};
  return builder.rule;
}
OpCost RopeOp::getCost() { return streamingCost(*this, 3 * elements(getResult())); }

ShardingRule AttentionOp::getShardingRule() {
  RuleBuilder builder(*this);
  enum { Q, K, V, P, Pages };
  // Sinks stand behind the pages, and keys of rows behind both.
  int sinks = getPages() ? Pages + 1 : Pages, dropKeys = getSinks() ? sinks + 1 : sinks;
  /// The log-sum-exp, if asked for, has the result's first four dimensions.
  auto add = [&](SmallVector<TensorDim> places, int dim) {
    places.push_back(resultDim(0, dim));
    if (getLogSumExp())
      places.push_back(resultDim(1, dim));
    if (getDropKeys())
      places.push_back(operandDim(dropKeys, dim));
    if (getSinks() && dim >= 2)
      places.push_back(operandDim(sinks, dim - 2));
    builder.add(places);
  };
  SmallVector<TensorDim> batch = {operandDim(Q, 0), operandDim(K, 0), operandDim(V, 0), operandDim(P, 0)};
  if (getPages())
    batch.push_back(operandDim(Pages, 0));
  add(batch, 0);
  add({operandDim(Q, 1), operandDim(P, 1)}, 1);                                   // seq
  add({operandDim(Q, 2), operandDim(K, 2), operandDim(V, 2)}, 2);                 // kv_heads
  add({operandDim(Q, 3)}, 3);                                                     // group
  builder.add({operandDim(Q, 4), operandDim(K, 3)}, FactorKind::NeedReplication); // head_dim
  builder.add({operandDim(K, 1), operandDim(V, 1)}, FactorKind::NeedReplication); // context
  builder.add({operandDim(V, 3), resultDim(0, 4)});                               // value_dim
  if (rankOf(getPositions()) == 3)
    builder.add(operandDim(P, 2), FactorKind::NeedReplication); // last, first
  if (getPages())
    builder.add(operandDim(Pages, 1), FactorKind::NeedReplication);
  if (getLogSumExp())
    builder.rule.unbounded = true; // -infinity where a query sees nothing
  else
    builder.rule.linear = {{V}};
  return builder.rule;
}
OpCost AttentionOp::getCost() {
  double context = double(sizeOf(getKey(), 1));
  double scores = 2 * context * elements(getQuery()), values = 2 * context * elements(getResult());
  double rows = elements(getQuery()) / double(sizeOf(getQuery(), 4));
  double sinks = getSinks() ? 2 * rows : 0; // its weight, and the sum with it
  return streamingCost(*this, scores + values + (getDropKeys() ? 19 : 5) * context * rows + sinks);
}

ShardingRule CacheUpdateOp::getShardingRule() {
  RuleBuilder builder(*this);
  enum { Cache, Update, Index, Positions, Pages };
  builder.add({operandDim(Cache, 0), resultDim(0, 0)}, FactorKind::NeedReplication); // layer
  SmallVector<TensorDim> batch = {operandDim(Cache, 1), operandDim(Update, 0), operandDim(Positions, 0),
                                  resultDim(0, 1)};
  if (getPages())
    batch.push_back(operandDim(Pages, 0));
  builder.rule.offsetAware.push_back(builder.add(batch)); // rows that are padding are passed over
  builder.rule.offsetAware.push_back(builder.add({operandDim(Cache, 2), resultDim(0, 2)}));    // context
  builder.add({operandDim(Update, 1), operandDim(Positions, 1)}, FactorKind::NeedReplication); // seq
  builder.add({operandDim(Cache, 3), operandDim(Update, 2), resultDim(0, 3)});                 // heads
  // d; of what is rounded in blocks whole rows are written.
  builder.add({operandDim(Cache, 4), operandDim(Update, 3), resultDim(0, 4)},
              (*this)->hasAttr(kHeldAttr) ? FactorKind::NeedReplication : FactorKind::PassThrough);
  if (getPages()) // a row may go to another rank's piece: every rank looks at the whole table
    builder.add(operandDim(Pages, 1), FactorKind::NeedReplication);
  return builder.rule;
}
OpCost CacheUpdateOp::getCost() {
  double bytes = tensorBytes(getUpdate().getType());
  // An entry of the table for each position.
  double lookups = (getPages() ? 2 : 1) * tensorBytes(getPositions().getType());
  return {0, bytes + lookups, bytes};
}

ShardingRule ArgMaxKeyOp::getShardingRule() {
  RuleBuilder builder(*this);
  int last = int(rankOf(getInput())) - 1;
  builder.pair(operandDim(0, 0), resultDim(0, 0), last);
  builder.rule.offsetAware.push_back(
      builder.add(operandDim(0, last), FactorKind::Reduction, PartialKind::Max));
  return builder.rule;
}
OpCost ArgMaxKeyOp::getCost() { return streamingCost(*this, elements(getInput())); }

ShardingRule ArgMaxIndexOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.pair(operandDim(0, 0), resultDim(0, 0), int(rankOf(getResult())));
  return builder.rule;
}
OpCost ArgMaxIndexOp::getCost() { return streamingCost(*this, 0); }
