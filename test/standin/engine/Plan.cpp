#include "Plan.h"
#include "Intrinsics.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace standin {
namespace {

// The functions and variables that code reaches from a kernel.
struct Reach {
  SetVector<const Function *> functions;
  SetVector<const GlobalVariable *> variables;

  explicit Reach(const Function &kernel) {
    functions.insert(&kernel);
    SmallPtrSet<const Constant *, 32> seen;
    for (size_t i = 0; i < functions.size(); ++i)
      for (const Instruction &inst : instructions(*functions[i]))
        for (const Value *operand : inst.operands())
          if (auto *constant = dyn_cast<Constant>(operand))
            visit(constant, seen);
  }

  void visit(const Constant *constant, SmallPtrSetImpl<const Constant *> &seen) {
    if (!seen.insert(constant).second)
      return;
    if (auto *function = dyn_cast<Function>(constant)) {
      functions.insert(function);
    } else if (auto *variable = dyn_cast<GlobalVariable>(constant)) {
      variables.insert(variable);
      if (variable->hasInitializer())
        visit(variable->getInitializer(), seen);
    } else {
      for (const Value *operand : constant->operands())
        if (auto *inner = dyn_cast<Constant>(operand))
          visit(inner, seen);
    }
  }
};

uint64_t alignmentOf(const GlobalVariable &variable, const DataLayout &layout) {
  uint64_t align = variable.getAlign().valueOrOne().value();
  return std::max(align, layout.getABITypeAlign(variable.getValueType()).value());
}

// The three numbers of `nvvm.maxntid`: "128", "16,8".
void readSizes(const Function &function, StringRef attribute, uint32_t sizes[3]) {
  SmallVector<StringRef, 3> words;
  function.getFnAttribute(attribute).getValueAsString().split(words, ',');
  for (size_t i = 0; i < words.size() && i < 3; ++i)
    if (words[i].trim().getAsInteger(10, sizes[i]))
      sizes[i] = 1;
}

Kernel describe(const Function &function, const DataLayout &layout) {
  Kernel kernel;
  kernel.name = function.getName().str();
  for (const Argument &argument : function.args()) {
    Type *type = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
    uint64_t align = layout.getABITypeAlign(type).value();
    if (argument.hasByValAttr())
      align = std::max<uint64_t>(align, argument.getParamAlign().valueOrOne().value());
    uint32_t bytes = layout.getTypeAllocSize(type);
    kernel.parameterBytes = alignTo(kernel.parameterBytes, align);
    kernel.parameters.push_back({kernel.parameterBytes, bytes});
    kernel.parameterBytes += bytes;
  }
  if (function.hasFnAttribute("nvvm.maxntid")) {
    uint32_t most[3] = {1, 1, 1};
    readSizes(function, "nvvm.maxntid", most);
    kernel.maxThreads = most[0] * most[1] * most[2];
  }
  if (function.hasFnAttribute("nvvm.reqntid")) {
    for (uint32_t &size : kernel.requiredThreads)
      size = 1;
    readSizes(function, "nvvm.reqntid", kernel.requiredThreads);
    kernel.maxThreads = kernel.requiredThreads[0] * kernel.requiredThreads[1] * kernel.requiredThreads[2];
  }
  kernel.flushDenormals =
      function.getFnAttribute("denormal-fp-math-f32").getValueAsString().starts_with("preserve-sign");
  return kernel;
}

// Writes a variable's initial value as bytes.
class Initializer {
public:
  Initializer(Plan &plan, const DataLayout &layout) : plan(plan), layout(layout) {}

