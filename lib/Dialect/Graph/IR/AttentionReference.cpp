//===- AttentionReference.cpp - Reference meaning of attention ------------===//
#include "Detail.h"

#include "tessera/runtime/core/CountedRandom.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

namespace {
/// One query of one head, and the keys that it sees: [begin, end).
struct Query {
  int64_t row;             ///< of [batch, seq, kv_heads, group]
  int64_t batch, head;     ///< kv_head
  int64_t begin, end;      ///< empty: it sees nothing
  ArrayRef<double> scores; ///< of all places of keys; those of the keys from begin to end are set
  int64_t ring = 0;        ///< key j stands at j mod this; 0: at j

  int64_t place(int64_t j) const { return ring ? j % ring : j; }
  double score(int64_t j) const { return scores[size_t(place(j))]; }
};

/// Attention's operands and how scores are made of them.
class Attention {
public:
  template <typename OpT>
  Attention(OpT op, Tensors operands)
      : q(operands[0]), k(operands[1]), v(operands[2]), positions(operands[3]), width(q.shape[4]),
        valueWidth(v.shape[3]), context(k.shape[1]), heads(q.shape[2]),
        scale(op.getScale().convertToDouble()),
        softcap(op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0),
        window(op.getWindow() ? std::optional<int64_t>(int64_t(*op.getWindow())) : std::nullopt) {
    if (op.getDropKeys()) {
      dropKeys = &operands[operands.size() - 2];
      dropShare = float(operands.back().f[0]);
    }
  }

  /// What the weight of key j is multiplied with once the weights are summed up.
  double kept(const Query &query, int64_t j) const {
    if (!dropKeys)
      return 1;
    uint32_t word = runtime::randomWord(uint64_t(dropKeys->i[size_t(query.row)]), uint32_t(j));
    return word < runtime::dropThreshold(dropShare) ? 0 : 1 / (1 - double(dropShare));
  }

  /// Number of the key, or value, of position j of `query`'s row and head.
  int64_t key(const Query &query, int64_t j) const {
    int64_t place = query.ring ? query.place(j) : table.place(query.batch, j);
    return (query.batch * context + place) * heads + query.head;
  }

  void forEachQuery(llvm::function_ref<void(const Query &)> visit) const {
    std::vector<double> scores(size_t(context), 0.0);
    int64_t seq = q.shape[1], group = q.shape[3];
    for (int64_t row = 0, rows = product(q.shape, 0, 4); row < rows; ++row) {
      int64_t token = row / (heads * group), numbers = ranges() ? 2 : 1,
              position = positions.i[token * numbers];
      Query query{row, token / seq, row / group % heads, 0, 0, scores, isRing ? context : 0};
      query.end = isRing ? position + 1 : std::min(position + 1, context);
      query.begin = window ? std::max<int64_t>(position - *window + 1, 0) : 0;
      if (ranges())
        query.begin = std::max(query.begin, positions.i[token * 2 + 1]);
      query.end = std::max(query.begin, query.end);
      for (int64_t j = query.begin; j < query.end; ++j) {
        double score = scale * dot(&q.f[row * width], &k.f[key(query, j) * width], width);
        scores[size_t(query.place(j))] = softcap ? softcap * std::tanh(score / softcap) : score;
      }
      visit(query);
    }
  }

  /// The gradient of q . k where that of the score is `slope`.
  double slope(double score, double slope) const {
    double bent = softcap ? score / softcap : 0;
    return slope * (1 - bent * bent) * scale;
  }

  const ReferenceTensor &q, &k, &v, &positions;
  int64_t width, valueWidth, context, heads;
  PageTable table;
  bool isRing = false; ///< key j stands at j mod context

private:
  /// Positions say the last key in sight and the first.
  bool ranges() const { return positions.shape.size() == 3; }

  double scale, softcap;
  std::optional<int64_t> window;
  const ReferenceTensor *dropKeys = nullptr; ///< of rows; null: no weight is dropped
  float dropShare = 0;
};
} // namespace

