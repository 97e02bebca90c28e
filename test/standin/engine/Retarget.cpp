#include "Retarget.h"
#include "Intrinsics.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace standin {

std::string entrySymbol(uint32_t index) { return "standin.entry." + std::to_string(index); }

namespace {

class Retargeter {
public:
  Retargeter(Module &module, const Plan &plan, bool races)
      : module(module), plan(plan), races(races), context(module.getContext()),
        pointer(PointerType::get(context, 0)) {}

  void run(TargetMachine &host) {
    nameSites(module);
    forgetUnsupported();
    std::vector<Constant *> variables;
    for (GlobalVariable &variable : module.globals())
      variables.push_back(&variable);
    convertUsersOfConstantsToInstructions(variables);
    module.setTargetTriple(host.getTargetTriple());
    std::vector<Function *> defined;
    for (Function &function : module)
      if (!function.isDeclaration())
        defined.push_back(&function);
    for (Function *function : defined)
      addThread(*function);
    for (auto &[function, kernel] : functions) {
      flattenPointers(*function);
      replaceVariables(*function);
      replaceCalls(*function);
    }
    size_t first = sites.size();
    // The sites of a kernel are those of the functions that kernels share, which come first, and its own.
    for (auto &[function, kernel] : functions)
      if (!kernel)
        instrument(*function, function->getArg(0), sites, races);
    size_t shared = sites.size();
    std::vector<std::pair<size_t, size_t>> own(plan.kernels.size());
    for (auto &[function, kernel] : functions)
      if (kernel) {
        own[kernel->index].first = sites.size();
        instrument(*function, function->getArg(0), sites, races);
        own[kernel->index].second = sites.size();
      }
    for (auto &[function, kernel] : functions)
      if (kernel)
        emitEntry(*function, *kernel);
    for (GlobalVariable *variable : variables_())
      variable->eraseFromParent();
    sites.emit(module, kSitesSymbol);
    emitSiteRanges(first, shared, own);
    StripDebugInfo(module);
    module.setDataLayout(host.createDataLayout());
    std::string problem;
    raw_string_ostream stream(problem);
    if (verifyModule(module, &stream))
      report_fatal_error(("stand-in: retargeting made a broken module: " + problem).c_str());
  }

private:
  // Variables of the device code, all of whose uses are gone; metadata such as llvm.used among them.
  std::vector<GlobalVariable *> variables_() {
    std::vector<GlobalVariable *> all;
    for (GlobalVariable &variable : module.globals()) {
      variable.setInitializer(nullptr); // variables hold one another's addresses
      all.push_back(&variable);
    }
    for (GlobalVariable *variable : all)
      variable->replaceAllUsesWith(PoisonValue::get(variable->getType()));
    return all;
  }

  // Kernels that use what is not there, and functions that only those reach, must not reach the host's back
  // end.
  void forgetUnsupported() {
    std::vector<Function *> wanted;
    SmallPtrSet<Function *, 16> seen;
    for (const Plan::KernelPlan &kernel : plan.kernels)
      if (kernel.kernel.unsupported.empty() && seen.insert(kernel.function).second) {
        wanted.push_back(kernel.function);
        kernels[kernel.function] = &kernel.kernel;
      }
    SmallPtrSet<const Constant *, 32> visited;
    std::function<void(const Constant *)> visit = [&](const Constant *constant) {
      if (!visited.insert(constant).second)
        return;
      if (auto *function = dyn_cast<Function>(constant)) {
        if (seen.insert(const_cast<Function *>(function)).second)
          wanted.push_back(const_cast<Function *>(function));
        return;
      }
      for (const Value *operand : constant->operands())
        if (auto *inner = dyn_cast<Constant>(operand))
          visit(inner);
    };
    for (size_t i = 0; i < wanted.size(); ++i)
      for (const Instruction &inst : instructions(*wanted[i]))
        for (const Value *operand : inst.operands())
          if (auto *constant = dyn_cast<Constant>(operand))
            visit(constant);
    for (Function &function : module)
      if (!seen.count(&function))
        function.deleteBody();
  }

