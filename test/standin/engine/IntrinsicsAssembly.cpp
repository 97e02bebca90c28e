// Inline PTX: texts that only hold on to registers, and wgmma.mma_async, which has no intrinsic.
#include "Functions.h"
#include "Intrinsics.h"
#include "Wgmma.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace standin {
namespace {

// Which value an operand of a text is.
class Operands {
public:
  explicit Operands(const CallBase &call) : call(call) {
    InlineAsm::ConstraintInfoVector all = cast<InlineAsm>(call.getCalledOperand())->ParseConstraints();
    for (const InlineAsm::ConstraintInfo &one : all) {
      if (one.Type == InlineAsm::isOutput) {
        plain &= !one.isIndirect && inputs == 0;
        tied.push_back(one.MatchingInput);
      } else if (one.Type == InlineAsm::isInput) {
        plain &= !one.isIndirect;
        ++inputs;
      }
    }
    for (int &input : tied) // from the number among all to that of an argument
      input = input < 0 ? -1 : input - int(tied.size());
    plain &= inputs == call.arg_size();
  }
  unsigned outputs() const { return tied.size(); }
  // The argument that goes in where output i comes out; null: none does.
  Value *into(unsigned i) const { return tied[i] < 0 ? nullptr : call.getArgOperand(tied[i]); }
  // "$7": the argument. Null for an output and for what is no operand.
  Value *input(StringRef text) const {
    unsigned number;
    if (!text.consume_front("$") || text.getAsInteger(10, number) || number < outputs() ||
        number - outputs() >= call.arg_size())
      return nullptr;
    return call.getArgOperand(number - outputs());
  }
  // A number in the text, or a constant operand.
  std::optional<int64_t> number(StringRef text) const {
    int64_t value;
    if (!text.getAsInteger(10, value))
      return value;
    if (auto *constant = dyn_cast_or_null<ConstantInt>(input(text)))
      return constant->getSExtValue();
    return std::nullopt;
  }
  bool plain = true; // nothing indirect, the order as expected

private:
  const CallBase &call;
  SmallVector<int> tied;
  unsigned inputs = 0;
};

// wgmma.mma_async, alone or behind a setp that makes scale-d.
struct WgmmaText {
  WgmmaShape shape{};
  SmallVector<Value *> sums, a; // a: four registers, or the descriptor
  Value *b = nullptr;
  Value *adds = nullptr; // null: yes
};

// "x, {y, z}, w" to its parts; those in braces are lists.
std::vector<std::vector<std::string>> partsOf(StringRef text) {
  std::vector<std::vector<std::string>> parts;
  while (!text.empty()) {
    StringRef part;
    text = text.ltrim(", ");
    if (text.consume_front("{")) {
      std::tie(part, text) = text.split('}');
    } else {
      std::tie(part, text) = text.split(',');
    }
    std::vector<std::string> list;
    SmallVector<StringRef> words;
    part.split(words, ',');
    for (StringRef word : words)
      list.push_back(word.trim().str());
    parts.push_back(list);
  }
  return parts;
}

// The name "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16".
bool readName(StringRef name, WgmmaShape &shape) {
  if (!name.consume_front("wgmma.mma_async.sync.aligned.m64n") || name.consumeInteger(10, shape.n) ||
      shape.n % 8 || shape.n < 8 || shape.n > 256 || !name.consume_front("k16.f32."))
    return false;
  shape.type = name == "bf16.bf16" ? Element::BF16 : Element::F16;
  return name == "bf16.bf16" || name == "f16.f16";
}

bool readProduct(StringRef line, const Operands &operands, StringMap<Value *> &predicates, WgmmaText &text) {
  size_t space = line.find_first_of(" \t");
  if (space == StringRef::npos || !readName(line.take_front(space), text.shape))
    return false;
  auto parts = partsOf(line.drop_front(space).trim());
  if (parts.size() < 7 || parts[0].size() != text.shape.sums() || operands.outputs() != text.shape.sums())
    return false;
  for (unsigned i = 0; i < text.shape.sums(); ++i) {
    text.sums.push_back(operands.into(i));
    if (parts[0][i] != "$" + std::to_string(i) || !text.sums.back() ||
        !text.sums.back()->getType()->isFloatTy())
      return false;
  }
  text.shape.registersA = parts[1].size() == 4;
  for (const std::string &word : parts[1])
    text.a.push_back(operands.input(word));
  text.b = operands.input(parts[2][0]);
  for (Value *word : text.a)
    if (!word || !word->getType()->isIntegerTy(text.shape.registersA ? 32 : 64))
      return false;
  if (!text.b || !text.b->getType()->isIntegerTy(64))
    return false;
  auto predicate = predicates.find(parts[3][0]);
  if (predicate != predicates.end())
    text.adds = predicate->second;
  else if (operands.number(parts[3][0]) != 1)
    return false;
  std::vector<int64_t> numbers; // imm-scale-a, imm-scale-b, imm-trans-a where A has a descriptor, imm-trans-b
  for (size_t i = 4; i < parts.size(); ++i) {
    std::optional<int64_t> number = operands.number(parts[i][0]);
    if (!number)
      return false;
    numbers.push_back(*number);
  }
  auto isSign = [](int64_t x) { return x == 1 || x == -1; };
  auto isFlag = [](int64_t x) { return x == 0 || x == 1; };
  if (numbers.size() != (text.shape.registersA ? 3 : 4) || !isSign(numbers[0]) || !isSign(numbers[1]) ||
      !isFlag(numbers[2]) || !isFlag(numbers.back()))
    return false;
  text.shape.negateA = numbers[0] < 0;
  text.shape.negateB = numbers[1] < 0;
  text.shape.acrossA = !text.shape.registersA && numbers[2];
  text.shape.acrossB = numbers.back();
  return true;
}

std::optional<WgmmaText> readWgmma(const CallBase &call) {
  Operands operands(call);
  if (!operands.plain)
    return std::nullopt;
  WgmmaText text;
  StringMap<Value *> predicates;
  SmallVector<StringRef> lines;
  SplitString(cast<InlineAsm>(call.getCalledOperand())->getAsmString(), lines, ";");
  bool product = false;
  for (StringRef line : lines) {
    line = line.trim();
    if (line.starts_with("{"))
      line = line.drop_front().trim();
    if (line.empty() || line == "}")
      continue;
    if (product) // nothing comes behind it
      return std::nullopt;
    if (line.consume_front(".reg .pred ")) {
      predicates[line.trim()] = nullptr;
    } else if (line.consume_front("setp.ne.b32 ")) {
      auto parts = partsOf(line);
      Value *value = parts.size() == 3 ? operands.input(parts[1][0]) : nullptr;
      if (!value || !value->getType()->isIntegerTy(32) || parts[2][0] != "0" ||
          !predicates.count(parts[0][0]))
        return std::nullopt;
      predicates[parts[0][0]] = value;
    } else if (!(product = readProduct(line, operands, predicates, text))) {
      return std::nullopt;
    }
  }
  return product ? std::optional(text) : std::nullopt;
}

bool isEmpty(const CallBase &call) {
  return StringRef(cast<InlineAsm>(call.getCalledOperand())->getAsmString()).trim().empty();
}

Type *elementOf(Type *type, unsigned i) {
  auto *record = dyn_cast<StructType>(type);
  return record ? record->getElementType(i) : type;
}

Value *putResult(Lowering &l, Value *made, Value *element, unsigned i) {
  return isa<StructType>(l.type()) ? l.builder.CreateInsertValue(made, element, i) : element;
}

Value *lowerProduct(Lowering &l, const WgmmaText &text) {
  unsigned count = text.shape.sums();
  Value *in = l.words(count + 4), *out = l.words(count);
  for (auto [i, sum] : enumerate(text.sums))
    l.builder.CreateStore(sum, l.wordAt(in, i));
  if (text.shape.registersA)
    for (auto [i, word] : enumerate(text.a))
      l.builder.CreateStore(word, l.wordAt(in, count + i));
  Value *a = text.shape.registersA ? l.builder.getInt64(0) : text.a[0];
  l.engine("wgmma", l.builder.getVoidTy(),
           {in, out, a, text.b, text.adds ? text.adds : l.word(1), l.word(text.shape.packed()), l.site()});
  Value *made = PoisonValue::get(l.type());
  for (unsigned i = 0; i < count; ++i)
    made = putResult(l, made, l.builder.CreateLoad(l.builder.getFloatTy(), l.wordAt(out, i)), i);
  return made;
}

} // namespace

