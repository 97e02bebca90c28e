//===- NeuralReference.cpp - Reference meaning of neural ops --------------===//
#include "Detail.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// Sum of x[i] * y[i]. Several running sums: one alone waits for itself at every step.
static double dot(const double *x, const double *y, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k)
      sums[k] += x[i + k] * y[i + k];
  double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; i < n; ++i)
    sum += x[i] * y[i];
  return sum;
}

LogicalResult EmbeddingOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &table = operands[0], &ids = operands[1];
  ReferenceTensor result(getResult().getType());
  int64_t row = product(table.shape, 1), offset = context.offset(getTable(), 0);
  // Padding rows at the end of a shard are no rows of the table.
  int64_t rows = std::min(table.shape[0], context.globalSize(getTable(), 0) - offset);
  for (int64_t n = 0; n < ids.size(); ++n)
    if (int64_t id = ids.i[n] - offset; id >= 0 && id < rows)
      std::copy_n(table.f.begin() + id * row, row, result.f.begin() + n * row);
  results.push_back(std::move(result));
  return success();
}

LogicalResult ScatterAddOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &rows = operands[0], &ids = operands[1];
  ReferenceTensor result(getResult().getType());
  int64_t row = product(result.shape, 1), offset = context.offset(getResult(), 0);
  int64_t kept = std::min(result.shape[0], context.globalSize(getResult(), 0) - offset);
  for (int64_t n = 0; n < ids.size(); ++n)
    if (int64_t id = ids.i[n] - offset; id >= 0 && id < kept)
      for (int64_t j = 0; j < row; ++j)
        result.f[id * row + j] += rows.f[n * row + j];
  results.push_back(std::move(result));
  return success();
}

LogicalResult LinearOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &x = operands[0], &w = operands[1];
  ReferenceTensor result(getResult().getType());
  int64_t inner = product(w.shape, w.shape.size() - size_t(getContract()));
  int64_t rows = x.size() / inner, columns = w.size() / inner;
  // A block of weight rows stays in cache while all inputs pass over it.
  constexpr int64_t block = 16;
  for (int64_t begin = 0; begin < columns; begin += block)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = begin, end = std::min(begin + block, columns); c < end; ++c)
        result.f[r * columns + c] = dot(&x.f[r * inner], &w.f[c * inner], inner);
  results.push_back(std::move(result));
  return success();
}

LogicalResult EinsumOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  ReferenceTensor result(getResult().getType());
  // Loops over the result's dimensions, then over those summed; a letter moves a tensor that has it by its
  // stride.
  std::string letters = (getResultLetters() + getSummedLetters()).str();
  auto strides = [&](const ReferenceTensor &tensor, StringRef own) {
    SmallVector<int64_t> all = tensor.strides(), mine;
    for (char letter : letters)
      mine.push_back(own.contains(letter) ? all[own.find(letter)] : 0);
    return mine;
  };
  SmallVector<int64_t> shape = llvm::map_to_vector(letters, [&](char letter) {
    StringRef own = getLhsLetters();
    size_t at = own.find(letter);
    return at != StringRef::npos ? operands[0].shape[at] : operands[1].shape[getRhsLetters().find(letter)];
  });
  SmallVector<int64_t> lhs = strides(operands[0], getLhsLetters()),
                       rhs = strides(operands[1], getRhsLetters()), out = strides(result, getResultLetters());
  Odometer at(shape);
  do {
    int64_t x = 0, y = 0, z = 0;
    for (auto [d, i] : llvm::enumerate(at.index))
      x += i * lhs[d], y += i * rhs[d], z += i * out[d];
    result.f[z] += operands[0].f[x] * operands[1].f[y];
  } while (at.next());
  results.push_back(std::move(result));
  return success();
}

LogicalResult RmsNormOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &x = operands[0], &weight = operands[1];
  ReferenceTensor result(getResult().getType());
  int64_t n = x.shape.back();
  double eps = getEps().convertToDouble();
  for (int64_t row = 0; row < x.size(); row += n) {
    double scale = 1 / std::sqrt(dot(&x.f[row], &x.f[row], n) / double(n) + eps);
    for (int64_t i = 0; i < n; ++i)
      result.f[row + i] = x.f[row + i] * scale * weight.f[i];
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult LayerNormOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &x = operands[0], &weight = operands[1], &bias = operands[2];
  ReferenceTensor result(getResult().getType());
  int64_t n = x.shape.back();
  double eps = getEps().convertToDouble();
  for (int64_t row = 0; row < x.size(); row += n) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i)
      mean += x.f[row + i] / double(n);
    for (int64_t i = 0; i < n; ++i)
      variance += (x.f[row + i] - mean) * (x.f[row + i] - mean) / double(n);
    double scale = 1 / std::sqrt(variance + eps);
    for (int64_t i = 0; i < n; ++i)
      result.f[row + i] = (x.f[row + i] - mean) * scale * weight.f[i] + bias.f[i];
  }
  results.push_back(std::move(result));
  return success();
}

/// x[0..n) becomes exp(x - max) / sum.
static void softmaxRow(double *x, int64_t n) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i)
    largest = std::max(largest, x[i]);
  for (int64_t i = 0; i < n; ++i)
    sum += x[i] = std::exp(x[i] - largest);
  for (int64_t i = 0; i < n; ++i)
    x[i] /= sum;
}

LogicalResult SoftmaxOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result = operands[0];
  int64_t n = result.shape.back();
  for (int64_t row = 0; row < result.size(); row += n)
    softmaxRow(&result.f[row], n);
  results.push_back(std::move(result));
  return success();
}

