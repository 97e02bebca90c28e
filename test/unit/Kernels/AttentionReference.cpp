#include "AttentionReference.h"

#include <cmath>

namespace tessera::test {

AttentionShape make(int64_t batch, int64_t seq, int64_t context, int64_t kvHeads, int64_t group,
                    int64_t headDim) {
  AttentionShape shape;
  shape.batch = batch;
  shape.seq = seq;
  shape.context = context;
  shape.kvHeads = kvHeads;
  shape.group = group;
  shape.headDim = shape.valueDim = headDim;
  shape.scale = 1 / std::sqrt(double(headDim));
  return shape;
}

AttentionShape with(AttentionShape shape, std::function<void(AttentionShape &)> change) {
  change(shape);
  return shape;
}

AttentionPositions::AttentionPositions(const AttentionShape &shape, int64_t first, int64_t base,
                                       int64_t inertFrom)
    : rows(shape.batch * shape.seq), largest(shape.batch, -1), base(base) {
  for (size_t token = 0; token < rows.size(); ++token) {
    int64_t batch = int64_t(token) / shape.seq, i = int64_t(token) % shape.seq;
    bool inert = inertFrom >= 0 && i >= inertFrom;
    rows[token] = inert ? -1 : int32_t(std::max<int64_t>(first + i - 5 * batch, 0));
    largest[batch] = std::max<int64_t>(largest[batch], rows[token]);
    given.push_back(rows[token]);
    if (!shape.firsts)
      continue;
    firsts.push_back(std::max<int32_t>(rows[token], 0) / 7 * 7); // documents of seven tokens
    given.push_back(firsts.back());
  }
}

/// The position of the key at place `j`, for a query at `position`: of a ring the last one up to its own that
/// stands there.
static int64_t keyPosition(const AttentionShape &s, int64_t base, int64_t position, int64_t j) {
  return s.ring ? position - ((position - j) % s.context + s.context) % s.context : base + j;
}

AttentionResults attentionReference(const AttentionShape &s, const AttentionPositions &positions,
                                    const float *q, const float *k, const float *v, int64_t layer) {
  AttentionResults result;
  result.out.assign(s.batch * s.seq * s.kvHeads * s.group * s.valueDim, 0.0);
  for (int64_t row = 0; row < s.batch * s.seq * s.kvHeads * s.group; ++row) {
    int64_t h = row / s.group % s.kvHeads, token = row / s.group / s.kvHeads, batch = token / s.seq;
    int64_t position = positions.rows[token];
    auto key = [&](int64_t j) { return ((layer * s.batch + batch) * s.context + j) * s.kvHeads + h; };
    auto visible = [&](int64_t j) {
      int64_t at = keyPosition(s, positions.base, position, j);
      return position >= 0 && at >= 0 && at <= position && (!s.window || at > position - *s.window) &&
             (!s.firsts || at >= positions.firsts[token]);
    };
    std::vector<double> p(s.context, 0);
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < s.context; ++j) {
      if (!visible(j))
        continue;
      for (int64_t d = 0; d < s.headDim; ++d)
        p[j] += double(q[row * s.headDim + d]) * k[key(j) * s.headDim + d];
      p[j] *= s.scale;
      if (s.softcap)
        p[j] = *s.softcap * std::tanh(p[j] / *s.softcap);
      top = std::max(top, p[j]);
    }
    for (int64_t j = 0; j < s.context; ++j)
      sum += p[j] = visible(j) ? std::exp(p[j] - top) : 0;
    result.logSumExp.push_back(sum > 0 ? top + std::log(sum) : -INFINITY);
    for (int64_t j = 0; j < s.context && sum > 0; ++j)
      for (int64_t d = 0; d < s.valueDim && visible(j); ++d)
        result.out[row * s.valueDim + d] += p[j] / sum * v[key(j) * s.valueDim + d];
  }
  return result;
}

/// Of a ring every place is somebody's once it went round: what none of the batch's windows reaches.
static bool isUnseen(const AttentionShape &s, const AttentionPositions &positions, int64_t batch, int64_t j) {
  if (!s.ring)
    return positions.base + j > positions.largest[batch];
  for (int64_t i = 0; i < s.seq; ++i) {
    int64_t position = positions.rows[batch * s.seq + i], at = keyPosition(s, 0, position, j);
    if (position >= 0 && at >= 0 && at > position - *s.window)
      return false;
  }
  return true;
}

void forUnseenKeys(const AttentionShape &s, const AttentionPositions &positions, int64_t layer,
                   const std::function<void(int64_t row)> &body) {
  for (int64_t l = 0; l < s.layers.value_or(1); ++l)
    for (int64_t batch = 0; batch < s.batch; ++batch)
      for (int64_t j = 0; j < s.context; ++j)
        if (l != layer || isUnseen(s, positions, batch, j))
          for (int64_t h = 0; h < s.kvHeads; ++h)
            body(((l * s.batch + batch) * s.context + j) * s.kvHeads + h);
}

} // namespace tessera::test
