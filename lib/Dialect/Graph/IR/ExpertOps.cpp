//===- ExpertOps.cpp - Ops by expert --------------------------------------===//
//
// Tensors have a row for every token and expert, of which only chosen ones count: so each dimension is one of
// the model, and shards like any other. Costs are those of the chosen rows, at even routing.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Experts.h"

#include "Detail.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphExpertOps.cpp.inc"

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::verify() {
  NamedValue input{"input", getInput()}, values{"values", getValues()}, indices{"indices", getIndices()};
  int64_t rank = rankOf(getInput());
  if (failed(verifyTensors(*this)))
    return failure();
  if (rank < 1)
    return emitOpError() << "input has no dimension to choose from";
  if (getElementTypeOrSelf(getInput().getType()).isF64())
    return emitOpError() << "input is f64: elements count as float32; cast it before";
  if (failed(expectRank(*this, values, rank)) || failed(expectRank(*this, indices, rank)) ||
      failed(expectSameSizes(*this, values, 0, input, 0, rank - 1)) ||
      failed(expectSameSizes(*this, indices, 0, values, 0, rank)) ||
      failed(expectSameElements(*this, values, input)))
    return failure();
  if (int64_t count = sizeOf(getValues(), rank - 1), all = sizeOf(getInput(), rank - 1); count > all)
    return emitOpError() << "chooses " << count << " of " << all << " elements";
  return success();
}

ShardingRule TopKOp::getShardingRule() {
  RuleBuilder builder(*this);
  int last = int(rankOf(getInput())) - 1;
  for (int d = 0; d < last; ++d)
    builder.add({operandDim(0, d), resultDim(0, d), resultDim(1, d)});
  builder.add(operandDim(0, last), FactorKind::NeedReplication);
  builder.add({resultDim(0, last), resultDim(1, last)}, FactorKind::NeedReplication);
  return builder.rule;
}

OpCost TopKOp::getCost() {
  return streamingCost(*this, numElements(getInput()) * double(typeOf(getValues()).getShape().back()));
}

LogicalResult TopKOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  const ReferenceTensor &input = operands[0];
  ReferenceTensor values(getValues().getType()), indices(getIndices().getType());
  int64_t size = input.shape.back(), count = values.shape.back();
  std::vector<int64_t> order(static_cast<size_t>(size));
  for (int64_t row = 0; row < input.size() / size; ++row) {
    const double *x = &input.f[size_t(row * size)];
    for (int64_t i = 0; i < size; ++i)
      order[size_t(i)] = i;
    auto before = [&](int64_t a, int64_t b) {
      bool anyNaN = std::isnan(x[a]) || std::isnan(x[b]);
      if (anyNaN && std::isnan(x[a]) != std::isnan(x[b]))
        return std::isnan(x[a]);
      if (!anyNaN && float(x[a]) != float(x[b]))
        return float(x[a]) > float(x[b]);
      return a < b;
    };
    std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
    for (int64_t j = 0; j < count; ++j) {
      values.f[size_t(row * count + j)] = x[order[size_t(j)]];
      indices.i[size_t(row * count + j)] = order[size_t(j)];
    }
  }
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  return success();
}

//===----------------------------------------------------------------------===//
// What ops by expert share
//===----------------------------------------------------------------------===//

int64_t tessera::graph::allExperts(Value rows) {
  SmallVector<int64_t> shape = dist::globalShape(typeOf(rows));
  return shape[shape.size() - 2];
}

/// `ids` are [n..., k] where `rows` are [n..., e, d].
static LogicalResult verifyIds(Operation *op, NamedValue ids, NamedValue rows) {
  int64_t tokens = rankOf(rows.value) - 2;
  if (tokens < 1)
    return op->emitOpError() << rows.name << " has " << rankOf(rows.value)
                             << " dimensions, expected 3 or more (tokens..., expert, elements)";
  if (failed(expectRank(op, ids, tokens + 1)))
    return failure();
  return expectSameSizes(op, ids, 0, rows, 0, tokens);
}

