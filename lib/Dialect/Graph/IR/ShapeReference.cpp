//===- ShapeReference.cpp - Reference meaning of shape ops ----------------===//
#include "Detail.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

LogicalResult ConstantOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  auto fill = [](auto &to, auto values, bool splat, auto convert) {
    if (splat) {
      to.assign(to.size(), convert(*values.begin()));
      return;
    }
    size_t i = 0;
    for (const auto &value : values)
      to[i++] = convert(value);
  };
  ElementsAttr value = getValue();
  if (result.isFloat()) {
    auto values = value.tryGetValues<APFloat>();
    if (!values)
      return emitOpError() << "has a value whose elements cannot be read";
    fill(result.f, *values, value.isSplat(), [](APFloat x) {
      bool losesInfo;
      x.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      return x.convertToDouble();
    });
  } else {
    auto values = value.tryGetValues<APInt>();
    if (!values)
      return emitOpError() << "has a value whose elements cannot be read";
    fill(result.i, *values, value.isSplat(),
         [](const APInt &x) { return x.getBitWidth() == 1 ? int64_t(x.getZExtValue()) : x.getSExtValue(); });
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult IotaOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  int dim = int(getDim());
  int64_t offset = context.offset(getResult(), dim), inner = product(result.shape, dim + 1);
  for (int64_t j = 0, n = result.size(); j < n; ++j) {
    int64_t count = offset + j / inner % result.shape[dim];
    if (result.isFloat())
      result.f[j] = double(count);
    else
      result.i[j] = count;
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult CompareOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  CompareKind kind = getKind();
  return evaluateElementwise(*this, operands, results, [kind](ArrayRef<double> v) -> double {
    switch (kind) {
    case CompareKind::lt:
      return v[0] < v[1];
    case CompareKind::le:
      return v[0] <= v[1];
    case CompareKind::gt:
      return v[0] > v[1];
    case CompareKind::ge:
      return v[0] >= v[1];
    case CompareKind::eq:
      return v[0] == v[1];
    case CompareKind::ne:
      return v[0] != v[1];
    }
    llvm_unreachable("unknown comparison");
  });
}

LogicalResult SelectOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  return evaluateElementwise(*this, operands, results,
                             [](ArrayRef<double> v) -> double { return v[0] != 0 ? v[1] : v[2]; });
}

/// The same elements under the result's shape.
static LogicalResult sameElements(const ReferenceTensor &input, RankedTensorType type, Results &results) {
  results.push_back(input);
  results.back().shape.assign(type.getShape().begin(), type.getShape().end());
  return success();
}

LogicalResult ReshapeOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  return sameElements(operands[0], getResult().getType(), results);
}

LogicalResult NameOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  return sameElements(operands[0], getResult().getType(), results);
}

LogicalResult TransposeOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  SmallVector<int64_t> own = operands[0].strides(), strides;
  for (int64_t from : getPermutation())
    strides.push_back(own[from]);
  gatherStrided(operands[0], result, result.shape, strides, 0);
  results.push_back(std::move(result));
  return success();
}

LogicalResult BroadcastOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  SmallVector<int64_t> own = operands[0].strides(), strides(result.shape.size(), 0);
  for (auto [from, to] : llvm::enumerate(getDims()))
    strides[to] = own[from];
  gatherStrided(operands[0], result, result.shape, strides, 0);
  results.push_back(std::move(result));
  return success();
}

LogicalResult SliceOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  SmallVector<int64_t> strides = operands[0].strides();
  int64_t base = 0;
  for (auto [d, offset] : llvm::enumerate(getOffsets()))
    base += offset * strides[d];
  gatherStrided(operands[0], result, result.shape, strides, base);
  results.push_back(std::move(result));
  return success();
}

LogicalResult ReverseOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  ReferenceTensor result(getResult().getType());
  SmallVector<int64_t> strides = operands[0].strides();
  int64_t &stride = strides[getDim()], last = (operands[0].shape[getDim()] - 1) * stride;
  stride = -stride;
  gatherStrided(operands[0], result, result.shape, strides, last);
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConcatOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  size_t dim = getDim();
  int64_t outer = product(result.shape, 0, dim), row = product(result.shape, dim), at = 0;
  for (const ReferenceTensor &input : operands) {
    int64_t piece = product(input.shape, dim);
    for (int64_t o = 0; o < outer; ++o) {
      if (result.isFloat())
        std::copy_n(input.f.begin() + o * piece, piece, result.f.begin() + o * row + at);
      else
        std::copy_n(input.i.begin() + o * piece, piece, result.i.begin() + o * row + at);
    }
    at += piece;
  }
  results.push_back(std::move(result));
  return success();
}

