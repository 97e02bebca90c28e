#include "Intrinsics.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace standin {

Value *Lowering::site(uint32_t bytes, uint32_t flags, uint32_t align) const {
  return word(sites.add({bytes, flags, align, 0, 0, siteText(call)}));
}

static Value *field(IRBuilder<> &builder, Value *base, size_t offset, Type *type) {
  LoadInst *load =
      builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset));
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(builder.getContext(), {}));
  load->setMetadata("standin.own", MDNode::get(builder.getContext(), {}));
  return load;
}

Value *Lowering::threadField(size_t offset, Type *type) const { return field(builder, thread, offset, type); }

Value *Lowering::blockField(size_t offset, Type *type) const {
  return field(builder, threadField(offsetof(ThreadContext, block), builder.getPtrTy()), offset, type);
}

AllocaInst *Lowering::words(unsigned count) const {
  IRBuilder<> entry(&*call.getFunction()->getEntryBlock().begin());
  return entry.CreateAlloca(ArrayType::get(entry.getInt32Ty(), count));
}

Value *Lowering::wordAt(Value *base, unsigned i) const {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), base, i);
}

static CallInst *callNamed(const Lowering &lowering, StringRef name, Type *result,
                           ArrayRef<Value *> arguments) {
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  FunctionCallee callee = lowering.call.getModule()->getOrInsertFunction(
      ("standin_" + name).str(), FunctionType::get(result, types, false));
  cast<Function>(callee.getCallee())->setDoesNotThrow();
  return lowering.builder.CreateCall(callee, arguments);
}

Value *Lowering::engine(StringRef name, Type *result, ArrayRef<Value *> arguments) const {
  SmallVector<Value *> all = {thread};
  all.append(arguments.begin(), arguments.end());
  CallInst *made = callNamed(*this, name, result, all);
  made->getCalledFunction()->setConvergent(); // stays under the conditions that it is under
  made->setConvergent();
  return made;
}

Value *Lowering::pure(StringRef name, Type *result, ArrayRef<Value *> arguments) const {
  CallInst *made = callNamed(*this, name, result, arguments);
  made->setDoesNotAccessMemory();
  made->addFnAttr(Attribute::WillReturn);
  return made;
}

const RuleTable &rules() {
  static const RuleTable table = [] {
    RuleTable made;
    addSystemRules(made);
    addWarpRules(made);
    addMathRules(made);
    addConversionRules(made);
    addAsyncRules(made);
    addMatrixRules(made);
    return made;
  }();
  return table;
}

std::string ruleName(const Function &function) {
  StringRef name = function.getName();
  if (function.isIntrinsic()) {
    if (!name.consume_front("llvm.nvvm."))
      return name == "llvm.trap" || name == "llvm.debugtrap" || name == "llvm.readcyclecounter" ? name.str()
                                                                                                : "";
    StringRef base = Intrinsic::getBaseName(function.getIntrinsicID());
    base.consume_front("llvm.nvvm.");
    return base.str();
  }
  return name == "vprintf" || name == "__assertfail" ? name.str() : "";
}

bool knowsFunction(const Function &function) {
  std::string rule = ruleName(function);
  if (!rule.empty())
    return rules().count(rule);
  if (!function.isIntrinsic())
    return false;
  switch (function.getIntrinsicID()) {
  case Intrinsic::abs:
  case Intrinsic::assume:
  case Intrinsic::bitreverse:
  case Intrinsic::bswap:
  case Intrinsic::canonicalize:
  case Intrinsic::ceil:
  case Intrinsic::copysign:
  case Intrinsic::cos:
  case Intrinsic::ctlz:
  case Intrinsic::ctpop:
  case Intrinsic::cttz:
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::expect:
  case Intrinsic::fabs:
  case Intrinsic::floor:
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::is_constant:
  case Intrinsic::is_fpclass:
  case Intrinsic::ldexp:
  case Intrinsic::lifetime_end:
  case Intrinsic::lifetime_start:
  case Intrinsic::log:
  case Intrinsic::log2:
  case Intrinsic::maximum:
  case Intrinsic::maximumnum:
  case Intrinsic::maxnum:
  case Intrinsic::memcpy:
  case Intrinsic::memmove:
  case Intrinsic::memset:
  case Intrinsic::minimum:
  case Intrinsic::minimumnum:
  case Intrinsic::minnum:
  case Intrinsic::nearbyint:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::pow:
  case Intrinsic::powi:
  case Intrinsic::ptrmask:
  case Intrinsic::rint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::sadd_sat:
  case Intrinsic::sadd_with_overflow:
  case Intrinsic::scmp:
  case Intrinsic::sideeffect:
  case Intrinsic::sin:
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::smul_with_overflow:
  case Intrinsic::sqrt:
  case Intrinsic::ssub_sat:
  case Intrinsic::ssub_with_overflow:
  case Intrinsic::trunc:
  case Intrinsic::uadd_sat:
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::ucmp:
  case Intrinsic::umax:
  case Intrinsic::umin:
  case Intrinsic::umul_with_overflow:
  case Intrinsic::usub_sat:
  case Intrinsic::usub_with_overflow:
  case Intrinsic::vector_reduce_add:
  case Intrinsic::vector_reduce_and:
  case Intrinsic::vector_reduce_fadd:
  case Intrinsic::vector_reduce_fmax:
  case Intrinsic::vector_reduce_fmaximum:
  case Intrinsic::vector_reduce_fmin:
  case Intrinsic::vector_reduce_fminimum:
  case Intrinsic::vector_reduce_fmul:
  case Intrinsic::vector_reduce_mul:
  case Intrinsic::vector_reduce_or:
  case Intrinsic::vector_reduce_smax:
  case Intrinsic::vector_reduce_smin:
  case Intrinsic::vector_reduce_umax:
  case Intrinsic::vector_reduce_umin:
  case Intrinsic::vector_reduce_xor:
    return true;
  default:
    return function.getName().starts_with("llvm.dbg");
  }
}

} // namespace standin
