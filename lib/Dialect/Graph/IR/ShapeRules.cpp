//===- ShapeRules.cpp - Sharding rules and costs of shape ops -------------===//
#include "Detail.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// Every dimension of operand 0 is the same dimension of the result.
static RuleBuilder sameDims(Operation *op) {
  RuleBuilder builder(op);
  builder.pair(operandDim(0, 0), resultDim(0, 0), int(rankOf(op->getResult(0))));
  return builder;
}
/// Ops that only move elements commute with sums and with maxima.
static ShardingRule moving(RuleBuilder builder, OperandGroups operands = {{0}}) {
  builder.rule.linear = operands;
  builder.rule.maxLinear = std::move(operands);
  return std::move(builder.rule);
}

ShardingRule ConstantOp::getShardingRule() {
  RuleBuilder builder(*this);
  FactorKind kind = getValue().isSplat() ? FactorKind::PassThrough : FactorKind::NeedReplication;
  for (int d = 0; d < rankOf(getResult()); ++d)
    builder.add(resultDim(0, d), kind);
  if (auto floats = dyn_cast<SplatElementsAttr>(getValue());
      floats && isa<FloatType>(floats.getElementType())) {
    APFloat value = floats.getSplatValue<APFloat>();
    builder.rule.neutral = value.isZero()                             ? PartialKind::Sum
                           : value.isInfinity() && value.isNegative() ? PartialKind::Max
                                                                      : PartialKind::None;
  }
  return builder.rule;
}
OpCost ConstantOp::getCost() { return streamingCost(*this, 0); }

ShardingRule IotaOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (int d = 0; d < rankOf(getResult()); ++d) {
    int factor = builder.add(resultDim(0, d));
    if (d == int(getDim()))
      builder.rule.offsetAware.push_back(factor);
  }
  return builder.rule;
}
OpCost IotaOp::getCost() { return streamingCost(*this, 0); }

ShardingRule CompareOp::getShardingRule() { return elementwiseRule(*this, {}, {}); }
OpCost CompareOp::getCost() { return streamingCost(*this, numElements(getResult())); }

// The condition is never partial: i1 does not add up.
ShardingRule SelectOp::getShardingRule() { return elementwiseRule(*this, {{1, 2}}, {{1, 2}}); }
OpCost SelectOp::getCost() { return streamingCost(*this, numElements(getResult())); }

/// Walks both shapes from the major end. What both sides share becomes a factor; where sizes have no common
/// split, the dimensions up to the next common boundary need replication.
ShardingRule ReshapeOp::getShardingRule() {
  RuleBuilder builder(*this);
  SmallVector<int64_t> from = dist::globalShape(getInput().getType()),
                       to = dist::globalShape(getResult().getType());
  size_t i = 0, j = 0;
  // What is left of the present dimension of either side.
  int64_t restFrom = 0, restTo = 0;
  while (i < from.size() || j < to.size()) {
    if (!restFrom && i < from.size())
      restFrom = from[i];
    if (!restTo && j < to.size())
      restTo = to[j];
    bool freshFrom = i < from.size() && restFrom == from[i], freshTo = j < to.size() && restTo == to[j];
    // A dimension of size 1 pairs with one of size 1 (a batch of one), else it has no factor.
    bool oneFrom = freshFrom && from[i] == 1, oneTo = freshTo && to[j] == 1;
    if (oneFrom != oneTo) {
      if (oneFrom)
        ++i, restFrom = 0;
      else
        ++j, restTo = 0;
      continue;
    }
    int64_t common = std::gcd(restFrom, restTo);
    bool nested = common == restFrom || common == restTo;
    if (common > 1 || nested) {
      builder.addSized(common, {operandDim(0, int(i)), resultDim(0, int(j))});
      restFrom /= common;
      restTo /= common;
    } else {
      // Products meet again at the latest at the end.
      int64_t productFrom = restFrom, productTo = restTo;
      builder.addSized(restFrom, operandDim(0, int(i)), FactorKind::NeedReplication);
      builder.addSized(restTo, resultDim(0, int(j)), FactorKind::NeedReplication);
      while (productFrom != productTo) {
        if (productFrom < productTo) {
          productFrom *= from[++i];
          builder.add(operandDim(0, int(i)), FactorKind::NeedReplication);
        } else {
          productTo *= to[++j];
          builder.add(resultDim(0, int(j)), FactorKind::NeedReplication);
        }
      }
      restFrom = restTo = 1;
    }
    if (restFrom == 1)
      ++i, restFrom = 0;
    if (restTo == 1)
      ++j, restTo = 0;
  }
  return moving(std::move(builder));
}
OpCost ReshapeOp::getCost() { return {}; }

ShardingRule TransposeOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    builder.add({operandDim(0, int(from)), resultDim(0, int(to))});
  return moving(std::move(builder));
}
OpCost TransposeOp::getCost() { return streamingCost(*this, 0); }

