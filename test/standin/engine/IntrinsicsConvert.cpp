// Conversions between types of numbers.
#include "Intrinsics.h"

using namespace llvm;

namespace standin {
// In integer arithmetic: the host's own instruction flushes subnormals, and not every host has it.
Value *roundToBFloat(IRBuilder<> &b, Value *value, bool nearest) {
  Type *type = value->getType(), *words = type->getWithNewType(b.getInt32Ty());
  Value *bits = b.CreateBitCast(value, words), *rounded = bits;
  if (nearest) {
    Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), ConstantInt::get(words, 1));
    rounded = b.CreateAdd(bits, b.CreateAdd(odd, ConstantInt::get(words, 0x7fff)));
  }
  rounded = b.CreateSelect(b.CreateFCmpUNO(value, value), ConstantInt::get(words, 0x7fff0000), rounded);
  Value *halves = b.CreateTrunc(b.CreateLShr(rounded, 16), type->getWithNewType(b.getInt16Ty()));
  return b.CreateBitCast(halves, type->getWithNewType(Type::getBFloatTy(b.getContext())));
}

namespace {

Value *toHalf(Lowering &l, Value *value, bool nearest) {
  IRBuilder<> &b = l.builder;
  Type *half = b.getHalfTy();
  Value *made = b.CreateFPTrunc(value, half);
  if (nearest)
    return made;
  // One step back where rounding went away from zero.
  Value *back = b.CreateFPExt(made, value->getType());
  Value *further = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(Intrinsic::fabs, back),
                                   b.CreateUnaryIntrinsic(Intrinsic::fabs, value));
  Value *bits = b.CreateBitCast(made, b.getInt16Ty());
  return b.CreateBitCast(b.CreateSelect(further, b.CreateSub(bits, b.getInt16(1)), bits), half);
}

Value *positive(Lowering &l, Value *value, bool relu) {
  return relu ? l.builder.CreateBinaryIntrinsic(Intrinsic::maximum, value,
                                                ConstantFP::getZero(value->getType()))
              : value;
}

void addNarrow(RuleTable &table) {
  for (bool nearest : {true, false})
    for (bool relu : {false, true}) {
      std::string tail = std::string(nearest ? ".rn" : ".rz") + (relu ? ".relu" : "");
      auto narrow = [=](bool bfloat) {
        return [=](Lowering &l, Value *value) {
          value = positive(l, value, relu);
          return bfloat ? roundToBFloat(l.builder, value, nearest) : toHalf(l, value, nearest);
        };
      };
      for (bool bfloat : {false, true}) {
        auto one = narrow(bfloat);
        std::string name = bfloat ? "bf16" : "f16";
        table["f2" + name + tail] = [=](Lowering &l) { return one(l, l.argument(0)); };
        // The first operand is the upper half.
        table["ff2" + name + "x2" + tail] = [=](Lowering &l) -> Value * {
          Value *low = one(l, l.argument(1)), *high = one(l, l.argument(0));
          Value *pair = l.builder.CreateInsertElement(PoisonValue::get(l.type()), low, uint64_t(0));
          return l.builder.CreateInsertElement(pair, high, uint64_t(1));
        };
      }
    }
  table["f2h.rn"] = [](Lowering &l) -> Value * {
    return l.builder.CreateBitCast(toHalf(l, l.argument(0), true), l.type());
  };
  table["bf2h.rn"] = [](Lowering &l) -> Value * {
    Value *wide = l.builder.CreateFPExt(l.argument(0), l.builder.getFloatTy());
    return l.builder.CreateBitCast(toHalf(l, wide, true), l.type());
  };
  // TF32: the lower 13 bits of a float are cut off. `rna`: ties away from zero.
  for (const char *how : {"rn", "rna", "rz"})
    table["f2tf32." + std::string(how)] = [=](Lowering &l) -> Value * {
      IRBuilder<> &b = l.builder;
      Value *bits = b.CreateBitCast(l.argument(0), b.getInt32Ty()), *rounded = bits;
      if (std::string(how) == "rna")
        rounded = b.CreateAdd(bits, b.getInt32(0x1000));
      if (std::string(how) == "rn")
        rounded = b.CreateAdd(
            bits, b.CreateAdd(b.getInt32(0xfff), b.CreateAnd(b.CreateLShr(bits, 13), b.getInt32(1))));
      rounded = b.CreateAnd(rounded, b.getInt32(~0x1fffu));
      return b.CreateSelect(b.CreateFCmpUNO(l.argument(0), l.argument(0)), b.getInt32(0x7fffffff), rounded);
    };
}

void addIntegers(RuleTable &table) {
  std::pair<const char *, Intrinsic::ID> modes[] = {{"rn", Intrinsic::roundeven},
                                                    {"rz", Intrinsic::trunc},
                                                    {"rm", Intrinsic::floor},
                                                    {"rp", Intrinsic::ceil}};
  for (auto [mode, round] : modes)
    for (const char *from : {"f", "d"})
      for (const char *to : {"i", "ui", "ll", "ull"}) {
        bool isSigned = *to != 'u';
        Rule rule = [=, round = round](
                        Lowering &l) -> Value * { // what does not fit becomes the nearest that does; a NaN 0
          Value *whole = l.builder.CreateUnaryIntrinsic(round, l.argument(0));
          return l.builder.CreateIntrinsic(isSigned ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                           {l.type(), whole->getType()}, {whole});
        };
        table[std::string(from) + "2" + to + "." + mode] = rule;
        table[std::string(from) + "2" + to + "." + mode + ".ftz"] =
            rule; // a subnormal is 0 or 1 either way but for rm and rp
      }
  for (const char *mode : {"rm.ftz", "rp.ftz"})
    for (const char *to : {"i", "ui", "ll", "ull"})
      table.erase("f2" + std::string(to) + "." + mode);
  for (const char *from : {"i", "ui", "ll", "ull"})
    for (const char *to : {"f", "d"}) {
      bool isSigned = *from != 'u';
      table[std::string(from) + "2" + to + ".rn"] = [=](Lowering &l) -> Value * {
        return isSigned ? l.builder.CreateSIToFP(l.argument(0), l.type())
                        : l.builder.CreateUIToFP(l.argument(0), l.type());
      };
    }
  table["d2f.rn"] = [](Lowering &l) -> Value * { return l.builder.CreateFPTrunc(l.argument(0), l.type()); };
  table["lohi.i2d"] = [](Lowering &l) -> Value * {
    IRBuilder<> &b = l.builder;
    Value *high = b.CreateShl(b.CreateZExt(l.argument(1), b.getInt64Ty()), 32);
    return b.CreateBitCast(b.CreateOr(high, b.CreateZExt(l.argument(0), b.getInt64Ty())), l.type());
  };
  auto half = [](unsigned shift) {
    return [=](Lowering &l) -> Value * {
      Value *bits = l.builder.CreateBitCast(l.argument(0), l.builder.getInt64Ty());
      return l.builder.CreateTrunc(l.builder.CreateLShr(bits, shift), l.type());
    };
  };
  table["d2i.lo"] = half(0);
  table["d2i.hi"] = half(32);
}

} // namespace

void addConversionRules(RuleTable &table) {
  addNarrow(table);
  addIntegers(table);
}

} // namespace standin
