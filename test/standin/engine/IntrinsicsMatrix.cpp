// ldmatrix, stmatrix, mma.sync and what wgmma has beside its products.
#include "Intrinsics.h"
#include "Mma.h"

#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace standin {
namespace {

// The result of the call, whose members are 4 bytes each.
Value *fromWords(Lowering &l, Value *base) {
  auto *record = dyn_cast<StructType>(l.type());
  if (!record)
    return l.builder.CreateLoad(l.type(), base);
  Value *made = PoisonValue::get(record);
  for (unsigned i = 0; i < record->getNumElements(); ++i)
    made = l.builder.CreateInsertValue(made,
                                       l.builder.CreateLoad(record->getElementType(i), l.wordAt(base, i)), i);
  return made;
}

void addMoves(RuleTable &table) {
  for (unsigned count : {1, 2, 4})
    for (bool transposed : {false, true}) {
      std::string tail =
          ".sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + ".b16";
      table["ldmatrix" + tail] = [=](Lowering &l) -> Value * {
        Value *result = l.words(count);
        l.engine("ldmatrix", l.builder.getVoidTy(),
                 {l.argument(0), result, l.word(count), l.word(transposed), l.site(16, kRead, 16)});
        return fromWords(l, result);
      };
      table["stmatrix" + tail] = [=](Lowering &l) -> Value * {
        Value *operands = l.words(count);
        for (unsigned i = 0; i < count; ++i)
          l.builder.CreateStore(l.argument(1 + i), l.wordAt(operands, i));
        l.engine("stmatrix", l.builder.getVoidTy(),
                 {l.argument(0), operands, l.word(count), l.word(transposed), l.site(16, kWrite, 16)});
        return nullptr;
      };
    }
}

void addProduct(RuleTable &table, const std::string &tail, MmaShape shape) {
  table["mma.m16n8k" + std::to_string(shape.k) + ".row.col." + tail] = [=](Lowering &l) -> Value * {
    unsigned count = shape.wordsOfA() + shape.wordsOfB() + MmaShape::kSums;
    Value *operands = l.words(count), *result = l.words(MmaShape::kSums);
    for (unsigned i = 0; i < count; ++i)
      l.builder.CreateStore(l.argument(i), l.wordAt(operands, i));
    l.engine("mma", l.builder.getVoidTy(), {operands, result, l.word(shape.packed()), l.site()});
    return fromWords(l, result);
  };
}

} // namespace

void addMatrixRules(RuleTable &table) {
  addMoves(table);
  for (const char *step : {"fence", "commit"})
    table["wgmma." + std::string(step) + (step[0] == 'f' ? "" : "_group") + ".sync.aligned"] =
        [=](Lowering &l) -> Value * {
      return l.engine("wgmma_" + std::string(step), l.builder.getVoidTy(), {l.site()}), nullptr;
    };
  table["wgmma.wait_group.sync.aligned"] = [](Lowering &l) -> Value * {
    return l.engine("wgmma_wait", l.builder.getVoidTy(), {l.argument(0), l.site()}), nullptr;
  };
  // The types of f16's sums are in the name, the result's first.
  addProduct(table, "bf16", {16, Element::BF16});
  addProduct(table, "f32.f32", {16, Element::F16});
  addProduct(table, "tf32", {8, Element::TF32});
}

} // namespace standin
