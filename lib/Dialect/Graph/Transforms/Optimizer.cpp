//===- Optimizer.cpp ------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Optimizer.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

#include "FloatArithmetic.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::graph {

/// AdamW (arXiv 1711.05101): moments of the gradient, corrected for their beginning at zero; decay apart from
/// both.
static void updateAdamW(OpBuilder &builder, Location loc, const Hyperparameters &numbers, WeightUpdate &of) {
  FloatArithmetic f{builder, markPartOf(loc, "optimizer")};
  auto number = [&](FillSource source) { return numbers.lookup(source); };
  /// beta * state + (1 - beta) * x
  auto blend = [&](Value beta, Value state, Value x) {
    return f.add(f.mul(state, beta), f.mul(x, f.sub(f.number(1), beta)));
  };
  Value rate = number(FillSource::LearningRate);
  Value first = blend(number(FillSource::Beta1), of.states[0], of.gradient);
  Value second = blend(number(FillSource::Beta2), of.states[1], f.mul(of.gradient, of.gradient));
  Value deviation =
      f.add(f.sqrt(f.mul(second, number(FillSource::SecondCorrection))), number(FillSource::Epsilon));
  Value step = f.div(f.mul(first, f.mul(rate, number(FillSource::FirstCorrection))), deviation);
  Value weight = of.weight;
  if (of.decays)
    weight = f.mul(weight, f.sub(f.number(1), f.mul(rate, number(FillSource::WeightDecay))));
  of.weight = f.sub(weight, step);
  of.states = {first, second};
}

/// Stochastic gradient descent with momentum, decay as a part of the gradient: torch.optim.SGD.
static void updateSgd(OpBuilder &builder, Location loc, const Hyperparameters &numbers, WeightUpdate &of) {
  FloatArithmetic f{builder, markPartOf(loc, "optimizer")};
  auto number = [&](FillSource source) { return numbers.lookup(source); };
  Value gradient = of.gradient;
  if (of.decays)
    gradient = f.add(gradient, f.mul(of.weight, number(FillSource::WeightDecay)));
  Value buffer = f.add(f.mul(of.states[0], number(FillSource::Momentum)), gradient);
  of.weight = f.sub(of.weight, f.mul(buffer, number(FillSource::LearningRate)));
  of.states = {buffer};
}

static constexpr FillSource kAdamWNumbers[] = {
    FillSource::LearningRate, FillSource::WeightDecay,     FillSource::Beta1,           FillSource::Beta2,
    FillSource::Epsilon,      FillSource::FirstCorrection, FillSource::SecondCorrection};
static constexpr StringLiteral kAdamWStates[] = {"exp_avg", "exp_avg_sq"};
static constexpr FillSource kSgdNumbers[] = {FillSource::LearningRate, FillSource::WeightDecay,
                                             FillSource::Momentum};
static constexpr StringLiteral kSgdStates[] = {"momentum_buffer"};

static const Optimizer kOptimizers[] = {{"adamw", kAdamWNumbers, kAdamWStates, "exp_avg", updateAdamW},
                                        {"sgd", kSgdNumbers, kSgdStates, "momentum_buffer", updateSgd}};

const Optimizer *findOptimizer(StringRef name) {
  const auto *found = llvm::find_if(kOptimizers, [&](const Optimizer &one) { return one.name == name; });
  return found == std::end(kOptimizers) ? nullptr : found;
}

std::string optimizerNames() {
  return llvm::join(llvm::map_range(kOptimizers, [](const Optimizer &one) { return one.name.str(); }), ", ");
}

Value clippingScale(OpBuilder &builder, Location location, Value norm, Value clip) {
  Location loc = markPartOf(location, "clipping of gradients");
  FloatArithmetic f{builder, loc};
  Value one = f.number(1), zero = f.number(0);
  Value scale = f.min(one, f.div(clip, f.add(norm, f.number(1e-6))));
  auto isOn = CompareOp::create(builder, loc, RankedTensorType::get({}, builder.getI1Type()), CompareKind::gt,
                                clip, zero);
  return SelectOp::create(builder, loc, scale.getType(), isOn, scale, one);
}

Value sumOfSquares(OpBuilder &builder, Location loc, ValueRange gradients) {
  FloatArithmetic f{builder, loc};
  Value squares;
  for (Value gradient : gradients) {
    Value sum = f.sum(f.mul(gradient, gradient));
    squares = squares ? f.add(squares, sum) : sum;
  }
  return squares ? squares : f.number(0);
}

} // namespace tessera::graph