/// Sums are in float32.
static LogicalResult expectNoF64(Operation *op, ArrayRef<NamedValue> values) {
  for (NamedValue value : values)
    if (typeOf(value.value).getElementType().isF64())
      return op->emitOpError() << value.name << " is f64, and this op computes in float32; cast it before";
  return success();
}

/// `weights` has a number for each of `ids`.
static LogicalResult verifyChoiceWeights(Operation *op, NamedValue weights, NamedValue ids) {
  int64_t rank = rankOf(ids.value);
  if (failed(expectRank(op, weights, rank)))
    return failure();
  return expectSameSizes(op, weights, 0, ids, 0, rank);
}

static double bytesOfElement(Value value) { return double(typeOf(value).getElementTypeBitWidth()) / 8; }

/// Chosen rows of `rows` [n..., e, d], an op's operand or result, at even routing: as many for each expert.
static double evenRows(Value rows, Value ids) {
  ArrayRef<int64_t> shape = typeOf(rows).getShape();
  double tokens = 1;
  for (int64_t n : shape.drop_back(2))
    tokens *= double(n);
  int64_t dim = int64_t(shape.size()) - 2, here = shape[size_t(dim)];
  int64_t all = allExperts(rows);
  return tokens * double(std::min(typeOf(ids).getShape().back(), all)) * double(here) / double(all);
}

/// Whether choice `j` of the token whose ids begin at `ids` counts: no choice before is the same.
static bool countsFirst(const int64_t *ids, int64_t j) { return std::find(ids, ids + j, ids[j]) == ids + j; }

/// Calls visit(token, choice, expert) for every choice of an expert that this rank has: experts
/// [offset, offset + count) and below `all`; `expert` counts from `offset`.
static void forEachChoice(const ReferenceTensor &ids, int64_t offset, int64_t count, int64_t all,
                          llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) {
  int64_t choices = ids.shape.back(), known = std::min(count, all - offset);
  for (int64_t token = 0; token < ids.size() / choices; ++token)
    for (int64_t j = 0; j < choices; ++j) {
      const int64_t *own = &ids.i[size_t(token * choices)];
      if (int64_t expert = own[j] - offset; expert >= 0 && expert < known && countsFirst(own, j))
        visit(token, j, expert);
    }
}

//===----------------------------------------------------------------------===//
// dispatch
//===----------------------------------------------------------------------===//

LogicalResult DispatchOp::verify() {
  NamedValue input{"input", getInput()}, ids{"ids", getIds()}, result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(verifyIds(*this, ids, result)) ||
      failed(expectNoF64(*this, {input, result})))
    return failure();
  if (Value given = getWeights()) {
    NamedValue weights{"weights", given};
    if (failed(expectNoF64(*this, {weights})) || failed(verifyChoiceWeights(*this, weights, ids)))
      return failure();
  } else if (failed(expectSameElements(*this, input, result))) {
    return failure();
  }
  int64_t tokens = rankOf(getResult()) - 2;
  if (failed(expectRank(*this, input, tokens + 1)) ||
      failed(expectSameSizes(*this, input, 0, result, 0, tokens)))
    return failure();
  return expectSameSize(*this, input, tokens, result, tokens + 1);
}

ShardingRule DispatchOp::getShardingRule() {
  RuleBuilder builder(*this);
  int tokens = int(rankOf(getInput())) - 1;
  /// With the same dimension of the weights, if there are any.
  auto ofChoices = [&](SmallVector<TensorDim> places, int d) {
    if (getWeights())
      places.push_back(operandDim(2, d));
    return places;
  };
  for (int d = 0; d < tokens; ++d)
    builder.add(ofChoices({operandDim(0, d), operandDim(1, d), resultDim(0, d)}, d));
  builder.rule.offsetAware.push_back(builder.add(resultDim(0, tokens)));
  builder.add({operandDim(0, tokens), resultDim(0, tokens + 1)});
  builder.add(ofChoices({operandDim(1, tokens)}, tokens), FactorKind::NeedReplication);
  builder.rule.linear = {{0}};
  if (getWeights())
    builder.rule.linear.push_back({2});
  return builder.rule;
}

