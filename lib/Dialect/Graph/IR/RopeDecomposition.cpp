//===- RopeDecomposition.cpp - Rotary embedding as general ops ------------===//
//
// What lets the rotated dimension be sharded: the members of its pairs change places (a permutation of whole
// pieces where they lie on other ranks), the rest is elementwise.
//
//===----------------------------------------------------------------------===//
#include "RowProgram.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// The rotated dimension, if all of it is: the rest would have to stand behind the last pair, out of every
/// piece but the last.
SmallVector<int, 2> RopeOp::getDecomposableFactors() {
  if (2 * int64_t(getFrequencies().size()) != dist::globalShape(getInput().getType()).back())
    return {};
  return {int(getShardingRule().operands[0].dims.back().front())};
}

SmallVector<Value> RopeOp::decompose(OpBuilder &builder, ValueRange operands) {
  RowProgram p(builder, getLoc(), operands[0]);
  SmallVector<int64_t> shape(typeOf(operands[0]).getShape());
  int64_t rank = int64_t(shape.size()), pairs = int64_t(getFrequencies().size()), rotated = 2 * pairs,
          rest = shape.back() - rotated;
  bool half = getStyle() == RopeStyle::half;
  auto type = [&](ArrayRef<int64_t> sizes) { return RankedTensorType::get(sizes, p.wideType()); };
  auto reshape = [&](Value value, ArrayRef<int64_t> sizes) -> Value {
    return ReshapeOp::create(builder, getLoc(), type(sizes), value);
  };
  auto slice = [&](Value value, int64_t dim, int64_t at, int64_t size) -> Value {
    SmallVector<int64_t> sizes(typeOf(value).getShape()), offsets(sizes.size(), 0);
    sizes[dim] = size;
    offsets[dim] = at;
    return SliceOp::create(builder, getLoc(), type(sizes), value, builder.getDenseI64ArrayAttr(offsets));
  };
  auto concat = [&](Value first, Value second, int64_t dim) -> Value {
    SmallVector<int64_t> sizes(typeOf(first).getShape());
    sizes[dim] += typeOf(second).getDimSize(unsigned(dim));
    return ConcatOp::create(builder, getLoc(), type(sizes), ValueRange{first, second}, dim);
  };
  /// [batch, seq, n] filled with `value`.
  auto filled = [&](double value, int64_t n) -> Value {
    auto whole = type({shape[0], shape[1], n});
    return ConstantOp::create(builder, getLoc(), whole,
                              DenseElementsAttr::get(whole, builder.getFloatAttr(p.wideType(), value)));
  };

  // What the op makes of pairs (1, 0) is (cos, sin): the tables, with its rounding, once for all heads.
  Value ones = filled(1, pairs), zeros = filled(0, pairs);
  Value table = RopeOp::create(builder, getLoc(), type({shape[0], shape[1], rotated}), concat(ones, zeros, 2),
                               operands[1], getFrequenciesAttr(),
                               RopeStyleAttr::get(getContext(), RopeStyle::half), getMagnitudeAttr());
  // Dimensions of a pair's two members and of the pairs, in the order in which they lie.
  int64_t member = half ? rank - 1 : rank;
  auto apart = [&](int64_t members) {
    SmallVector<int64_t> sizes(rank + 1, 1);
    sizes[0] = shape[0];
    sizes[1] = shape[1];
    sizes[member] = members;
    sizes[half ? rank : rank - 1] = pairs;
    return sizes;
  };
  Value cosine = reshape(slice(table, 2, 0, pairs), apart(1)),
        sine = reshape(slice(table, 2, pairs, pairs), apart(1));
  Value signedSine = concat(p.unary<NegOp>(sine), sine, member);

  Value input = p.wide(operands[0]);
  Value turned = rest > 0 ? slice(input, rank - 1, 0, rotated) : input;
  SmallVector<int64_t> sizes(shape);
  sizes.back() = half ? 2 : pairs;
  sizes.push_back(half ? pairs : 2);
  Value x = reshape(turned, sizes);
  Value other = ReverseOp::create(builder, getLoc(), typeOf(x), x, member);
  Value sum = p.binary<AddOp>(p.binary<MulOp>(x, cosine), p.binary<MulOp>(other, signedSine));
  sizes.assign(shape.begin(), shape.end());
  sizes.back() = rotated;
  Value result = reshape(sum, sizes);
  return {p.narrow(rest > 0 ? concat(result, slice(input, rank - 1, rotated, rest), rank - 1) : result)};
}