  Type *plain(Type *type) {
    if (type->isPointerTy())
      return pointer;
    if (auto *array = dyn_cast<ArrayType>(type))
      return ArrayType::get(plain(array->getElementType()), array->getNumElements());
    if (auto *vector = dyn_cast<VectorType>(type))
      return VectorType::get(plain(vector->getElementType()), vector->getElementCount());
    if (auto *function = dyn_cast<FunctionType>(type)) {
      SmallVector<Type *> parameters;
      for (Type *parameter : function->params())
        parameters.push_back(plain(parameter));
      return FunctionType::get(plain(function->getReturnType()), parameters, function->isVarArg());
    }
    if (auto *record = dyn_cast<StructType>(type)) {
      SmallVector<Type *> elements;
      for (Type *element : record->elements())
        elements.push_back(plain(element));
      if (elements == record->elements())
        return record;
      return StructType::get(context, elements, record->isPacked());
    }
    return type;
  }

  // Gives the function's body to a new one that has the thread as first argument.
  void addThread(Function &old) {
    SmallVector<Type *> parameters = {pointer};
    for (Argument &argument : old.args())
      parameters.push_back(plain(argument.getType()));
    FunctionType *type = FunctionType::get(plain(old.getReturnType()), parameters, false);
    Function *made = Function::Create(type, GlobalValue::InternalLinkage, 0, "", &module);
    made->takeName(&old);
    made->setDoesNotThrow();
    made->splice(made->begin(), &old);
    made->getArg(0)->setName("thread");
    // What is promised of pointers is left behind, but not the layout of arguments.
    made->addParamAttr(0, Attribute::NoAlias);
    for (unsigned i = 0; i < old.arg_size(); ++i) {
      Argument &from = *old.getArg(i), &to = *made->getArg(i + 1);
      to.takeName(&from);
      if (from.hasByValAttr()) {
        to.addAttr(Attribute::getWithByValType(context, plain(from.getParamByValType())));
        to.addAttr(Attribute::getWithAlignment(context, from.getParamAlign().valueOrOne()));
      }
      from.replaceUsesWithIf(&to, [](Use &) { return true; });
    }
    auto found = kernels.find(&old);
    functions.push_back({made, found == kernels.end() ? nullptr : found->second});
    old.replaceAllUsesWith(made);
    old.eraseFromParent();
  }

  Constant *plainConstant(Constant *constant) {
    Type *type = plain(constant->getType());
    if (isa<GlobalValue>(constant) || (type == constant->getType() && !isa<ConstantExpr>(constant)))
      return constant;
    if (isa<PoisonValue>(constant))
      return PoisonValue::get(type);
    if (isa<UndefValue>(constant))
      return UndefValue::get(type);
    if (constant->isNullValue())
      return Constant::getNullValue(type);
    if (auto *expression = dyn_cast<ConstantExpr>(constant)) {
      SmallVector<Constant *> operands;
      for (Value *operand : expression->operands())
        operands.push_back(plainConstant(cast<Constant>(operand)));
      if (expression->getOpcode() == Instruction::AddrSpaceCast)
        return operands[0];
      return expression->getWithOperands(
          operands, type, false,
          isa<GEPOperator>(expression) ? cast<GEPOperator>(expression)->getSourceElementType() : nullptr);
    }
    if (isa<ConstantAggregate>(constant)) {
      SmallVector<Constant *> elements;
      for (Value *operand : constant->operands())
        elements.push_back(plainConstant(cast<Constant>(operand)));
      if (auto *record = dyn_cast<StructType>(type))
        return ConstantStruct::get(record, elements);
      if (auto *array = dyn_cast<ArrayType>(type))
        return ConstantArray::get(array, elements);
      return ConstantVector::get(elements);
    }
    return constant;
  }