OpCost DispatchOp::getCost() {
  double elements = evenRows(getResult(), getIds()) * double(typeOf(getInput()).getShape().back());
  double read = elements * bytesOfElement(getInput()) + tensorBytes(getIds().getType());
  if (getWeights())
    read += tensorBytes(getWeights().getType());
  return {getWeights() ? elements : 0, read, elements * bytesOfElement(getResult())};
}

LogicalResult DispatchOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &input = operands[0];
  ReferenceTensor result(getResult().getType());
  int dim = int(result.rank()) - 2;
  int64_t experts = result.shape[size_t(dim)], row = result.shape.back(), choices = operands[1].shape.back();
  forEachChoice(operands[1], context.offset(getResult(), dim), experts, context.globalSize(getResult(), dim),
                [&](int64_t token, int64_t j, int64_t expert) {
                  double weight = getWeights() ? operands[2].f[size_t(token * choices + j)] : 1;
                  for (int64_t d = 0; d < row; ++d)
                    result.f[size_t((token * experts + expert) * row + d)] =
                        weight * input.f[size_t(token * row + d)];
                });
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// expert_linear
//===----------------------------------------------------------------------===//

LogicalResult ExpertLinearOp::verify() {
  NamedValue rows{"rows", getRows()}, weight{"weight", getWeight()}, ids{"ids", getIds()},
      result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(verifyIds(*this, ids, rows)) ||
      failed(expectNoF64(*this, {rows, weight, result})) || failed(expectRank(*this, weight, 3)))
    return failure();
  int64_t rank = rankOf(getRows());
  if (failed(expectSameSize(*this, weight, 0, rows, rank - 2)) ||
      failed(expectSameSize(*this, weight, inDim(), rows, rank - 1)) ||
      failed(expectRank(*this, result, rank)) || failed(expectSameSizes(*this, result, 0, rows, 0, rank - 1)))
    return failure();
  return expectSameSize(*this, result, rank - 1, weight, outDim());
}

ShardingRule ExpertLinearOp::getShardingRule() {
  RuleBuilder builder(*this);
  int tokens = int(rankOf(getRows())) - 2;
  for (int d = 0; d < tokens; ++d)
    builder.add({operandDim(0, d), operandDim(2, d), resultDim(0, d)});
  builder.rule.offsetAware.push_back(
      builder.add({operandDim(0, tokens), operandDim(1, 0), resultDim(0, tokens)}));
  builder.add({operandDim(1, int(outDim())), resultDim(0, tokens + 1)});
  builder.add({operandDim(0, tokens + 1), operandDim(1, int(inDim()))}, FactorKind::Reduction);
  builder.add(operandDim(2, tokens), FactorKind::NeedReplication);
  builder.rule.linear = {{0}, {1}};
  return builder.rule;
}

OpCost ExpertLinearOp::getCost() {
  double rows = evenRows(getRows(), getIds()), in = double(sizeOf(getWeight(), inDim())),
         out = double(sizeOf(getWeight(), outDim()));
  // Of few rows each may have an expert of its own; weights of the others are not read.
  double used = std::min(double(sizeOf(getWeight(), 0)), rows);
  double read = used * in * out * bytesOfElement(getWeight()) + rows * in * bytesOfElement(getRows());
  return {2 * rows * in * out, read + tensorBytes(getIds().getType()),
          rows * out * bytesOfElement(getResult())};
}

LogicalResult ExpertLinearOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &rows = operands[0], &weight = operands[1];
  ReferenceTensor result(getResult().getType());
  int64_t experts = weight.shape[0], out = weight.shape[size_t(outDim())], in = weight.shape[size_t(inDim())];
  forEachChoice(operands[2], context.offset(getWeight(), 0), experts, context.globalSize(getWeight(), 0),
                [&](int64_t token, int64_t, int64_t expert) {
                  int64_t row = token * experts + expert;
                  if (!getTransposed())
                    for (int64_t o = 0; o < out; ++o)
                      result.f[size_t(row * out + o)] =
                          dot(&rows.f[size_t(row * in)], &weight.f[size_t((expert * out + o) * in)], in);
                  else
                    for (int64_t i = 0; i < in; ++i)
                      for (int64_t o = 0; o < out; ++o)
                        result.f[size_t(row * out + o)] +=
                            rows.f[size_t(row * in + i)] * weight.f[size_t((expert * in + i) * out + o)];
                });
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// expert_outer
//===----------------------------------------------------------------------===//