ShardingRule BroadcastOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (int d = 0; d < rankOf(getResult()); ++d) {
    SmallVector<TensorDim> places = {resultDim(0, d)};
    if (const auto *it = llvm::find(getDims(), d); it != getDims().end())
      places.push_back(operandDim(0, int(it - getDims().begin())));
    builder.add(places);
  }
  return moving(std::move(builder));
}
OpCost BroadcastOp::getCost() { return streamingCost(*this, 0); }

ShardingRule SliceOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (int d = 0; d < rankOf(getResult()); ++d) {
    if (builder.size(operandDim(0, d)) == builder.size(resultDim(0, d))) {
      builder.add({operandDim(0, d), resultDim(0, d)});
    } else {
      int whole = builder.add(operandDim(0, d), FactorKind::NeedReplication),
          part = builder.add(resultDim(0, d), FactorKind::NeedReplication);
      builder.rule.windows.push_back({whole, part, getOffsets()[d]});
    }
  }
  return moving(std::move(builder));
}
OpCost SliceOp::getCost() {
  double bytes = tensorBytes(getResult().getType());
  return {0, bytes, bytes};
}

ShardingRule ReverseOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (int d = 0; d < rankOf(getResult()); ++d)
    builder.add({operandDim(0, d), resultDim(0, d)},
                d == int(getDim()) ? FactorKind::Permutation : FactorKind::PassThrough);
  return moving(std::move(builder));
}
OpCost ReverseOp::getCost() { return streamingCost(*this, 0); }

ShardingRule ConcatOp::getShardingRule() {
  RuleBuilder builder(*this);
  int operands = int(getInputs().size());
  for (int d = 0; d < rankOf(getResult()); ++d) {
    SmallVector<TensorDim> places = {resultDim(0, d)};
    for (int i = 0; i < operands; ++i)
      places.push_back(operandDim(i, d));
    if (d != int(getDim())) {
      builder.add(places);
      continue;
    }
    for (TensorDim place : places) // of different sizes
      builder.add(place, FactorKind::NeedReplication);
  }
  SmallVector<int, 2> all;
  for (int i = 0; i < operands; ++i)
    all.push_back(i);
  return moving(std::move(builder), {all});
}
OpCost ConcatOp::getCost() { return streamingCost(*this, 0); }

ShardingRule ReduceOp::getShardingRule() {
  RuleBuilder builder(*this);
  bool sum = getKind() == ReduceKind::sum;
  int to = 0;
  for (int d = 0; d < rankOf(getInput()); ++d) {
    if (llvm::is_contained(getDims(), d))
      builder.add(operandDim(0, d), FactorKind::Reduction, sum ? PartialKind::Sum : PartialKind::Max);
    else
      builder.add({operandDim(0, d), resultDim(0, to++)});
  }
  (sum ? builder.rule.linear : builder.rule.maxLinear) = {{0}};
  return builder.rule;
}
OpCost ReduceOp::getCost() { return streamingCost(*this, numElements(getInput())); }

ShardingRule TakeOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.add({operandDim(0, 0), operandDim(1, 0), resultDim(0, 0)});
  // A rank knows which positions it holds and gives zeros for the others.
  int positions = builder.add(operandDim(0, 1), FactorKind::Reduction);
  builder.rule.offsetAware.push_back(positions);
  builder.rule.lookedUp.push_back(positions);
  builder.add(resultDim(0, 1), FactorKind::NeedReplication);
  builder.pair(operandDim(0, 2), resultDim(0, 2), int(rankOf(getInput())) - 2);
  builder.rule.linear = {{0}};
  return builder.rule;
}
OpCost TakeOp::getCost() {
  double bytes = tensorBytes(getResult().getType());
  return {0, bytes + tensorBytes(getIndex().getType()), bytes};
}

ShardingRule LayerSliceOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.add(operandDim(0, 0), FactorKind::NeedReplication);
  // Rows in blocks can be cut once a layer is expanded; a whole cache never is expanded.
  const int rank = int(rankOf(getResult())), inBlocks = rank > 0 && isCacheInBlocks(getStack());
  builder.pair(operandDim(0, 1), resultDim(0, 0), rank - inBlocks);
  if (inBlocks)
    builder.add({operandDim(0, rank), resultDim(0, rank - 1)}, FactorKind::NeedReplication);
  return moving(std::move(builder));
}
OpCost LayerSliceOp::getCost() { return {}; }

ShardingRule StackLayerOp::getShardingRule() { return RuleBuilder(*this).rule; }
OpCost StackLayerOp::getCost() { return {}; }

ShardingRule MaskPaddingOp::getShardingRule() {
  RuleBuilder builder = sameDims(*this);
  for (int64_t dim : getDims())
    builder.rule.offsetAware.push_back(builder.rule.operands[0].dims[dim].front());
  // Masking with 0 distributes over sums; with anything it commutes with maxima.
  if (getValue().isZero())
    builder.rule.linear = {{0}};
  builder.rule.maxLinear = {{0}};
  return builder.rule;
}
OpCost MaskPaddingOp::getCost() { return streamingCost(*this, 0); }

ShardingRule NameOp::getShardingRule() { return moving(sameDims(*this)); }
OpCost NameOp::getCost() { return {}; }