  void flattenPointers(Function &function) {
    SmallVector<Instruction *> casts;
    for (Instruction &inst : instructions(function)) {
      inst.mutateType(plain(inst.getType()));
      if (auto *local = dyn_cast<AllocaInst>(&inst))
        local->setAllocatedType(plain(local->getAllocatedType()));
      if (auto *address = dyn_cast<GetElementPtrInst>(&inst)) {
        address->setSourceElementType(plain(address->getSourceElementType()));
        address->setResultElementType(plain(address->getResultElementType()));
      }
      if (auto *call = dyn_cast<CallBase>(&inst))
        call->mutateFunctionType(cast<FunctionType>(plain(call->getFunctionType())));
      for (Use &use : inst.operands())
        if (auto *constant = dyn_cast<Constant>(use.get()))
          if (Constant *flat = plainConstant(constant); flat != constant)
            use.set(flat);
      if (isa<AddrSpaceCastInst>(inst))
        casts.push_back(&inst);
    }
    for (Instruction *cast : casts) {
      cast->replaceAllUsesWith(cast->getOperand(0));
      cast->eraseFromParent();
    }
  }

  // A variable's address is the block's shared memory, or the image's variables, and an offset.
  void replaceVariables(Function &function) {
    IRBuilder<> builder(&*function.getEntryBlock().begin());
    DenseMap<GlobalVariable *, Value *> addresses;
    Value *block = nullptr;
    auto field = [&](size_t offset) {
      if (!block)
        block = invariantLoad(builder, pointer, function.getArg(0), offsetof(ThreadContext, block));
      return invariantLoad(builder, pointer, block, offset);
    };
    for (Instruction &inst : make_early_inc_range(instructions(function)))
      for (Use &use : inst.operands()) {
        auto *variable = dyn_cast<GlobalVariable>(use.get());
        if (!variable)
          continue;
        Value *&address = addresses[variable];
        if (!address) {
          if (auto at = plan.place.find(variable); at != plan.place.end())
            address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(),
                                                         field(offsetof(BlockContext, globals)), at->second);
          else if (auto shared = plan.sharedPlace.find(variable); shared != plan.sharedPlace.end())
            address = builder.CreateConstInBoundsGEP1_64(
                builder.getInt8Ty(), field(offsetof(BlockContext, shared)), shared->second);
          else
            address = field(offsetof(BlockContext, dynamic));
          if (auto shared = plan.sharedPlace.find(variable); shared != plan.sharedPlace.end())
            cast<Instruction>(address)->setMetadata("standin.shared", sharedNote(*variable, shared->second));
        }
        use.set(address);
      }
  }

  // Which part of shared memory an address belongs to, for the check of bounds.
  MDNode *sharedNote(const GlobalVariable &variable, uint64_t offset) {
    uint64_t bytes = module.getDataLayout().getTypeAllocSize(variable.getValueType());
    Type *word = Type::getInt32Ty(context);
    return MDNode::get(context, {ConstantAsMetadata::get(ConstantInt::get(word, offset)),
                                 ConstantAsMetadata::get(ConstantInt::get(word, bytes))});
  }

