// Arithmetic: intrinsics of NVPTX that LLVM has a general one for, with their variants for rounding, flushing
// and NaN. Only rounding to nearest is here where the host has no other; what is missing is refused by name.
#include "Intrinsics.h"

#include "llvm/ADT/APFloat.h"

using namespace llvm;

namespace standin {
namespace {

using Compute = std::function<Value *(Lowering &, ArrayRef<Value *>)>;

// `ftz`: subnormal operands and results become zeros of the same sign.
Value *flush(Lowering &l, Value *value) {
  IRBuilder<> &b = l.builder;
  Type *type = value->getType();
  if (type->getScalarType()->isDoubleTy() || !type->isFPOrFPVectorTy())
    return value;
  APFloat smallest = APFloat::getSmallestNormalized(type->getScalarType()->getFltSemantics());
  Value *tiny =
      b.CreateFCmpOLT(b.CreateUnaryIntrinsic(Intrinsic::fabs, value), ConstantFP::get(type, smallest));
  return b.CreateSelect(tiny, b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::getZero(type), value),
                        value);
}

Rule computed(bool flushed, Compute compute) {
  return [=](Lowering &l) {
    SmallVector<Value *> values;
    for (Value *argument : l.call.args())
      values.push_back(flushed ? flush(l, argument) : argument);
    Value *made = compute(l, values);
    return flushed ? flush(l, made) : made;
  };
}

Compute intrinsic(Intrinsic::ID id) {
  return [=](Lowering &l, ArrayRef<Value *> values) -> Value * {
    return l.builder.CreateIntrinsic(id, {values[0]->getType()}, values);
  };
}

Compute reciprocalOf(Intrinsic::ID id) { // none: of the value itself
  return [=](Lowering &l, ArrayRef<Value *> values) -> Value * {
    Value *below = id == Intrinsic::not_intrinsic ? values[0] : l.builder.CreateUnaryIntrinsic(id, values[0]);
    return l.builder.CreateFDiv(ConstantFP::get(values[0]->getType(), 1.0), below);
  };
}

Value *saturate(Lowering &l, Value *value) { // to [0, 1]; a NaN becomes 0
  Type *type = value->getType();
  Value *low = l.builder.CreateBinaryIntrinsic(Intrinsic::maximumnum, value, ConstantFP::getZero(type));
  return l.builder.CreateBinaryIntrinsic(Intrinsic::minimumnum, low, ConstantFP::get(type, 1.0));
}

Compute then(Compute first, Value *(*last)(Lowering &, Value *)) {
  return [=](Lowering &l, ArrayRef<Value *> values) { return last(l, first(l, values)); };
}

void addRounded(RuleTable &table) {
  Compute add = [](Lowering &l, ArrayRef<Value *> v) { return l.builder.CreateFAdd(v[0], v[1]); };
  Compute multiply = [](Lowering &l, ArrayRef<Value *> v) { return l.builder.CreateFMul(v[0], v[1]); };
  Compute divide = [](Lowering &l, ArrayRef<Value *> v) { return l.builder.CreateFDiv(v[0], v[1]); };
  Compute clamp = [](Lowering &l, ArrayRef<Value *> v) { return saturate(l, v[0]); };
  for (const char *type : {"f", "d"})
    for (bool flushed : {false, true}) {
      std::string tail = std::string(flushed ? ".ftz." : ".") + type;
      auto put = [&](const std::string &name, Compute compute) {
        table[name + tail] = computed(flushed, compute);
      };
      put("fma.rn", intrinsic(Intrinsic::fma));
      put("add.rn", add);
      put("mul.rn", multiply);
      for (const char *how : {"rn", "approx"}) {
        put("div." + std::string(how), divide);
        put("rcp." + std::string(how), reciprocalOf(Intrinsic::not_intrinsic));
        put("sqrt." + std::string(how), intrinsic(Intrinsic::sqrt));
      }
      put("rsqrt.approx", reciprocalOf(Intrinsic::sqrt));
      put("floor", intrinsic(Intrinsic::floor));
      put("ceil", intrinsic(Intrinsic::ceil));
      put("trunc", intrinsic(Intrinsic::trunc));
      put("round", intrinsic(Intrinsic::roundeven));
      put("saturate", clamp);
      put("lg2.approx", intrinsic(Intrinsic::log2));
      put("sin.approx", intrinsic(Intrinsic::sin));
      put("cos.approx", intrinsic(Intrinsic::cos));
    }
  table["sqrt.f"] = computed(false, intrinsic(Intrinsic::sqrt));
  for (bool flushed : {false, true}) {
    std::string tail = flushed ? ".ftz" : "";
    table["fabs" + tail] = computed(flushed, intrinsic(Intrinsic::fabs));
    table["ex2.approx" + tail] = computed(flushed, intrinsic(Intrinsic::exp2));
    table["tanh.approx" + tail] = computed(flushed, intrinsic(Intrinsic::tanh));
    table["div.full" + tail] = computed(flushed, divide);
    for (const char *sign : {"add", "fma"})
      table[std::string(sign) + ".rn" + tail + ".sat.f"] =
          computed(flushed, then(*sign == 'a' ? add : intrinsic(Intrinsic::fma), saturate));
  }
}

void addMinima(RuleTable &table) {
  for (const char *type : {"f", "d"})
    for (bool flushed : {false, true})
      for (bool nan : {false, true})
        for (bool least : {false, true}) {
          Intrinsic::ID id = nan ? (least ? Intrinsic::minimum : Intrinsic::maximum)
                                 : (least ? Intrinsic::minimumnum : Intrinsic::maximumnum);
          table[std::string(least ? "fmin" : "fmax") + (flushed ? ".ftz" : "") + (nan ? ".nan." : ".") +
                type] = computed(flushed, intrinsic(id));
        }
}

// The upper half of a product.
Rule highProduct(bool isSigned) {
  return [=](Lowering &l) -> Value * {
    IRBuilder<> &b = l.builder;
    unsigned bits = l.type()->getIntegerBitWidth();
    Type *wide = b.getIntNTy(2 * bits);
    auto widen = [&](Value *v) { return isSigned ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide); };
    return b.CreateTrunc(b.CreateLShr(b.CreateMul(widen(l.argument(0)), widen(l.argument(1))), bits),
                         l.type());
  };
}

