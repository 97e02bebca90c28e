//===- ElementwiseDerivatives.cpp - Gradients of elementwise ops ----------===//
//
// What the gradients read is kept from forward to backward, so each formula reads what is small or kept
// anyway: the result where that says as much as the operand, never both.
//
//===----------------------------------------------------------------------===//
#include "GradientProgram.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// Runs `slope(p, g)` on the gradient of the result, widened, and rounds it.
template <typename Fn> static Gradients unary(OpBuilder &builder, Operation *op, Known gradients, Fn slope) {
  GradientProgram p(builder, op);
  return {p.given(slope(p, p.wide(gradients[0])), op->getOperand(0))};
}

// x is the operand, y the result, g the gradient of y.
#define TESSERA_DERIVATIVE(OP, EXPR)                                                                         \
  SmallVector<Value> OP::differentiate(OpBuilder &builder, Known gradients, Wanted) {                        \
    return unary(builder, *this, gradients, [](GradientProgram &p, Value g) -> Value {                       \
      [[maybe_unused]] auto x = [&] { return p.operand(0); };                                                \
      [[maybe_unused]] auto y = [&] { return p.result(); };                                                  \
      return EXPR;                                                                                           \
    });                                                                                                      \
  }
TESSERA_DERIVATIVE(NegOp, p.neg(g))
TESSERA_DERIVATIVE(ExpOp, p.mul(g, y()))
TESSERA_DERIVATIVE(LogOp, p.div(g, x()))
TESSERA_DERIVATIVE(SqrtOp, p.div(p.scaled(g, 0.5), y()))
TESSERA_DERIVATIVE(RsqrtOp, p.mul(p.scaled(g, -0.5), p.mul(y(), p.mul(y(), y()))))
TESSERA_DERIVATIVE(TanhOp, p.mul(g, p.oneMinus(p.mul(y(), y()))))
TESSERA_DERIVATIVE(ErfOp, p.mul(p.scaled(g, 1.12837916709551257390), // 2 / sqrt(pi)
                                p.unary<ExpOp>(p.neg(p.mul(x(), x())))))
TESSERA_DERIVATIVE(SinOp, p.mul(g, p.unary<CosOp>(x())))
TESSERA_DERIVATIVE(CosOp, p.neg(p.mul(g, p.unary<SinOp>(x()))))
TESSERA_DERIVATIVE(SigmoidOp, p.mul(g, p.mul(y(), p.oneMinus(y()))))
#undef TESSERA_DERIVATIVE

/// The sign of x; 0 at 0, where nothing is better.
SmallVector<Value> AbsOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return unary(builder, *this, gradients, [&](GradientProgram &p, Value g) {
    ArrayRef<int64_t> shape = typeOf(g).getShape();
    Value x = p.operand(0), zero = p.zero(p.wideType());
    Value negative = p.select(p.compare(CompareKind::lt, x, zero, shape), p.neg(g), {}, shape);
    return p.select(p.compare(CompareKind::gt, x, zero, shape), g, negative, shape);
  });
}

SmallVector<Value> ReluOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return unary(builder, *this, gradients, [&](GradientProgram &p, Value g) {
    ArrayRef<int64_t> shape = typeOf(g).getShape();
    return p.select(p.compare(CompareKind::gt, p.result(), p.zero(p.wideType()), shape), g, {}, shape);
  });
}

/// s + x s (1 - s) with s = sigmoid(x)
SmallVector<Value> SiluOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return unary(builder, *this, gradients, [&](GradientProgram &p, Value g) {
    Value x = p.operand(0), s = p.unary<SigmoidOp>(x);
    return p.mul(g, p.add(s, p.mul(p.mul(x, s), p.oneMinus(s))));
  });
}

/// Phi(x) + x phi(x): the normal distribution's function and density.
SmallVector<Value> GeluErfOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return unary(builder, *this, gradients, [&](GradientProgram &p, Value g) {
    Value x = p.operand(0), erf = p.unary<ErfOp>(p.scaled(x, 0.70710678118654752440));
    Value below = p.scaled(p.add(erf, p.number(1)), 0.5);
    Value density = p.scaled(p.unary<ExpOp>(p.scaled(p.mul(x, x), -0.5)), 0.39894228040143267794);
    return p.mul(g, p.add(below, p.mul(x, density)));
  });
}