LogicalResult AttentionOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  Attention attention(*this, operands);
  if (getPages())
    attention.table = {&operands[4], int64_t(*getPage())};
  attention.isRing = getRing();
  ReferenceTensor result(getResult().getType()), logSumExp;
  if (getLogSumExp())
    logSumExp = ReferenceTensor(cast<RankedTensorType>(getLogSumExp().getType()));
  // One number for each head of [kv_heads, group].
  const ReferenceTensor *sinks = getSinks() ? &operands[getSinksMutable()[0].getOperandNumber()] : nullptr;
  attention.forEachQuery([&](const Query &query) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double sink = sinks ? sinks->f[size_t(query.row % sinks->size())] : -infinity, largest = sink, sum = 0;
    for (int64_t j = query.begin; j < query.end; ++j)
      largest = std::max(largest, query.score(j));
    for (int64_t j = query.begin; j < query.end; ++j)
      sum += std::exp(query.score(j) - largest);
    if (sink != -infinity)
      sum += std::exp(sink - largest);
    if (getLogSumExp())
      logSumExp.f[query.row] = largest != -infinity ? largest + std::log(sum) : -infinity;
    double *out = &result.f[query.row * attention.valueWidth];
    for (int64_t j = query.begin; j < query.end; ++j) {
      double weight = std::exp(query.score(j) - largest) / sum * attention.kept(query, j);
      const double *value = &attention.v.f[attention.key(query, j) * attention.valueWidth];
      for (int64_t i = 0; i < attention.valueWidth; ++i)
        out[i] += weight * value[i];
    }
  });
  results.push_back(std::move(result));
  if (getLogSumExp())
    results.push_back(std::move(logSumExp));
  return success();
}

/// Visits every query and key that it sees with the weight p, dropped from, and the gradient ds of q . k.
static void
forEachWeight(const Attention &attention, Tensors operands,
              llvm::function_ref<void(const Query &, int64_t key, double weight, double slope)> visit) {
  const ReferenceTensor &gradient = operands[4], &logSumExp = operands[5], &delta = operands[6];
  int64_t width = attention.valueWidth;
  attention.forEachQuery([&](const Query &query) {
    for (int64_t j = query.begin; j < query.end; ++j) {
      int64_t key = attention.key(query, j);
      double weight = std::exp(query.score(j) - logSumExp.f[query.row]);
      double along = dot(&gradient.f[query.row * width], &attention.v.f[key * width], width);
      double kept = attention.kept(query, j), slope = weight * (kept * along - delta.f[query.row]);
      visit(query, key, kept * weight, attention.slope(query.score(j), slope));
    }
  });
}

/// to[row `at`] += by * from[row `of`]
static void addRow(ReferenceTensor &to, int64_t at, double by, const ReferenceTensor &from, int64_t of,
                   int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    to.f[at * width + i] += by * from.f[of * width + i];
}

LogicalResult AttentionQueryGradientOp::evaluate(Tensors operands, const ReferenceContext &,
                                                 Results &results) {
  Attention attention(*this, operands);
  ReferenceTensor result(getResult().getType());
  forEachWeight(attention, operands, [&](const Query &query, int64_t key, double, double slope) {
    addRow(result, query.row, slope, attention.k, key, attention.width);
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult AttentionKeyValueGradientOp::evaluate(Tensors operands, const ReferenceContext &,
                                                    Results &results) {
  Attention attention(*this, operands);
  ReferenceTensor keys(getKeyGradient().getType()), values(getValueGradient().getType());
  forEachWeight(attention, operands, [&](const Query &query, int64_t key, double weight, double slope) {
    addRow(keys, key, slope, attention.q, query.row, attention.width);
    addRow(values, key, weight, operands[4], query.row, attention.valueWidth);
  });
  results.push_back(std::move(keys));
  results.push_back(std::move(values));
  return success();
}