// |a - b| + c
Rule sumOfDifference(bool isSigned) {
  return [=](Lowering &l) -> Value * {
    IRBuilder<> &b = l.builder;
    Value *x = l.argument(0), *y = l.argument(1);
    Value *more = isSigned ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y);
    return b.CreateAdd(b.CreateSelect(more, b.CreateSub(x, y), b.CreateSub(y, x)), l.argument(2));
  };
}

void addIntegers(RuleTable &table) {
  for (const char *type : {"i", "s", "ll"}) {
    table["mulhi." + std::string(type)] = highProduct(true);
    table["sad." + std::string(type)] = sumOfDifference(true);
  }
  for (const char *type : {"ui", "us", "ull"}) {
    table["mulhi." + std::string(type)] = highProduct(false);
    table["sad." + std::string(type)] = sumOfDifference(false);
  }
  auto product24 = [](bool isSigned) {
    return [=](Lowering &l) -> Value * {
      IRBuilder<> &b = l.builder;
      auto low = [&](Value *v) {
        v = b.CreateShl(v, 8);
        return isSigned ? b.CreateAShr(v, 8) : b.CreateLShr(v, 8);
      };
      return b.CreateMul(low(l.argument(0)), low(l.argument(1)));
    };
  };
  table["mul24.i"] = product24(true);
  table["mul24.ui"] = product24(false);
  auto named = [](const char *function) {
    return [=](Lowering &l) -> Value * {
      SmallVector<Value *> arguments(l.call.args());
      return l.pure(function, l.type(), arguments);
    };
  };
  table["prmt"] = named("prmt");
  // Funnel shifts that stop at 32.
  auto funnel = [](bool left) {
    return [=](Lowering &l) -> Value * {
      IRBuilder<> &b = l.builder;
      Value *high = b.CreateZExt(l.argument(0), b.getInt64Ty()),
            *low = b.CreateZExt(l.argument(1), b.getInt64Ty());
      Value *both = b.CreateOr(b.CreateShl(high, 32), low);
      Value *by = b.CreateBinaryIntrinsic(Intrinsic::umin, l.argument(2), b.getInt32(32));
      by = b.CreateZExt(by, b.getInt64Ty());
      return b.CreateTrunc(left ? b.CreateLShr(b.CreateShl(both, by), 32) : b.CreateLShr(both, by), l.type());
    };
  };
  table["fshl.clamp"] = funnel(true);
  table["fshr.clamp"] = funnel(false);
}

} // namespace

void addMathRules(RuleTable &table) {
  addRounded(table);
  addMinima(table);
  addIntegers(table);
}

} // namespace standin
