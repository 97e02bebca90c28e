//===- NeuralReference.cpp - Reference meaning of neural ops --------------===//
#include "Detail.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

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

/// The elements of `tensor`, whose dimensions are `own`, in the order `order`; letters that it lacks say
/// nothing.
static std::vector<double> inOrder(const ReferenceTensor &tensor, StringRef own, StringRef order) {
  SmallVector<int64_t> all = tensor.strides(), shape, strides;
  for (char letter : order)
    if (size_t at = own.find(letter); at != StringRef::npos) {
      shape.push_back(tensor.shape[at]);
      strides.push_back(all[at]);
    }
  std::vector<double> values;
  values.reserve(size_t(tensor.size()));
  Odometer at(shape);
  do {
    int64_t from = 0;
    for (auto [d, i] : llvm::enumerate(at.index))
      from += i * strides[d];
    values.push_back(tensor.f[from]);
  } while (at.next());
  return values;
}

LogicalResult EinsumOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  ReferenceTensor result(getResult().getType());
  std::string summed = getSummedLetters();
  // What is summed over goes last, so that each element of the result is a product of two rows.
  std::vector<double> x = inOrder(operands[0], getLhsLetters(), (getResultLetters() + summed).str()),
                      y = inOrder(operands[1], getRhsLetters(), (getResultLetters() + summed).str());
  int64_t inner = 1;
  for (char letter : summed)
    inner *= operands[0].shape[getLhsLetters().find(letter)];
  auto strides = [&](StringRef own) {
    SmallVector<int64_t> mine(getResultLetters().size(), 0);
    int64_t stride = inner;
    for (int64_t d = int64_t(mine.size()) - 1; d >= 0; --d)
      if (own.contains(getResultLetters()[size_t(d)])) {
        mine[size_t(d)] = stride;
        stride *= result.shape[size_t(d)];
      }
    return mine;
  };
  SmallVector<int64_t> lhs = strides(getLhsLetters()), rhs = strides(getRhsLetters());
  Odometer at(result.shape);
  int64_t z = 0;
  do {
    int64_t row = 0, column = 0;
    for (auto [d, i] : llvm::enumerate(at.index))
      row += i * lhs[d], column += i * rhs[d];
    result.f[z++] = dot(&x[row], &y[column], inner);
  } while (at.next());
  results.push_back(std::move(result));
  return success();
}

LogicalResult RmsNormOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &x = operands[0], &weight = operands[1];
  ReferenceTensor result(getResult().getType());
  int64_t n = weight.size();
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

/// `x` as an integer: the nearest, or where the interpreter rounds at random, either one beside it.
static double asCode(double x, const ReferenceContext &context) {
  constexpr double between = 1 + 0x1p-24; // of two numbers of float32
  double side = context.inner(between);
  return side == between ? std::nearbyint(x) : side < between ? std::floor(x) : std::ceil(x);
}

/// `rows`, as blocks of a cache give them back (HeldAttr.h).
static void roundToCacheBlocks(ReferenceTensor &rows, const ReferenceContext &context) {
  size_t blocks = rows.f.size() / size_t(kCacheBlock);
  ReferenceTensor scales(Float16Type::get(rows.elementType.getContext()), {int64_t(blocks)});
  for (auto [block, scale] : llvm::enumerate(scales.f))
    for (double x : ArrayRef(rows.f).slice(block * size_t(kCacheBlock), size_t(kCacheBlock)))
      scale = std::isnan(x) ? x : std::max(scale, std::fabs(x) / 127);
  scales.roundToType();
  for (auto [i, x] : llvm::enumerate(rows.f)) {
    double scale = scales.f[i / size_t(kCacheBlock)];
    double code = scale == 0 ? 0 : asCode(x / scale, context);
    x = scale * std::clamp(code, -127.0, 127.0);
  }
}

LogicalResult CacheUpdateOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &positions = operands[3];
  ReferenceTensor update = operands[1];
  if ((*this)->hasAttr(kHeldAttr))
    roundToCacheBlocks(update, context);
  ReferenceTensor result = operands[0];
  int64_t layers = result.shape[0], batch = result.shape[1], places = result.shape[2],
          row = product(result.shape, 3);
  int64_t seq = update.shape[1], layer = operands[2].i[0];
  if (layer < 0 || layer >= layers)
    return emitOpError() << "writes layer " << layer << " of " << layers;
  int64_t offset = context.offset(getCache(), 2);
  PageTable table;
  int64_t end = offset + places; // of positions that have a place
  if (getPages()) {
    table = {&operands[4], int64_t(*getPage())};
    end = operands[4].shape[1] * table.page;
  }
  int64_t ring = getRing() ? context.globalSize(getCache(), 2) : 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < seq; ++s) {
      int64_t position = positions.i[b * seq + s];
      if (position < 0 || (position >= end && !ring))
        continue;
      int64_t place = (ring ? position % ring : table.place(b, position)) - offset;
      if (place >= 0 && place < places)
        std::copy_n(update.f.begin() + (b * seq + s) * row, row,
                    result.f.begin() + ((layer * batch + b) * places + place) * row);
    }
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