/// Combines every element of `input` into the element of `result` that lacks the coordinates along `dims`.
template <typename T, typename Fn>
static void reduceInto(const std::vector<T> &from, std::vector<T> &to, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> strides, Fn combine) {
  Odometer at(shape);
  size_t j = 0;
  do {
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place += at.index[d] * strides[d];
    to[place] = combine(to[place], from[j++]);
  } while (at.next());
}

LogicalResult ReduceOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &input = operands[0];
  ReferenceTensor result(getResult().getType());
  // Strides into the result; reduced dimensions do not move.
  SmallVector<int64_t> own = result.strides(), strides(input.shape.size(), 0);
  size_t to = 0;
  for (size_t d = 0; d < input.shape.size(); ++d)
    if (!llvm::is_contained(getDims(), int64_t(d)))
      strides[d] = own[to++];
  bool sum = getKind() == ReduceKind::sum;
  // A NaN is larger than all, as among ranks. `x != x` is false of integers.
  auto combine = [sum](auto x, auto y) { return sum ? x + y : x != x || x > y ? x : y; };
  if (input.isFloat()) {
    if (!sum)
      result.f.assign(result.f.size(), -std::numeric_limits<double>::infinity());
    reduceInto(input.f, result.f, input.shape, strides, combine);
  } else {
    if (!sum)
      result.i.assign(result.i.size(), std::numeric_limits<int64_t>::min());
    reduceInto(input.i, result.i, input.shape, strides, combine);
  }
  results.push_back(std::move(result));
  return success();
}

/// Copies `count` elements of either kind.
static void copyElements(const ReferenceTensor &from, int64_t at, ReferenceTensor &to, int64_t toAt,
                         int64_t count) {
  if (from.isFloat())
    std::copy_n(from.f.begin() + at, count, to.f.begin() + toAt);
  else
    std::copy_n(from.i.begin() + at, count, to.i.begin() + toAt);
}

LogicalResult TakeOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  const ReferenceTensor &input = operands[0];
  ReferenceTensor result(getResult().getType()); // zeros for an index outside, or in another rank's shard
  int64_t n = input.shape[1], row = product(input.shape, 2), offset = context.offset(getInput(), 1);
  // Padding at the end of a shard is no position.
  int64_t valid = std::min(n, context.globalSize(getInput(), 1) - offset);
  for (int64_t b = 0; b < input.shape[0]; ++b)
    if (int64_t index = operands[1].i[b] - offset; index >= 0 && index < valid)
      copyElements(input, (b * n + index) * row, result, b * row, row);
  results.push_back(std::move(result));
  return success();
}

LogicalResult LayerSliceOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result(getResult().getType());
  int64_t index = operands[1].i[0], n = operands[0].shape[0], row = result.size();
  if (index < 0 || index >= n)
    return emitOpError() << "reads layer " << index << " of " << n;
  copyElements(operands[0], index * row, result, 0, row);
  results.push_back(std::move(result));
  return success();
}

LogicalResult StackLayerOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result = operands[0];
  result.i[0] = result.i[0] / int64_t(getPeriod()) * int64_t(getHeld()) + int64_t(getBefore());
  results.push_back(std::move(result));
  return success();
}

LogicalResult MaskPaddingOp::evaluate(Tensors operands, const ReferenceContext &context, Results &results) {
  ReferenceTensor result = operands[0];
  double value = getValue().convertToDouble();
  unsigned bits = result.elementType.getIntOrFloatBitWidth();
  for (int64_t dim : getDims()) {
    int64_t valid = context.globalSize(getInput(), int(dim)) - context.offset(getInput(), int(dim));
    int64_t size = result.shape[dim], inner = product(result.shape, dim + 1);
    valid = std::max<int64_t>(valid, 0);
    if (valid >= size)
      continue;
    for (int64_t o = 0, outer = product(result.shape, 0, dim); o < outer; ++o) {
      int64_t begin = (o * size + valid) * inner, end = (o + 1) * size * inner;
      if (result.isFloat())
        std::fill(result.f.begin() + begin, result.f.begin() + end, value);
      else
        std::fill(result.i.begin() + begin, result.i.begin() + end, integerOf(value, bits));
    }
  }
  results.push_back(std::move(result));
  return success();
}
