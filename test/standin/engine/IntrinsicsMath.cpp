// Arithmetic: intrinsics of NVPTX that LLVM has a general one for, with its variants for rounding, flushing
// and NaN.
#include "Intrinsics.h"

using namespace llvm;

namespace standin {

// `ftz`: subnormal operands and results become zeros of the same sign.
static Value *flush(Lowering &l, Value *value) {
  IRBuilder<> &b = l.builder;
  Type *type = value->getType();
  if (!type->getScalarType()->isFloatTy())
    return value;
  Value *magnitude = b.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  Value *tiny = b.CreateFCmpOLT(magnitude, ConstantFP::get(type, 0x1p-126));
  return b.CreateSelect(tiny, b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::getZero(type), value),
                        value);
}

static SmallVector<Value *> operands(Lowering &l, bool flushed) {
  SmallVector<Value *> all;
  for (Value *argument : l.call.args())
    all.push_back(flushed ? flush(l, argument) : argument);
  return all;
}

using Compute = std::function<Value *(Lowering &, ArrayRef<Value *>)>;

static Rule computed(bool flushed, Compute compute) {
  return [=](Lowering &l) {
    Value *made = compute(l, operands(l, flushed));
    return flushed ? flush(l, made) : made;
  };
}

static Compute intrinsic(Intrinsic::ID id) {
  return [=](Lowering &l, ArrayRef<Value *> values) -> Value * {
    return l.builder.CreateIntrinsic(values[0]->getType(), id, values);
  };
}

static Compute reciprocalOf(Intrinsic::ID id) { // none: of the value itself
  return [=](Lowering &l, ArrayRef<Value *> values) -> Value * {
    Value *below = id == Intrinsic::not_intrinsic ? values[0] : l.builder.CreateUnaryIntrinsic(id, values[0]);
    return l.builder.CreateFDiv(ConstantFP::get(values[0]->getType(), 1.0), below);
  };
}

static void addRounded(RuleTable &table) {
  // Only rounding to nearest: the other modes are not what the host computes in.
  for (const char *type : {"f", "d"})
    for (bool flushed : {false, true}) {
      if (flushed && *type == 'd')
        continue;
      std::string tail = std::string(flushed ? ".ftz." : ".") + type;
      table["fma.rn" + tail] = computed(flushed, intrinsic(Intrinsic::fma));
      table["add.rn" + tail] = computed(
          flushed, [](Lowering &l, ArrayRef<Value *> v) { return l.builder.CreateFAdd(v[0], v[1]); });
      table["mul.rn" + tail] = computed(
          flushed, [](Lowering &l, ArrayRef<Value *> v) { return l.builder.CreateFMul(v[0], v[1]); });
      for (const char *how : {"rn", "approx", "full"})
        table["div." + std::string(how) + tail] = computed(
            flushed, [](Lowering &l, ArrayRef<Value *> v) { return l.builder.CreateFDiv(v[0], v[1]); });
      for (const char *how : {"rn", "approx"}) {
        table["rcp." + std::string(how) + tail] = computed(flushed, reciprocalOf(Intrinsic::not_intrinsic));
        table["sqrt." + std::string(how) + tail] = computed(flushed, intrinsic(Intrinsic::sqrt));
      }
      table["rsqrt.approx" + tail] = computed(flushed, reciprocalOf(Intrinsic::sqrt));
      table["floor" + tail] = computed(flushed, intrinsic(Intrinsic::floor));
      table["ceil" + tail] = computed(flushed, intrinsic(Intrinsic::ceil));
      table["trunc" + tail] = computed(flushed, intrinsic(Intrinsic::trunc));
      table["round" + tail] = computed(flushed, intrinsic(Intrinsic::roundeven));
      table["saturate" + tail] = computed(flushed, [](Lowering &l, ArrayRef<Value *> v) -> Value * {
        Type *type = v[0]->getType();
        Value *low = l.builder.CreateBinaryIntrinsic(Intrinsic::maxnum, v[0], ConstantFP::getZero(type));
        return l.builder.CreateBinaryIntrinsic(Intrinsic::minnum, low, ConstantFP::get(type, 1.0));
      });
      table["fmin" + tail] = computed(flushed, intrinsic(Intrinsic::minimumnum));
      table["fmax" + tail] = computed(flushed, intrinsic(Intrinsic::maximumnum));
      table["fabs" + tail] = computed(flushed, intrinsic(Intrinsic::fabs));
    }
  table["sqrt.f"] = computed(false, intrinsic(Intrinsic::sqrt));
  table["fabs"] = computed(false, intrinsic(Intrinsic::fabs));
  table["fabs.ftz"] = computed(true, intrinsic(Intrinsic::fabs));
  for (bool flushed : {false, true}) {
    std::string tail = flushed ? ".ftz" : "";
    for (const char *type : {"", ".f", ".d"}) {
      table["ex2.approx" + tail + type] = computed(flushed, intrinsic(Intrinsic::exp2));
      table["lg2.approx" + tail + type] = computed(flushed, intrinsic(Intrinsic::log2));
      table["sin.approx" + tail + type] = computed(flushed, intrinsic(Intrinsic::sin));
      table["cos.approx" + tail + type] = computed(flushed, intrinsic(Intrinsic::cos));
      table["tanh.approx" + tail + type] = computed(flushed, intrinsic(Intrinsic::tanh));
    }
  }
}

void addMathRules(RuleTable &table) { addRounded(table); }

} // namespace standin