  static Value *invariantLoad(IRBuilder<> &builder, Type *type, Value *base, size_t offset) {
    LoadInst *load =
        builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset));
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(builder.getContext(), {}));
    load->setMetadata("standin.own", MDNode::get(builder.getContext(), {}));
    return load;
  }

  void replaceCalls(Function &function) {
    for (Instruction &inst : make_early_inc_range(instructions(function))) {
      if (isa<FPTruncInst>(inst) && inst.getType()->getScalarType()->isBFloatTy() &&
          inst.getOperand(0)->getType()->getScalarType()->isFloatTy()) {
        IRBuilder<> builder(&inst);
        inst.replaceAllUsesWith(roundToBFloat(builder, inst.getOperand(0), true));
        inst.eraseFromParent();
        continue;
      }
      auto *call = dyn_cast<CallBase>(&inst);
      if (!call)
        continue;
      IRBuilder<> builder(call);
      Lowering lowering{builder, *call, function.getArg(0), sites, races};
      auto *callee = dyn_cast<Function>(call->getCalledOperand()); // its type may no longer be the call's
      Value *value = nullptr;
      if (call->isInlineAsm()) {
        value = lowerAssembly(lowering);
      } else if (callee && callee->isDeclaration()) {
        StringRef name = callee->getName();
        std::string rule = ruleName(*callee);
        if (!rule.empty()) {
          value = rules().find(rule)->second(lowering);
        } else if (name.starts_with("llvm.lifetime") || name.starts_with("llvm.dbg") ||
                   name.starts_with("llvm.experimental.noalias")) {
          // says nothing to the host
        } else {
          plainIntrinsic(*call, *callee);
          continue;
        }
      } else {
        value = withThread(*call, function.getArg(0));
      }
      if (value)
        call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
  }

  // The host's own intrinsic, named for plain pointers.
  void plainIntrinsic(CallBase &call, Function &callee) {
    SmallVector<Type *> overloads;
    if (!Intrinsic::getIntrinsicSignature(callee.getIntrinsicID(), call.getFunctionType(), overloads))
      report_fatal_error(("stand-in: cannot carry over " + callee.getName()).str().c_str());
    call.setCalledFunction(Intrinsic::getOrInsertDeclaration(&module, callee.getIntrinsicID(), overloads));
  }

  Value *withThread(CallBase &call, Value *thread) {
    SmallVector<Type *> parameters = {pointer};
    SmallVector<Value *> arguments = {thread};
    for (Value *argument : call.args()) {
      parameters.push_back(argument->getType());
      arguments.push_back(argument);
    }
    auto *made = CallInst::Create(FunctionType::get(call.getType(), parameters, false),
                                  call.getCalledOperand(), arguments, "", call.getIterator());
    for (unsigned i = 0; i < call.arg_size(); ++i)
      if (call.isByValArgument(i)) {
        made->addParamAttr(i + 1, Attribute::getWithByValType(context, plain(call.getParamByValType(i))));
        made->addParamAttr(i + 1, Attribute::getWithAlignment(context, call.getParamAlign(i).valueOrOne()));
      }
    return made->getType()->isVoidTy() ? nullptr : made;
  }

  // Which sites' ranges a launch of each kernel has to forget: four numbers a kernel.
  void emitSiteRanges(size_t first, size_t shared, ArrayRef<std::pair<size_t, size_t>> own) {
    std::vector<uint32_t> numbers;
    for (auto [begin, end] : own)
      numbers.insert(numbers.end(), {uint32_t(first), uint32_t(shared), uint32_t(begin), uint32_t(end)});
    Constant *value = ConstantDataArray::get(context, numbers);
    new GlobalVariable(module, value->getType(), true, GlobalValue::ExternalLinkage, value,
                       kSiteRangesSymbol);
  }

  void emitEntry(Function &body, const Kernel &kernel) {
    FunctionType *type = FunctionType::get(Type::getVoidTy(context), {pointer, pointer}, false);
    Function *entry =
        Function::Create(type, GlobalValue::ExternalLinkage, entrySymbol(kernel.index), &module);
    entry->setDoesNotThrow();
    IRBuilder<> builder(BasicBlock::Create(context, "", entry));
    SmallVector<Value *> arguments = {entry->getArg(0)};
    for (unsigned i = 0; i < kernel.parameters.size(); ++i) {
      Argument *parameter = body.getArg(i + 1);
      Value *at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), entry->getArg(1),
                                                     kernel.parameters[i].offset);
      arguments.push_back(
          parameter->hasByValAttr() ? at : builder.CreateAlignedLoad(parameter->getType(), at, Align(1)));
    }
    CallInst *call = builder.CreateCall(&body, arguments);
    for (unsigned i = 1; i < arguments.size(); ++i)
      if (body.getArg(i)->hasByValAttr()) {
        call->addParamAttr(i, body.getParamAttribute(i, Attribute::ByVal));
        call->addParamAttr(
            i, Attribute::getWithAlignment(context, body.getArg(i)->getParamAlign().valueOrOne()));
      }
    builder.CreateRetVoid();
    body.addFnAttr(Attribute::AlwaysInline);
  }

  Module &module;
  const Plan &plan;
  bool races;
  LLVMContext &context;
  PointerType *pointer;
  SiteTable sites;
  DenseMap<Function *, const Kernel *> kernels;
  std::vector<std::pair<Function *, const Kernel *>> functions;
};

} // namespace

void retarget(Module &module, const Plan &plan, TargetMachine &host, bool races) {
  Retargeter(module, plan, races).run(host);
}

} // namespace standin
