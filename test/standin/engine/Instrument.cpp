// Puts a check before every access. Quick: one comparison with the live range that the instruction touched
// last, and the alignment that it promised; what fails goes to standin_access. With the race check: a call
// for every access.
#include "Functions.h"
#include "Retarget.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace standin {
namespace {

struct Access {
  Instruction *inst;
  Value *address;
  Type *type; // null: `length` bytes
  Value *length;
  uint64_t align;
  uint32_t flags;
  bool mayspin;
};

bool isOrderedFor(AtomicOrdering ordering, bool acquire) {
  return acquire ? isAcquireOrStronger(ordering) : isReleaseOrStronger(ordering);
}

class Instrumenter {
public:
  Instrumenter(Function &function, Value *thread, SiteTable &sites, bool races)
      : function(function), thread(thread), sites(sites), races(races),
        layout(function.getParent()->getDataLayout()), context(function.getContext()),
        pointer(PointerType::get(context, 0)), word(Type::getInt64Ty(context)) {}

  void run() {
    SmallVector<Access> accesses;
    for (Instruction &inst : instructions(function))
      collect(inst, accesses);
    if (accesses.empty())
      return;
    if (!races) {
      IRBuilder<> builder(&*function.getEntryBlock().begin());
      Value *block = invariant(builder, thread, offsetof(ThreadContext, block));
      ranges = invariant(builder, block, offsetof(BlockContext, ranges));
    }
    for (const Access &access : accesses)
      guard(access);
  }

private:
  Value *invariant(IRBuilder<> &builder, Value *base, size_t offset) {
    LoadInst *load =
        builder.CreateLoad(pointer, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset));
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));
    return load;
  }

  uint32_t scopeOf(SyncScope::ID scope) {
    SmallVector<StringRef> names;
    context.getSyncScopeNames(names);
    StringRef name = scope < names.size() ? names[scope] : "";
    return name == "block" || name == "singlethread" ? uint32_t(kBlockScope) : 0;
  }

  uint32_t atomicFlags(AtomicOrdering ordering, SyncScope::ID scope) {
    return kAtomic | scopeOf(scope) | (isOrderedFor(ordering, true) ? kAcquire : 0) |
           (isOrderedFor(ordering, false) ? kRelease : 0);
  }

  void collect(Instruction &inst, SmallVectorImpl<Access> &accesses) {
    if (inst.hasMetadata("standin.own"))
      return;
    auto add = [&](Value *address, Type *type, Value *length, uint64_t align, uint32_t flags, bool mayspin) {
      const Value *object = getUnderlyingObject(address, 32);
      if (isa<AllocaInst>(object))
        return;
      if (auto *argument = dyn_cast<Argument>(object); argument && argument->hasByValAttr())
        return;
      accesses.push_back({&inst, address, type, length, align, flags, mayspin});
    };
    if (auto *load = dyn_cast<LoadInst>(&inst)) {
      uint32_t flags = kRead;
      if (load->isAtomic())
        flags |= atomicFlags(load->getOrdering(), load->getSyncScopeID());
      else if (load->isVolatile())
        flags |= kAtomic;
      add(load->getPointerOperand(), load->getType(), nullptr, load->getAlign().value(), flags,
          flags != kRead);
    } else if (auto *store = dyn_cast<StoreInst>(&inst)) {
      uint32_t flags = kWrite;
      if (store->isAtomic())
        flags |= atomicFlags(store->getOrdering(), store->getSyncScopeID());
      else if (store->isVolatile())
        flags |= kAtomic;
      add(store->getPointerOperand(), store->getValueOperand()->getType(), nullptr, store->getAlign().value(),
          flags, false);
    } else if (auto *update = dyn_cast<AtomicRMWInst>(&inst)) {
      // LLVM 22 writes `atom` without the order that it asks for: on a GPU only fences order what is around
      // it.
      add(update->getPointerOperand(), update->getType(), nullptr, update->getAlign().value(),
          kRead | kWrite | atomicFlags(AtomicOrdering::Monotonic, update->getSyncScopeID()), true);
    } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&inst)) {
      add(exchange->getPointerOperand(), exchange->getNewValOperand()->getType(), nullptr,
          exchange->getAlign().value(),
          kRead | kWrite | atomicFlags(exchange->getSuccessOrdering(), exchange->getSyncScopeID()), true);
    } else if (auto *transfer = dyn_cast<MemTransferInst>(&inst)) {
      add(transfer->getRawSource(), nullptr, transfer->getLength(),
          transfer->getSourceAlign().valueOrOne().value(), kRead, false);
      add(transfer->getRawDest(), nullptr, transfer->getLength(),
          transfer->getDestAlign().valueOrOne().value(), kWrite, false);
    } else if (auto *fill = dyn_cast<MemSetInst>(&inst)) {
      add(fill->getRawDest(), nullptr, fill->getLength(), fill->getDestAlign().valueOrOne().value(), kWrite,
          false);
    } else if (auto *fence = dyn_cast<FenceInst>(&inst); fence && races) {
      IRBuilder<> builder(&inst);
      call(builder, "standin_fence", {thread, builder.getInt32(scopeOf(fence->getSyncScopeID()))});
    }
  }

  void call(IRBuilder<> &builder, StringRef name, ArrayRef<Value *> arguments) {
    SmallVector<Type *> types;
    for (Value *argument : arguments)
      types.push_back(argument->getType());
    FunctionCallee callee =
        function.getParent()->getOrInsertFunction(name, FunctionType::get(builder.getVoidTy(), types, false));
    auto *declared = cast<Function>(callee.getCallee());
    declared->setDoesNotThrow();
    declared->setConvergent();
    builder.CreateCall(callee, arguments)->setConvergent();
  }

  // The shared variable that an address certainly lies in.
  std::pair<uint32_t, uint32_t> objectOf(const Value *address) {
    // Not getUnderlyingObject: it would look through the offset into shared memory.
    for (unsigned i = 0; i < 32; ++i) {
      auto *inst = dyn_cast<Instruction>(address);
      if (!inst)
        break;
      if (MDNode *note = inst->getMetadata("standin.shared"))
        return {mdconst::extract<ConstantInt>(note->getOperand(0))->getZExtValue(),
                mdconst::extract<ConstantInt>(note->getOperand(1))->getZExtValue()};
      if (auto *step = dyn_cast<GetElementPtrInst>(inst))
        address = step->getPointerOperand();
      else
        break;
    }
    return {0, 0};
  }

  void guard(const Access &access) {
    uint64_t bytes = access.type ? layout.getTypeStoreSize(access.type).getFixedValue() : 0;
    auto [objectOffset, objectBytes] = objectOf(access.address);
    uint32_t site = sites.add({uint32_t(bytes), access.flags, uint32_t(access.align), objectOffset,
                               objectBytes, siteText(*access.inst)});
    IRBuilder<> builder(access.inst);
    if (access.mayspin) {
      Value *patience =
          builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread, offsetof(ThreadContext, patience));
      Value *left =
          builder.CreateSub(builder.CreateLoad(builder.getInt32Ty(), patience), builder.getInt32(1));
      builder.CreateStore(left, patience);
      Instruction *turn =
          SplitBlockAndInsertIfThen(builder.CreateICmpSLE(left, builder.getInt32(0)), access.inst, false,
                                    MDBuilder(context).createBranchWeights(1, 100));
      IRBuilder<> inside(turn);
      call(inside, "standin_turn", {thread});
      builder.SetInsertPoint(access.inst);
    }
    Value *number = builder.getInt32(site), *address = builder.CreatePtrToInt(access.address, word);
    if (!access.type) {
      Value *length = builder.CreateZExtOrTrunc(access.length, word);
      call(builder, races ? "standin_track_bytes" : "standin_access_bytes",
           {thread, address, length, number});
      return;
    }
    if (races) {
      call(builder, "standin_track", {thread, address, number});
      return;
    }
    Value *range = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), ranges, site * sizeof(SiteRange));
    Value *begin = builder.CreateLoad(word, range);
    Value *limit = builder.CreateLoad(
        word, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), range, offsetof(SiteRange, limit)));
    Value *bad = builder.CreateICmpUGT(builder.CreateSub(address, begin), limit);
    if (access.align > 1)
      bad = builder.CreateOr(
          bad, builder.CreateICmpNE(builder.CreateAnd(address, builder.getInt64(access.align - 1)),
                                    builder.getInt64(0)));
    Instruction *slow =
        SplitBlockAndInsertIfThen(bad, access.inst, false, MDBuilder(context).createBranchWeights(1, 10000));
    IRBuilder<> inside(slow);
    call(inside, "standin_access", {thread, address, number});
  }

  Function &function;
  Value *thread;
  SiteTable &sites;
  bool races;
  const DataLayout &layout;
  LLVMContext &context;
  PointerType *pointer;
  Type *word;
  Value *ranges = nullptr;
};

} // namespace

void instrument(Function &function, Value *thread, SiteTable &sites, bool races) {
  Instrumenter(function, thread, sites, races).run();
}

} // namespace standin