// Texts that hold registers and do nothing else: every result comes in where it goes out.
bool knowsAssembly(const CallBase &call) {
  if (!isEmpty(call))
    return readWgmma(call).has_value();
  Operands operands(call);
  if (!operands.plain)
    return false;
  for (unsigned i = 0; i < operands.outputs(); ++i)
    if (!operands.into(i) && !(operands.outputs() == 1 && call.arg_size() == 1))
      return false;
  return true;
}

Value *lowerAssembly(Lowering &l) {
  if (!isEmpty(l.call))
    return lowerProduct(l, *readWgmma(l.call));
  Operands operands(l.call);
  unsigned count = operands.outputs();
  if (!count)
    return nullptr;
  SmallVector<Value *> values;
  SmallVector<unsigned> held; // 32 bits: a sum of wgmma may be among them
  for (unsigned i = 0; i < count; ++i) {
    Value *into = operands.into(i);
    values.push_back(into ? into : l.argument(0));
    if (elementOf(l.type(), i)->getPrimitiveSizeInBits() == 32)
      held.push_back(i);
  }
  if (!held.empty()) {
    Value *words = l.words(held.size());
    for (auto [place, i] : enumerate(held))
      l.builder.CreateStore(values[i], l.wordAt(words, place));
    l.engine("registers", l.builder.getVoidTy(), {words, l.word(held.size()), l.site()});
    for (auto [place, i] : enumerate(held))
      values[i] = l.builder.CreateLoad(elementOf(l.type(), i), l.wordAt(words, place));
  }
  Value *made = PoisonValue::get(l.type());
  for (unsigned i = 0; i < count; ++i)
    made = putResult(l, made, values[i], i);
  return made;
}

} // namespace standin
