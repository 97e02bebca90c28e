//===- ElementwiseScalar.cpp - Scalar forms of elementwise ops ------------===//
//
// What one element costs in arith and math ops. 16-bit floats are computed in f32 and rounded once at the
// end.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tessera::graph;

namespace {
/// Short names for scalar floating-point code.
struct Scalar {
  ImplicitLocOpBuilder b;
  Scalar(OpBuilder &builder, Location loc) : b(loc, builder) {}

  Value constant(Value like, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(like.getType(), value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value exp(Value x) { return math::ExpOp::create(b, x); }
  /// 1 + exp(-x)
  Value onePlusExpNeg(Value x) { return add(constant(x, 1), exp(neg(x))); }

  static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }
  Value widen(Value x) {
    return isHalf(x.getType()) ? arith::ExtFOp::create(b, b.getF32Type(), x).getResult() : x;
  }
  Value narrow(Value x, Type type) {
    return x.getType() == type ? x : arith::TruncFOp::create(b, type, x).getResult();
  }
};
} // namespace

/// Runs `fn` on operands widened to at least f32 and rounds to the operands' type.
template <typename Fn> static Value compute(OpBuilder &builder, Location loc, ValueRange operands, Fn fn) {
  Scalar s(builder, loc);
  SmallVector<Value, 3> wide;
  for (Value operand : operands)
    wide.push_back(s.widen(operand));
  return s.narrow(fn(s, ArrayRef<Value>(wide)), operands[0].getType());
}

#define TESSERA_SCALAR(OP, EXPR)                                                                             \
  Value OP::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {                              \
    return compute(builder, loc, operands, [](Scalar &s, ArrayRef<Value> v) -> Value {                       \
      Value x = v[0];                                                                                        \
      return EXPR;                                                                                           \
    });                                                                                                      \
  }
TESSERA_SCALAR(NegOp, s.neg(x))
TESSERA_SCALAR(AbsOp, math::AbsFOp::create(s.b, x))
TESSERA_SCALAR(ExpOp, s.exp(x))
TESSERA_SCALAR(LogOp, math::LogOp::create(s.b, x))
TESSERA_SCALAR(SqrtOp, math::SqrtOp::create(s.b, x))
TESSERA_SCALAR(RsqrtOp, math::RsqrtOp::create(s.b, x))
TESSERA_SCALAR(TanhOp, math::TanhOp::create(s.b, x))
TESSERA_SCALAR(SinOp, math::SinOp::create(s.b, x))
TESSERA_SCALAR(CosOp, math::CosOp::create(s.b, x))
TESSERA_SCALAR(ErfOp, math::ErfOp::create(s.b, x))
TESSERA_SCALAR(SigmoidOp, s.div(s.constant(x, 1), s.onePlusExpNeg(x)))
TESSERA_SCALAR(SiluOp, s.div(x, s.onePlusExpNeg(x)))
TESSERA_SCALAR(ReluOp, arith::MaxNumFOp::create(s.b, x, s.constant(x, 0)))
#undef TESSERA_SCALAR

Value GeluErfOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return compute(builder, loc, operands, [](Scalar &s, ArrayRef<Value> v) -> Value {
    Value x = v[0];
    Value erf = math::ErfOp::create(s.b, s.mul(x, s.constant(x, 0.70710678118654752440)));
    return s.mul(s.mul(s.constant(x, 0.5), x), s.add(s.constant(x, 1), erf));
  });
}

Value GeluTanhOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return compute(builder, loc, operands, [](Scalar &s, ArrayRef<Value> v) -> Value {
    Value x = v[0];
    Value cubic = s.mul(s.mul(s.mul(s.constant(x, 0.044715), x), x), x);
    Value tanh = math::TanhOp::create(s.b, s.mul(s.constant(x, 0.79788456080286535588), s.add(x, cubic)));
    return s.mul(s.mul(s.constant(x, 0.5), x), s.add(s.constant(x, 1), tanh));
  });
}