  // False when the value holds what has no bytes here: a function's address.
  bool write(const Constant *value, uint64_t at) {
    if (isa<ConstantAggregateZero, UndefValue, ConstantPointerNull>(value))
      return true;
    if (auto *number = dyn_cast<ConstantInt>(value))
      return writeBits(number->getValue(), at);
    if (auto *number = dyn_cast<ConstantFP>(value))
      return writeBits(number->getValueAPF().bitcastToAPInt(), at);
    if (auto *data = dyn_cast<ConstantDataSequential>(value)) {
      uint64_t step = layout.getTypeAllocSize(data->getElementType());
      for (unsigned i = 0; i < data->getNumElements(); ++i)
        if (!write(data->getElementAsConstant(i), at + i * step))
          return false;
      return true;
    }
    if (auto *aggregate = dyn_cast<ConstantAggregate>(value)) {
      auto *record = dyn_cast<StructType>(value->getType());
      for (unsigned i = 0; i < aggregate->getNumOperands(); ++i) {
        const Constant *element = aggregate->getOperand(i);
        uint64_t offset = record ? uint64_t(layout.getStructLayout(record)->getElementOffset(i))
                                 : i * layout.getTypeAllocSize(element->getType());
        if (!write(element, at + offset))
          return false;
      }
      return true;
    }
    if (value->getType()->isPointerTy()) {
      APInt offset(layout.getIndexTypeSizeInBits(value->getType()), 0);
      auto *base = value->stripAndAccumulateConstantOffsets(layout, offset, true);
      auto found = plan.place.find(dyn_cast<GlobalVariable>(base));
      if (found == plan.place.end())
        return false;
      plan.pointers.push_back({at, found->second + offset.getSExtValue()});
      return true;
    }
    return false;
  }

private:
  bool writeBits(const APInt &bits, uint64_t at) {
    for (unsigned i = 0; i * 8 < bits.getBitWidth(); ++i)
      plan.initial[at + i] =
          char(bits.extractBitsAsZExtValue(std::min(8u, bits.getBitWidth() - i * 8), i * 8));
    return true;
  }
  Plan &plan;
  const DataLayout &layout;
};

// What a function uses that the engine lacks; empty: nothing.
std::string missingIn(const Function &function) {
  for (const Instruction &inst : instructions(function)) {
    if (isa<InvokeInst, ResumeInst, LandingPadInst, VAArgInst>(inst))
      return std::string("the instruction ") + inst.getOpcodeName();
    auto *call = dyn_cast<CallBase>(&inst);
    if (!call)
      continue;
    if (auto *text = dyn_cast<InlineAsm>(call->getCalledOperand())) {
      if (!knowsAssembly(*call))
        return ("the PTX text `" + text->getAsmString() + "`").str();
      continue;
    }
    const Function *callee = call->getCalledFunction();
    if (callee && callee->isDeclaration() && !knowsFunction(*callee))
      return (callee->isIntrinsic() ? "the intrinsic " : "the function ") + callee->getName().str();
  }
  return "";
}

// Variables of global and constant memory, one behind the other. Gives the name of one whose initial value
// has no bytes; empty: there is none.
std::string placeVariables(const Module &module, Plan &plan) {
  const DataLayout &layout = module.getDataLayout();
  for (const GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() == kSharedSpace || variable.getName().starts_with("llvm."))
      continue;
    uint64_t bytes = layout.getTypeAllocSize(variable.getValueType());
    uint64_t offset = alignTo(plan.initial.size(), std::max<uint64_t>(16, alignmentOf(variable, layout)));
    plan.initial.resize(offset + bytes);
    plan.place[&variable] = offset;
    plan.variables.push_back({variable.getName().str(), offset, bytes, variable.isConstant()});
  }
  std::string bad;
  Initializer initializer(plan, layout);
  for (const GlobalVariable &variable : module.globals())
    if (plan.place.count(&variable) &&
        (!variable.hasInitializer() || !initializer.write(variable.getInitializer(), plan.place[&variable])))
      bad = variable.getName().str();
  return bad;
}

// Shared variables: what several kernels use lies at one place for all of them, the others behind it. Gaps
// between them, which a GPU has not, so that an index that runs over does not end in the next one.
class SharedPlaces {
public:
  SharedPlaces(Plan &plan, const DataLayout &layout, const std::vector<Reach> &reaches)
      : plan(plan), layout(layout) {
    for (const Reach &reach : reaches)
      for (const GlobalVariable *variable : reach.variables)
        if (variable->getAddressSpace() == kSharedSpace && variable->hasInitializer())
          ++users[variable];
    uint64_t exact = 0;
    for (auto [variable, count] : users)
      if (count > 1)
        put(variable, common, exact);
  }

  void placeFor(Kernel &kernel, const Reach &reach) {
    uint64_t placed = common, exact = 0;
    for (const GlobalVariable *variable : reach.variables) {
      unsigned count = users.lookup(variable);
      if (count == 1)
        put(variable, placed, exact);
      else if (count > 1)
        exact = alignTo(exact, alignmentOf(*variable, layout)) +
                layout.getTypeAllocSize(variable->getValueType());
    }
    kernel.staticShared = exact;
    kernel.placedShared = exact ? placed : 0;
  }

private:
  static constexpr uint64_t kGap = 64;

  void put(const GlobalVariable *variable, uint64_t &placed, uint64_t &exact) {
    uint64_t align = alignmentOf(*variable, layout),
             bytes = layout.getTypeAllocSize(variable->getValueType());
    placed = alignTo(placed, align);
    plan.sharedPlace[variable] = placed;
    placed += bytes + kGap;
    exact = alignTo(exact, align) + bytes;
  }

  Plan &plan;
  const DataLayout &layout;
  MapVector<const GlobalVariable *, unsigned> users;
  uint64_t common = 0; // bytes
};

// Why the engine cannot run a kernel that reaches this; empty: it can.
std::string unsupportedIn(const Reach &reach, const std::string &badVariable) {
  for (const Function *function : reach.functions)
    if (std::string missing = missingIn(*function); !missing.empty())
      return missing;
  for (const GlobalVariable *variable : reach.variables)
    if (!badVariable.empty() && variable->getName() == badVariable)
      return "the initial value of @" + badVariable;
  return "";
}

} // namespace

tessera::Result<Plan> planModule(Module &module) {
  const DataLayout &layout = module.getDataLayout();
  Plan plan;
  if (!module.getTargetTriple().isNVPTX())
    return tessera::Failure{"cannot load kernels", module.getModuleIdentifier(),
                            "the bitcode is for " + module.getTargetTriple().str(),
                            "give what the NVPTX back end was given"};
  std::string badVariable = placeVariables(module, plan);
  std::vector<Reach> reaches;
  for (Function &function : module)
    if (function.getCallingConv() == CallingConv::PTX_Kernel && !function.isDeclaration()) {
      plan.kernels.push_back({describe(function, layout), &function});
      reaches.emplace_back(function);
    }
  SharedPlaces shared(plan, layout, reaches);
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    Kernel &kernel = plan.kernels[i].kernel;
    kernel.index = i;
    shared.placeFor(kernel, reaches[i]);
    kernel.unsupported = unsupportedIn(reaches[i], badVariable);
  }
  return plan;
}

} // namespace standin
