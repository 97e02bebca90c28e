//===- RandomExperts.cpp - Random layers of experts -----------------------===//
#include "RandomProgram.h"

#include "tessera/Dialect/Graph/IR/Experts.h"

using namespace mlir;
using namespace tessera;

/// Experts in place of an MLP on x [n..., d]. Who is chosen is an input, or follows from one: no choice hangs
/// on the last bit of what was computed. Ids that are given stand twice in a row, and outside, at times.
Value ProgramBuilder::drawExperts(Value x) {
  Shape tokens(ArrayRef<int64_t>(shapeOf(x)).drop_back());
  int64_t width = shapeOf(x).back(), experts = latest.between(1, 7), inner = latest.between(1, 9);
  auto with = [&](std::initializer_list<int64_t> more) {
    Shape shape = tokens;
    shape.append(more.begin(), more.end());
    return shape;
  };
  if (tokens.empty() || !fits(with({experts, std::max(width, inner)})) || !fits({experts, inner, width}))
    return {};
  Value ids, shares;
  if (latest.chance(50)) {
    Shape chosen = with({latest.between(1, std::min<int64_t>(3, experts))});
    Value scores = argument(floats(with({experts})), graph::Kind::Input, "scores" + std::to_string(names++));
    auto top = graph::TopKOp::create(b, TypeRange{floats(chosen), ints(chosen)}, scores);
    ids = top.getIndices();
    shares = top.getValues();
  } else {
    Shape chosen = with({latest.between(1, 3)});
    ids = sharedInput(ints(chosen), "choices");
    shares = argument(floats(chosen), graph::Kind::Input, "shares" + std::to_string(names++));
  }
  auto product = [&](Value rows, int64_t in, int64_t out) -> Value {
    return graph::ExpertLinearOp::create(b, floats(with({experts, out})), rows, weight({experts, out, in}),
                                         ids);
  };
  Value rows = graph::DispatchOp::create(b, floats(with({experts, width})), x, ids);
  Value up = product(rows, width, inner), gate = product(rows, width, inner);
  if (latest.chance(30)) // of each expert, or of all
    gate = graph::AddOp::create(b, gate.getType(), gate,
                                latest.chance(50) ? weight({experts, inner}) : weight({inner}));
  Value both = graph::MulOp::create(b, up.getType(), graph::TanhOp::create(b, gate.getType(), gate), up);
  if (latest.chance(20)) // all rows, those that nobody chose too
    scope->values.push_back(latest.chance(50) ? both : rows);
  Value down = product(both, inner, width);
  Value sum = graph::CombineOp::create(b, x.getType(), down, ids, shares);
  if (latest.chance(60))
    return sum;
  // Something of the gradients: what they are made of has its own rules and kernels.
  Value gradient = graph::TanhOp::create(b, sum.getType(), sum);
  Value rowsGradient = graph::DispatchOp::create(b, down.getType(), gradient, ids, shares);
  Value sharesGradient = graph::ChosenDotOp::create(b, shares.getType(), gradient, down, ids);
  Value innerGradient = graph::ExpertLinearOp::create(
      b, both.getType(), rowsGradient, weight({experts, width, inner}), ids, /*transposed=*/true);
  auto weightType = floats({experts, width, inner});
  Value weightGradient = graph::ExpertOuterOp::create(b, weightType, rowsGradient, innerGradient, ids);
  weightGradient = graph::TanhOp::create(b, weightType, weightGradient);
  Value again = graph::ExpertLinearOp::create(b, down.getType(), innerGradient, weightGradient, ids);
  return graph::CombineOp::create(b, x.getType(), again, ids,
                                  graph::TanhOp::create(b, shares.getType(), sharesGradient));
}