/// The float or the signed integer form of a binary op.
template <typename FloatOp, typename IntOp>
static Value binary(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isa<IntegerType>(operands[0].getType()))
    return IntOp::create(builder, loc, operands[0], operands[1]);
  return compute(builder, loc, operands,
                 [](Scalar &s, ArrayRef<Value> v) -> Value { return FloatOp::create(s.b, v[0], v[1]); });
}

Value AddOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return binary<arith::AddFOp, arith::AddIOp>(builder, loc, operands);
}
Value SubOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return binary<arith::SubFOp, arith::SubIOp>(builder, loc, operands);
}
Value MulOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return binary<arith::MulFOp, arith::MulIOp>(builder, loc, operands);
}
/// Never traps: x / 0 is 0, and the lowest number divided by -1 wraps round to itself.
static Value integerQuotient(OpBuilder &builder, Location loc, Value x, Value y) {
  Type type = x.getType();
  auto constant = [&](APInt value) -> Value {
    return arith::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  };
  auto equal = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
  };
  unsigned bits = type.getIntOrFloatBitWidth();
  Value zero = constant(APInt::getZero(bits)), byZero = equal(y, zero);
  Value wraps = arith::AndIOp::create(builder, loc, equal(x, constant(APInt::getSignedMinValue(bits))),
                                      equal(y, constant(APInt::getAllOnes(bits))));
  Value by = arith::SelectOp::create(builder, loc, arith::OrIOp::create(builder, loc, byZero, wraps),
                                     constant(APInt(bits, 1)), y);
  return arith::SelectOp::create(builder, loc, byZero, zero, arith::DivSIOp::create(builder, loc, x, by));
}

Value DivOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isa<IntegerType>(operands[0].getType()))
    return integerQuotient(builder, loc, operands[0], operands[1]);
  return compute(builder, loc, operands, [](Scalar &s, ArrayRef<Value> v) -> Value {
    return arith::DivFOp::create(s.b, v[0], v[1]);
  });
}
Value MaximumOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return binary<arith::MaxNumFOp, arith::MaxSIOp>(builder, loc, operands);
}
Value MinimumOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return binary<arith::MinNumFOp, arith::MinSIOp>(builder, loc, operands);
}

Value CastOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Value x = operands[0];
  Type from = x.getType(), to = getResult().getType().getElementType();
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (from == to)
    return x;
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (fromBits < toBits)
      return arith::ExtFOp::create(builder, loc, to, x);
    if (fromBits > toBits)
      return arith::TruncFOp::create(builder, loc, to, x);
    // f16 and bf16: neither holds the other.
    return arith::TruncFOp::create(builder, loc, to,
                                   arith::ExtFOp::create(builder, loc, builder.getF32Type(), x));
  }
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(builder, loc, to, x);
  if (isa<FloatType>(to)) // i1 holds 0 and 1, not 0 and -1
    return from.isInteger(1) ? arith::UIToFPOp::create(builder, loc, to, x).getResult()
                             : arith::SIToFPOp::create(builder, loc, to, x).getResult();
  if (from.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, to, x);
  if (fromBits < toBits)
    return arith::ExtSIOp::create(builder, loc, to, x);
  return arith::TruncIOp::create(builder, loc, to, x);
}

Value CompareOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isa<FloatType>(operands[0].getType())) {
    // Ordered, but for `ne`: NaN differs from everything.
    static constexpr arith::CmpFPredicate predicates[] = {
        arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT,
        arith::CmpFPredicate::OGE, arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE};
    return arith::CmpFOp::create(builder, loc, predicates[int(getKind())], operands[0], operands[1]);
  }
  static constexpr arith::CmpIPredicate predicates[] = {arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                                        arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge,
                                                        arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne};
  return arith::CmpIOp::create(builder, loc, predicates[int(getKind())], operands[0], operands[1]);
}

Value SelectOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::SelectOp::create(builder, loc, operands[0], operands[1], operands[2]);
}
