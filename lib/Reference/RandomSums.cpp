//===- RandomSums.cpp - Random sums that stay open --------------------------===//
#include "RandomProgram.h"

using namespace mlir;
using namespace tessera;

/// Axes that split what `openSum` sums up; none on a mesh of one rank.
AxisList ProgramBuilder::drawSumAxes() {
  AxisList free, axes;
  for (auto [i, axis] : llvm::enumerate(mesh.axes))
    if (axis.size > 1)
      free.push_back(wholeAxis(mesh, int(i)));
  if (!free.empty())
    axes.push_back(dice.pick(free));
  return axes;
}

/// A value of `shape` that is a sum (or maximum) over a dimension split over `axes`, so that every rank has a
/// term of it: reduced, or a product.
Value ProgramBuilder::openSum(ArrayRef<int64_t> shape, const AxisList &axes, graph::ReduceKind kind,
                              bool positive) {
  int64_t n = dice.between(2, 7);
  bool product = kind == graph::ReduceKind::sum && !positive && !shape.empty() && dice.chance(50);
  Shape terms(product ? shape.drop_back() : shape);
  terms.push_back(n);
  Shape matrix = {product ? shape.back() : 1, n};
  if (!fits(terms) || !fits(matrix))
    return {};
  Value x = weight(terms);
  if (dice.chance(30))
    x = graph::SinOp::create(b, x.getType(), x);
  if (positive)
    x = graph::ExpOp::create(b, x.getType(), graph::SinOp::create(b, x.getType(), x));
  Sharding split(int64_t(terms.size()));
  split.dims.back().axes = axes;
  x = dist::ConstraintOp::create(b, x.getType(), x,
                                 dist::ShardingAttr::get(b.getContext(), "mesh", split, mesh));
  if (product)
    return graph::LinearOp::create(b, floats(shape), x, weight(matrix), uint64_t(1));
  SmallVector<int64_t> last = {int64_t(shape.size())};
  return graph::ReduceOp::create(b, floats(shape), kind, x, last);
}

/// At times an open sum, in programs for the machine.
Value ProgramBuilder::maybeOpenSum(ArrayRef<int64_t> shape, graph::ReduceKind kind, bool positive) {
  if (!options.manyLoops || !options.shardings || !dice.chance(15))
    return {};
  AxisList axes = drawSumAxes();
  return axes.empty() ? Value() : openSum(shape, axes, kind, positive);
}

/// Two open sums and, between them, what is whole: the operand, a bias or both. All of it is one sum if one
/// rank contributes what is whole.
Value ProgramBuilder::drawJoin() { return joined(operand()); }

Value ProgramBuilder::joined(Value x) {
  if (!options.shardings)
    return {};
  AxisList axes = drawSumAxes();
  if (axes.empty())
    return {};
  Shape shape = shapeOf(x);
  bool maxima = dice.chance(20);
  auto kind = maxima ? graph::ReduceKind::max : graph::ReduceKind::sum;
  auto join = [&](Value a, Value b2) -> Value {
    if (maxima)
      return graph::MaximumOp::create(b, a.getType(), a, b2);
    return dice.chance(70) ? graph::AddOp::create(b, a.getType(), a, b2).getResult()
                           : graph::SubOp::create(b, a.getType(), a, b2).getResult();
  };
  Value first = openSum(shape, axes, kind), second = openSum(shape, axes, kind);
  if (!first || !second)
    return {};
  Value joined = join(first, x);
  if (dice.chance(40))
    joined = join(joined,
                  weight(ArrayRef<int64_t>(shape).drop_front(size_t(dice.below(int64_t(shape.size()) + 1)))));
  return join(joined, second);
}

/// The value, or at times a sum that it is a term of, in programs for the machine.
Value ProgramBuilder::maybeJoined(Value x) {
  if (!options.manyLoops || !dice.chance(10))
    return x;
  Value sum = joined(x);
  return sum ? sum : x;
}

/// A value of a body's, of the shape of what the repeat carries: an open sum, at times in two parts and
/// scaled.
Value ProgramBuilder::drawAddend(ArrayRef<int64_t> shape) {
  AxisList axes = options.shardings ? drawSumAxes() : AxisList();
  Value sum = axes.empty() ? Value() : openSum(shape, axes, graph::ReduceKind::sum);
  if (!sum || !dice.chance(30))
    return sum;
  Value factor = graph::SinOp::create(b, floats({}), graph::CastOp::create(b, floats({}), scope->layer));
  return graph::MulOp::create(b, sum.getType(), sum, factor);
}
