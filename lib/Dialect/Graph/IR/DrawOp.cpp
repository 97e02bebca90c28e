//===- DrawOp.cpp - Drawing tokens from logits ----------------------------===//
#include "Detail.h"

#include "tessera/runtime/core/CountedRandom.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

LogicalResult DrawOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  NamedValue logits{"logits", getLogits()};
  int64_t rows = rankOf(getLogits()) - 1;
  if (rows < 0)
    return emitOpError() << "logits have no dimension to draw from";
  if (getElementTypeOrSelf(getLogits().getType()).isF64())
    return emitOpError() << "logits are f64: they are drawn from as float32; cast them before";
  for (NamedValue row : {NamedValue{"stream", getStream()}, {"count", getCount()}, {"result", getResult()}})
    if (failed(expectRank(*this, row, rows)) || failed(expectSameSizes(*this, logits, 0, row, 0, rows)))
      return failure();
  for (NamedValue one : {NamedValue{"seed", getSeed()},
                         {"temperature", getTemperature()},
                         {"top_k", getTopK()},
                         {"top_p", getTopP()},
                         {"min_p", getMinP()}})
    if (failed(expectRank(*this, one, 0)))
      return failure();
  return success();
}

ShardingRule DrawOp::getShardingRule() {
  RuleBuilder builder(*this);
  int rows = int(rankOf(getResult()));
  for (int d = 0; d < rows; ++d)
    builder.add({operandDim(0, d), operandDim(1, d), operandDim(2, d), resultDim(0, d)});
  // Which token a number picks follows from all of the row.
  builder.add(operandDim(0, rows), FactorKind::NeedReplication);
  return builder.rule;
}

/// An exponential for each logit; what is kept of them is looked at a few times.
OpCost DrawOp::getCost() { return streamingCost(*this, 24 * numElements(getLogits())); }

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

/// The counted random number in [0, 1) of docs/Runtime.md, "Choosing tokens".
static double numberOf(uint64_t seed, uint64_t stream, uint64_t count) {
  return double(runtime::randomBits(seed, stream, count) >> 11) * 0x1p-53;
}

/// The ids that are left of a row, in the order in which they are gone through, by `weights`.
static std::vector<int64_t> candidates(ArrayRef<float> logits, ArrayRef<double> weights, int64_t topK,
                                       double topP, double minP) {
  std::vector<int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  if (topK <= 0 && topP >= 1 && minP <= 0)
    return ids;
  std::sort(ids.begin(), ids.end(),
            [&](int64_t a, int64_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  if (topK > 0 && topK < int64_t(ids.size()))
    ids.resize(topK);
  if (topP < 1) {
    double total = 0, kept = 0;
    for (int64_t id : ids)
      total += weights[id];
    size_t count = 0;
    while (count < ids.size() && (count == 0 || kept < topP * total))
      kept += weights[ids[count++]];
    ids.resize(count);
  }
  while (ids.size() > 1 && weights[ids.back()] < minP) // the likeliest one weighs 1
    ids.pop_back();
  return ids;
}

static int64_t drawToken(ArrayRef<float> logits, double number, double temperature, int64_t topK, double topP,
                         double minP) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float top = -infinity;
  for (float logit : logits) {
    if (!(logit < infinity))
      return -1;
    top = std::max(top, logit);
  }
  if (top == -infinity) // all ids are masked
    return -1;
  std::vector<double> weights;
  for (float logit : logits)
    weights.push_back(std::exp((double(logit) - double(top)) / temperature));
  std::vector<int64_t> ids = candidates(logits, weights, topK, topP, minP);
  double mass = 0, sum = 0;
  for (int64_t id : ids)
    mass += weights[id];
  int64_t last = ids.front();
  for (int64_t id : ids) {
    if (weights[id] == 0)
      continue;
    last = id;
    if ((sum += weights[id]) > number * mass)
      break;
  }
  return last;
}

LogicalResult DrawOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  const ReferenceTensor &logits = operands[0];
  double temperature = operands[4].f[0], topP = operands[6].f[0], minP = operands[7].f[0];
  if (!(temperature > 0) || !(topP > 0))
    return emitOpError() << "draws at temperature " << temperature << " and top_p " << topP
                         << "; both must be above 0";
  ReferenceTensor result(getResult().getType());
  int64_t vocab = logits.shape.back();
  for (int64_t row = 0; row < result.size(); ++row) {
    auto begin = logits.f.begin() + row * vocab;
    std::vector<float> single(begin, begin + vocab);
    double number =
        numberOf(uint64_t(operands[3].i[0]), uint64_t(operands[1].i[row]), uint64_t(operands[2].i[row]));
    result.i[row] = drawToken(single, number, temperature, operands[5].i[0], topP, minP);
  }
  results.push_back(std::move(result));
  return success();
}