/// With t = tanh(u): (1 + t) / 2 + x (1 - t^2) u' / 2
SmallVector<Value> GeluTanhOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return unary(builder, *this, gradients, [&](GradientProgram &p, Value g) {
    constexpr double c = 0.79788456080286535588, cubic = 0.044715; // sqrt(2 / pi)
    Value x = p.operand(0), square = p.mul(x, x);
    Value u = p.mul(x, p.add(p.scaled(square, c * cubic), p.number(c)));
    Value t = p.unary<TanhOp>(u), slope = p.add(p.scaled(square, 3 * c * cubic), p.number(c));
    Value bent = p.mul(p.mul(x, p.oneMinus(p.mul(t, t))), slope);
    return p.mul(g, p.scaled(p.add(p.add(t, p.number(1)), bent), 0.5));
  });
}

//===----------------------------------------------------------------------===//
// Two operands with trailing broadcast
//===----------------------------------------------------------------------===//

/// `lhs(p, g)` and `rhs(p, g)` for the operands that are wanted, summed over what they repeat along.
template <typename Lhs, typename Rhs>
static Gradients binary(OpBuilder &builder, Operation *op, Known gradients, Wanted wanted, Lhs lhs, Rhs rhs) {
  GradientProgram p(builder, op);
  Gradients result(2);
  if (wanted[0])
    result[0] = p.sumTo(lhs(p, gradients[0]), op->getOperand(0));
  if (wanted[1])
    result[1] = p.sumTo(rhs(p, gradients[0]), op->getOperand(1));
  return result;
}

static Value same(GradientProgram &, Value g) { return g; }
static Value negated(GradientProgram &p, Value g) { return p.neg(g); }

SmallVector<Value> AddOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  return binary(builder, *this, gradients, wanted, same, same);
}
SmallVector<Value> SubOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  return binary(builder, *this, gradients, wanted, same, negated);
}

SmallVector<Value> MulOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  auto times = [](unsigned other) {
    return [other](GradientProgram &p, Value g) { return p.mul(p.wide(g), p.operand(other)); };
  };
  return binary(builder, *this, gradients, wanted, times(1), times(0));
}

SmallVector<Value> DivOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  auto part = [](GradientProgram &p, Value g) { return p.div(p.wide(g), p.operand(1)); };
  return binary(builder, *this, gradients, wanted, part,
                [&](GradientProgram &p, Value g) { return p.neg(p.mul(part(p, g), p.result())); });
}

/// The operand that the result is has the gradient; of equal ones the first.
static Gradients chosen(OpBuilder &builder, Operation *op, Known gradients, Wanted wanted,
                        CompareKind second) {
  auto where = [&](bool isSecond) {
    return [&, isSecond](GradientProgram &p, Value g) {
      ArrayRef<int64_t> shape = typeOf(g).getShape();
      Value other = p.compare(second, op->getOperand(0), op->getOperand(1), shape);
      Value zero = p.zero(typeOf(g).getElementType());
      return isSecond ? p.select(other, g, zero, shape) : p.select(other, zero, g, shape);
    };
  };
  return binary(builder, op, gradients, wanted, where(false), where(true));
}
SmallVector<Value> MaximumOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  return chosen(builder, *this, gradients, wanted, CompareKind::lt);
}
SmallVector<Value> MinimumOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  return chosen(builder, *this, gradients, wanted, CompareKind::gt);
}

SmallVector<Value> CastOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return {GradientProgram(builder, *this).given(gradients[0], getInput())};
}

SmallVector<Value> SelectOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  GradientProgram p(builder, *this);
  Value g = gradients[0], zero = p.zero(typeOf(g).getElementType());
  ArrayRef<int64_t> shape = typeOf(g).getShape();
  Gradients result(3);
  if (wanted[1])
    result[1] = p.sumTo(p.select(getCondition(), g, zero, shape), getLhs());
  if (wanted[2])
    result[2] = p.sumTo(p.select(getCondition(), zero, g, shape), getRhs());
  return result;
}