LogicalResult ExpertOuterOp::verify() {
  NamedValue lhs{"lhs", getLhs()}, rhs{"rhs", getRhs()}, ids{"ids", getIds()}, result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(verifyIds(*this, ids, lhs)) ||
      failed(expectNoF64(*this, {lhs, rhs, result})) || failed(expectRank(*this, result, 3)))
    return failure();
  int64_t rank = rankOf(getLhs());
  if (failed(expectRank(*this, rhs, rank)) || failed(expectSameSizes(*this, rhs, 0, lhs, 0, rank - 1)) ||
      failed(expectSameSizes(*this, result, 0, lhs, rank - 2, 2)))
    return failure();
  return expectSameSize(*this, result, 2, rhs, rank - 1);
}

ShardingRule ExpertOuterOp::getShardingRule() {
  RuleBuilder builder(*this);
  int tokens = int(rankOf(getLhs())) - 2;
  for (int d = 0; d < tokens; ++d)
    builder.add({operandDim(0, d), operandDim(1, d), operandDim(2, d)}, FactorKind::Reduction);
  builder.rule.offsetAware.push_back(
      builder.add({operandDim(0, tokens), operandDim(1, tokens), resultDim(0, 0)}));
  builder.add({operandDim(0, tokens + 1), resultDim(0, 1)});
  builder.add({operandDim(1, tokens + 1), resultDim(0, 2)});
  builder.add(operandDim(2, tokens), FactorKind::NeedReplication);
  builder.rule.linear = {{0}, {1}};
  return builder.rule;
}

OpCost ExpertOuterOp::getCost() {
  double rows = evenRows(getLhs(), getIds()), a = double(sizeOf(getResult(), 1)),
         b = double(sizeOf(getResult(), 2));
  double read = rows * (a * bytesOfElement(getLhs()) + b * bytesOfElement(getRhs()));
  return {2 * rows * a * b, read + tensorBytes(getIds().getType()), tensorBytes(getResult().getType())};
}

LogicalResult ExpertOuterOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &lhs = operands[0], &rhs = operands[1];
  ReferenceTensor result(getResult().getType());
  int dim = int(lhs.rank()) - 2;
  int64_t experts = result.shape[0], m = result.shape[1], n = result.shape[2];
  forEachChoice(operands[2], context.offset(getLhs(), dim), experts, context.globalSize(getLhs(), dim),
                [&](int64_t token, int64_t, int64_t expert) {
                  int64_t row = token * experts + expert;
                  for (int64_t i = 0; i < m; ++i)
                    for (int64_t j = 0; j < n; ++j)
                      result.f[size_t((expert * m + i) * n + j)] +=
                          lhs.f[size_t(row * m + i)] * rhs.f[size_t(row * n + j)];
                });
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// combine
//===----------------------------------------------------------------------===//

LogicalResult CombineOp::verify() {
  NamedValue rows{"rows", getRows()}, ids{"ids", getIds()}, weights{"weights", getWeights()},
      result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(verifyIds(*this, ids, rows)) ||
      failed(expectNoF64(*this, {rows, weights, result})))
    return failure();
  int64_t tokens = rankOf(getRows()) - 2;
  if (failed(verifyChoiceWeights(*this, weights, ids)) || failed(expectRank(*this, result, tokens + 1)) ||
      failed(expectSameSizes(*this, result, 0, rows, 0, tokens)))
    return failure();
  return expectSameSize(*this, result, tokens, rows, tokens + 1);
}

ShardingRule CombineOp::getShardingRule() {
  RuleBuilder builder(*this);
  int tokens = int(rankOf(getIds())) - 1;
  for (int d = 0; d < tokens; ++d)
    builder.add({operandDim(0, d), operandDim(1, d), operandDim(2, d), resultDim(0, d)});
  // Every rank goes over all ids, and adds nothing for those of others: padding is never asked for.
  int experts = builder.add(operandDim(0, tokens), FactorKind::Reduction);
  builder.rule.offsetAware.push_back(experts);
  builder.rule.lookedUp.push_back(experts);
  builder.add({operandDim(0, tokens + 1), resultDim(0, tokens)});
  builder.add({operandDim(1, tokens), operandDim(2, tokens)}, FactorKind::NeedReplication);
  builder.rule.linear = {{0}, {2}};
  return builder.rule;
}