LogicalResult CrossEntropyOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &logits = operands[0], &labels = operands[1];
  ReferenceTensor loss(getLoss().getType()), logSumExp(getLogSumExp().getType());
  int64_t n = logits.shape.back();
  for (int64_t row = 0; row < loss.size(); ++row) {
    const double *x = &logits.f[row * n];
    double largest = *std::max_element(x, x + n), sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += std::exp(x[i] - largest);
    logSumExp.f[row] = largest + std::log(sum);
    if (int64_t label = labels.i[row]; label >= 0 && label < n)
      loss.f[row] = logSumExp.f[row] - x[label];
  }
  results.push_back(std::move(loss));
  results.push_back(std::move(logSumExp));
  return success();
}

LogicalResult RopeOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &x = operands[0], &positions = operands[1];
  ReferenceTensor result = x;
  int64_t width = x.shape.back(), pairs = int64_t(getFrequencies().size());
  int64_t tokens = positions.size(), rows = x.size() / tokens / width; // rows: heads of one token
  bool half = getStyle() == RopeStyle::half;
  double magnitude = getMagnitude().convertToDouble();
  SmallVector<double> cosine(pairs), sine(pairs);
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t p = 0; p < pairs; ++p) {
      float angle = float(positions.i[token]) * float(getFrequencies()[p]);
      cosine[p] = double(float(std::cos(double(angle)))) * magnitude;
      sine[p] = double(float(std::sin(double(angle)))) * magnitude;
    }
    for (int64_t row = 0; row < rows; ++row) {
      int64_t at = (token * rows + row) * width;
      for (int64_t p = 0; p < pairs; ++p) {
        int64_t a = at + (half ? p : 2 * p), b = half ? a + pairs : a + 1;
        result.f[a] = x.f[a] * cosine[p] - x.f[b] * sine[p];
        result.f[b] = x.f[b] * cosine[p] + x.f[a] * sine[p];
      }
    }
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult AttentionOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2], &positions = operands[3];
  ReferenceTensor result(getResult().getType());
  int64_t batch = q.shape[0], seq = q.shape[1], heads = q.shape[2], group = q.shape[3], d = q.shape[4];
  int64_t context = k.shape[1], dv = v.shape[3];
  double scale = getScale().convertToDouble(), softcap = getSoftcap() ? getSoftcap()->convertToDouble() : 0;
  std::vector<double> scores(size_t(context), 0.0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < seq; ++s) {
      int64_t position = positions.i[b * seq + s];
      int64_t end = std::min(position + 1, context);
      int64_t begin = getWindow() ? std::max<int64_t>(position - int64_t(*getWindow()) + 1, 0) : 0;
      if (begin >= end) // sees nothing: 0
        continue;
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t g = 0; g < group; ++g) {
          int64_t row = ((b * seq + s) * heads + h) * group + g;
          for (int64_t j = begin; j < end; ++j) {
            double score = scale * dot(&q.f[row * d], &k.f[((b * context + j) * heads + h) * d], d);
            scores[j] = softcap ? softcap * std::tanh(score / softcap) : score;
          }
          softmaxRow(&scores[begin], end - begin);
          double *out = &result.f[row * dv];
          for (int64_t j = begin; j < end; ++j) {
            const double *value = &v.f[((b * context + j) * heads + h) * dv];
            for (int64_t i = 0; i < dv; ++i)
              out[i] += scores[j] * value[i];
          }
        }
    }
  results.push_back(std::move(result));
  return success();
}

LogicalResult CacheUpdateOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &update = operands[1], &positions = operands[3];
  ReferenceTensor result = operands[0];
  int64_t layers = result.shape[0], batch = result.shape[1], places = result.shape[2],
          row = product(result.shape, 3);
  int64_t seq = update.shape[1], layer = operands[2].i[0];
  if (layer < 0 || layer >= layers)
    return emitOpError() << "writes layer " << layer << " of " << layers;
  int64_t offset = context.offset(getCache(), 2);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < seq; ++s)
      if (int64_t place = positions.i[b * seq + s] - offset;
          positions.i[b * seq + s] >= 0 && place >= 0 && place < places)
        std::copy_n(update.f.begin() + (b * seq + s) * row, row,
                    result.f.begin() + ((layer * batch + b) * places + place) * row);
  results.push_back(std::move(result));
  return success();
}

/// float32 bits as an integer with the order of the floats; what is no number is above all.
static int32_t orderedBits(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (std::isnan(x))
    return 0x7fffffff;
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}

LogicalResult ArgMaxKeyOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &input = operands[0];
  ReferenceTensor result(getResult().getType());
  int64_t n = input.shape.back(), offset = context.offset(getInput(), int(rankOf(getInput())) - 1);
  for (int64_t row = 0; row < result.size(); ++row) {
    int64_t best = std::numeric_limits<int64_t>::min();
    for (int64_t j = 0; j < n; ++j) {
      int64_t low = int64_t(0x7fffffff) - (offset + j);
      best = std::max(best, int64_t(orderedBits(float(input.f[row * n + j]))) * (int64_t(1) << 32) + low);
    }
    result.i[row] = best;
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult ArgMaxIndexOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  for (int64_t j = 0; j < result.size(); ++j) {
    int64_t key = operands[0].i[j], high = key >> 32;
    bool finite = high >= -int64_t(kInfinityBits) && high < kInfinityBits;
    result.i[j] = finite ? int64_t(0x7fffffff) - (key & 0xffffffff) : -1;
  }
  results.push_back(std::move(result));
  return success();
}
