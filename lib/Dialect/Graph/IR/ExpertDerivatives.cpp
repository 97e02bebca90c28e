//===- ExpertDerivatives.cpp - Gradients of ops by expert -----------------===//
//
// Each op is linear in its floats, and the gradients of one are others: `dispatch` spreads what `combine`
// adds up, `chosen_dot` gives the gradients of both ones' weights, `expert_outer` those of `expert_linear`.
// So these have gradients themselves. Who was chosen has none.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Experts.h"

#include "ProductGradient.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

static Value onesOf(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), 1)));
}

/// A value that was chosen is given back to where it stood: a row of one element for each of those that there
/// were, made for the chosen ones. No index stands twice.
SmallVector<Value> TopKOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  if (!gradients[0])
    return {Value()};
  GradientProgram p(builder, *this, getInput());
  auto input = typeOf(getInput());
  SmallVector<int64_t> chosen(typeOf(getIndices()).getShape()), spread(input.getShape());
  if (chosen.size() == 1) { // one row
    chosen.insert(chosen.begin(), 1);
    spread.insert(spread.begin(), 1);
  }
  SmallVector<int64_t> tokens(chosen);
  tokens.back() = 1;
  spread.push_back(1);
  auto type = RankedTensorType::get(spread, gradientElementType(getInput()));
  Value rows = DispatchOp::create(builder, getLoc(), type, onesOf(builder, getLoc(), tokens),
                                  p.reshaped(getIndices(), chosen), p.reshaped(gradients[0], chosen));
  return {p.reshaped(rows, input.getShape())};
}

SmallVector<Value> DispatchOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  Gradients result(wanted.size());
  Value weights = getWeights();
  if (wanted[0])
    result[0] = CombineOp::create(builder, getLoc(), gradientType(getInput()), gradients[0], getIds(),
                                  weights ? weights : onesOf(builder, getLoc(), typeOf(getIds()).getShape()));
  if (weights && wanted[2])
    result[2] =
        ChosenDotOp::create(builder, getLoc(), gradientType(weights), getInput(), gradients[0], getIds());
  return result;
}

SmallVector<Value> ExpertLinearOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  Gradients result(3);
  Value gradient = asFactor(builder, *this, gradients[0]);
  if (wanted[0])
    result[0] = ExpertLinearOp::create(builder, getLoc(), gradientType(getRows()), gradient, getWeight(),
                                       getIds(), !getTransposed());
  if (wanted[1]) {
    Value lhs = gradient, rhs = getRows();
    if (getTransposed())
      std::swap(lhs, rhs);
    result[1] = ExpertOuterOp::create(builder, getLoc(), gradientType(getWeight()), lhs, rhs, getIds());
  }
  return result;
}

SmallVector<Value> ExpertOuterOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  Gradients result(3);
  Value gradient = asFactor(builder, *this, gradients[0]);
  if (wanted[0])
    result[0] = ExpertLinearOp::create(builder, getLoc(), gradientType(getLhs()), getRhs(), gradient,
                                       getIds(), /*transposed=*/false);
  if (wanted[1])
    result[1] = ExpertLinearOp::create(builder, getLoc(), gradientType(getRhs()), getLhs(), gradient,
                                       getIds(), /*transposed=*/true);
  return result;
}

SmallVector<Value> CombineOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  Gradients result(3);
  if (wanted[0])
    result[0] =
        DispatchOp::create(builder, getLoc(), gradientType(getRows()), gradients[0], getIds(), getWeights());
  if (wanted[2])
    result[2] =
        ChosenDotOp::create(builder, getLoc(), gradientType(getWeights()), gradients[0], getRows(), getIds());
  return result;
}

SmallVector<Value> ChosenDotOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  Gradients result(3);
  if (wanted[0])
    result[0] =
        CombineOp::create(builder, getLoc(), gradientType(getInput()), getRows(), getIds(), gradients[0]);
  if (wanted[1])
    result[1] =
        DispatchOp::create(builder, getLoc(), gradientType(getRows()), getInput(), getIds(), gradients[0]);
  return result;
}