OpCost CombineOp::getCost() {
  double row = double(typeOf(getRows()).getShape().back()), rows = evenRows(getRows(), getIds());
  double read = rows * row * bytesOfElement(getRows());
  return {2 * rows * row, read + tensorBytes(getIds().getType()) + tensorBytes(getWeights().getType()),
          tensorBytes(getResult().getType())};
}

LogicalResult CombineOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &rows = operands[0], &weights = operands[2];
  ReferenceTensor result(getResult().getType());
  int dim = int(rows.rank()) - 2;
  int64_t experts = rows.shape[size_t(dim)], size = rows.shape.back(), choices = weights.shape.back();
  forEachChoice(operands[1], context.offset(getRows(), dim), experts, context.globalSize(getRows(), dim),
                [&](int64_t token, int64_t j, int64_t expert) {
                  double weight = weights.f[size_t(token * choices + j)];
                  for (int64_t d = 0; d < size; ++d)
                    result.f[size_t(token * size + d)] +=
                        weight * rows.f[size_t((token * experts + expert) * size + d)];
                });
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// chosen_dot
//===----------------------------------------------------------------------===//

LogicalResult ChosenDotOp::verify() {
  NamedValue input{"input", getInput()}, rows{"rows", getRows()}, ids{"ids", getIds()},
      result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(verifyIds(*this, ids, rows)) ||
      failed(expectNoF64(*this, {input, rows, result})) || failed(verifyChoiceWeights(*this, result, ids)))
    return failure();
  int64_t tokens = rankOf(getRows()) - 2;
  if (failed(expectRank(*this, input, tokens + 1)) ||
      failed(expectSameSizes(*this, input, 0, rows, 0, tokens)))
    return failure();
  return expectSameSize(*this, input, tokens, rows, tokens + 1);
}

ShardingRule ChosenDotOp::getShardingRule() {
  RuleBuilder builder(*this);
  int tokens = int(rankOf(getIds())) - 1;
  for (int d = 0; d < tokens; ++d)
    builder.add({operandDim(0, d), operandDim(1, d), operandDim(2, d), resultDim(0, d)});
  // As for `combine`: of others' experts a rank says zero, and padding is never asked for.
  int experts = builder.add(operandDim(1, tokens), FactorKind::Reduction);
  builder.rule.offsetAware.push_back(experts);
  builder.rule.lookedUp.push_back(experts);
  builder.add({operandDim(0, tokens), operandDim(1, tokens + 1)}, FactorKind::Reduction);
  builder.add({operandDim(2, tokens), resultDim(0, tokens)}, FactorKind::NeedReplication);
  builder.rule.linear = {{0}, {1}};
  return builder.rule;
}

OpCost ChosenDotOp::getCost() {
  double elements = evenRows(getRows(), getIds()) * double(typeOf(getRows()).getShape().back());
  double read = elements * bytesOfElement(getRows()) + tensorBytes(getInput().getType());
  return {2 * elements, read + tensorBytes(getIds().getType()), tensorBytes(getResult().getType())};
}

LogicalResult ChosenDotOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &input = operands[0], &rows = operands[1];
  ReferenceTensor result(getResult().getType());
  int dim = int(rows.rank()) - 2;
  int64_t experts = rows.shape[size_t(dim)], size = rows.shape.back(), choices = result.shape.back();
  forEachChoice(operands[2], context.offset(getRows(), dim), experts, context.globalSize(getRows(), dim),
                [&](int64_t token, int64_t j, int64_t expert) {
                  result.f[size_t(token * choices + j)] =
                      dot(&input.f[size_t(token * size)], &rows.f[size_t((token * experts + expert) * size)],
                          size);
                });
  results.push_back(std::move(result));
  return success();
}
