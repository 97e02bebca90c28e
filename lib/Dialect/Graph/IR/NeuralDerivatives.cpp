//===- NeuralDerivatives.cpp - Gradients of the layers of transformers ----===//
#include "ProductGradient.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

SmallVector<Value> EmbeddingOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this);
  auto sums = RankedTensorType::get(getTable().getType().getShape(), p.wideType());
  return {p.given(ScatterAddOp::create(builder, getLoc(), sums, gradients[0], getIds()), getTable()),
          Value()};
}

SmallVector<Value> ScatterAddOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this, getRows());
  auto rows = RankedTensorType::get(getRows().getType().getShape(), getRows().getType().getElementType());
  return {EmbeddingOp::create(builder, getLoc(), rows, p.narrow(gradients[0]), getIds()), Value()};
}

/// x [n..., in...] . w [out..., in...]: dx sums over out..., dw over n.... As einsums they read their
/// operands as they lie.
SmallVector<Value> LinearOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  int64_t contract = int64_t(getContract()), rows = rankOf(getInput()) - contract,
          columns = rankOf(getWeight()) - contract;
  char next = 'a';
  auto letters = [&](int64_t count) {
    std::string made;
    for (; count > 0; --count)
      made += next++;
    return made;
  };
  Value gradient = asFactor(builder, *this, gradients[0]);
  std::string n = letters(rows), out = letters(columns), in = letters(contract);
  auto product = [&](Value with, const std::string &own, Value operand, const std::string &to) -> Value {
    return EinsumOp::create(builder, getLoc(), gradientType(operand), gradient, with,
                            n + out + "," + own + "->" + to);
  };
  Gradients result(2);
  if (wanted[0])
    result[0] = product(getWeight(), out + in, getInput(), n + in);
  if (wanted[1])
    result[1] = product(getInput(), n + in, getWeight(), out + in);
  return result;
}

/// Every letter stands in two of the three tensors, so the other two say all of each.
SmallVector<Value> EinsumOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  Gradients result(2);
  Value gradient = asFactor(builder, *this, gradients[0]);
  auto product = [&](Value with, StringRef letters, Value operand, StringRef own) {
    return EinsumOp::create(builder, getLoc(), gradientType(operand), gradient, with,
                            (getResultLetters() + "," + letters + "->" + own).str());
  };
  if (wanted[0])
    result[0] = product(getRhs(), getRhsLetters(), getLhs(), getLhsLetters());
  if (wanted[1])
    result[1] = product(getLhs(), getLhsLetters(), getRhs(), getRhsLetters());
  return result;
}

/// With n = x / root: g w / root less its part along n (and, `centered`, its mean).
static Value normGradient(GradientProgram &p, Value x, Value g, Value normalised, Value scale,
                          bool centered) {
  Value along = p.mul(normalised, p.mean(p.mul(g, normalised)));
  Value rest = p.sub(g, along);
  return p.given(p.mul(centered ? p.sub(rest, p.mean(g)) : rest, scale), x);
}

SmallVector<Value> RmsNormOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  GradientProgram p(builder, *this, getResult(), rankOf(getWeight()));
  Value g = p.wide(gradients[0]), x = p.operand(0);
  Value scale = p.unary<RsqrtOp>(p.add(p.mean(p.mul(x, x)), p.number(getEps().convertToDouble())));
  Value normalised = p.mul(x, scale);
  Gradients result(2);
  if (wanted[0])
    result[0] = normGradient(p, getInput(), p.mul(g, p.operand(1)), normalised, scale, /*centered=*/false);
  if (wanted[1])
    result[1] = p.sumTo(p.mul(g, normalised), getWeight());
  return result;
}

SmallVector<Value> LayerNormOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  GradientProgram p(builder, *this);
  Value g = p.wide(gradients[0]);
  Gradients result(3);
  if (wanted[2])
    result[2] = p.sumTo(g, getBias());
  if (!wanted[0] && !wanted[1])
    return result;
  Value x = p.operand(0), centered = p.sub(x, p.mean(x));
  Value scale =
      p.unary<RsqrtOp>(p.add(p.mean(p.mul(centered, centered)), p.number(getEps().convertToDouble())));
  Value normalised = p.mul(centered, scale);
  if (wanted[0])
    result[0] = normGradient(p, getInput(), p.mul(g, p.operand(1)), normalised, scale, /*centered=*/true);
  if (wanted[1])
    result[1] = p.sumTo(p.mul(g, normalised), getWeight());
  return result;
}

SmallVector<Value> SoftmaxOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this);
  Value g = p.wide(gradients[0]), y = p.result();
  return {p.given(p.mul(y, p.sub(g, p.reduce(ReduceKind::sum, p.mul(g, y)))), getInput())};
}

/// softmax * (gradients of both results) - one-hot * (gradient of the loss), which counts where the label
/// does.
SmallVector<Value> CrossEntropyOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this, getLogits());
  ArrayRef<int64_t> shape = getLogits().getType().getShape();
  SmallVector<int64_t> column(shape);
  column.back() = 1;
  Value softmax = p.unary<ExpOp>(p.sub(p.operand(0), p.column(getLogSumExp())));
  Value loss, slope;
  Value labels = p.reshaped(getLabels(), column);
  if (gradients[0]) {
    auto number = [&](int64_t value) -> Value {
      auto type = RankedTensorType::get({}, builder.getI32Type());
      return ConstantOp::create(builder, getLoc(), type, DenseElementsAttr::get(type, int32_t(value)));
    };
    loss = p.column(gradients[0]);
    loss = p.select(p.compare(CompareKind::ge, labels, number(0), column), loss, {}, column);
    loss = p.select(p.compare(CompareKind::lt, labels, number(shape.back()), column), loss, {}, column);
    slope = loss;
  }
  if (gradients[1]) {
    Value second = p.column(gradients[1]);
    slope = slope ? p.add(slope, second) : second;
  }
  Value result = p.mul(softmax, slope);
  if (loss) {
    Value isLabel = p.compare(CompareKind::eq, labels, p.counting(shape.back(), 0), shape);
    result = p.sub(result, p.select(isLabel, loss, {}, shape));
  }
  return {p.given(result, getLogits()), Value()};
}

/// The same turn, backward.
SmallVector<Value> RopeOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  SmallVector<double> back =
      llvm::map_to_vector(getFrequencies(), [](double frequency) { return -frequency; });
  return {RopeOp::create(builder, getLoc(), gradients[0].getType(), gradients[0], getPositions(),
                         builder.getDenseF64ArrayAttr(back), getStyleAttr(), getMagnitudeAttr()),
          Value()};
}
