// Special registers, fences, traps, timers, printing, address spaces, atomics with scopes.
#include "Intrinsics.h"

#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace standin {

static Rule threadWord(size_t offset) {
  return [=](Lowering &l) { return l.threadField(offset, l.builder.getInt32Ty()); };
}
static Rule blockWord(size_t offset) {
  return [=](Lowering &l) { return l.blockField(offset, l.builder.getInt32Ty()); };
}
static Rule constant(uint32_t value) {
  return [=](Lowering &l) { return ConstantInt::get(l.type(), value); };
}
static Value *lane(Lowering &l) {
  return l.threadField(offsetof(ThreadContext, lane), l.builder.getInt32Ty());
}

static void addRegisters(RuleTable &table) {
  const char *axes = "xyz";
  for (unsigned i = 0; i < 3; ++i) {
    std::string axis(1, axes[i]);
    auto name = [&](const char *what) { return "read.ptx.sreg." + std::string(what) + "." + axis; };
    table[name("tid")] = threadWord(offsetof(ThreadContext, tid) + 4 * i);
    table[name("ctaid")] = blockWord(offsetof(BlockContext, ctaid) + 4 * i);
    table[name("ntid")] = blockWord(offsetof(BlockContext, ntid) + 4 * i);
    table[name("nctaid")] = blockWord(offsetof(BlockContext, nctaid) + 4 * i);
    // Every block is a cluster of its own.
    table[name("cluster.ctaid")] = constant(0);
    table[name("cluster.nctaid")] = constant(1);
    table[name("clusterid")] = table[name("ctaid")];
    table[name("nclusterid")] = table[name("nctaid")];
  }
  table["read.ptx.sreg.cluster.ctarank"] = constant(0);
  table["read.ptx.sreg.cluster.nctarank"] = constant(1);
  table["is_explicit_cluster"] = constant(0);
  table["read.ptx.sreg.laneid"] = lane;
  table["read.ptx.sreg.warpid"] = threadWord(offsetof(ThreadContext, warp));
  table["read.ptx.sreg.warpsize"] = constant(32);
  table["read.ptx.sreg.dynamic_smem_size"] = blockWord(offsetof(BlockContext, dynamicBytes));
  table["read.ptx.sreg.smid"] = [](Lowering &l) { return l.engine("smid", l.type(), {}); };
  table["read.ptx.sreg.nsmid"] = constant(132);
  table["read.ptx.sreg.nwarpid"] = constant(64);
  table["read.ptx.sreg.gridid"] = constant(1);
  auto mask = [&](const char *which, auto of) {
    table["read.ptx.sreg.lanemask." + std::string(which)] = [=](Lowering &l) -> Value * {
      return of(l.builder, l.builder.CreateShl(l.word(1), lane(l)));
    };
  };
  mask("eq", [](IRBuilder<> &b, Value *own) { return own; });
  mask("lt", [](IRBuilder<> &b, Value *own) { return b.CreateSub(own, b.getInt32(1)); });
  mask("ge", [](IRBuilder<> &b, Value *own) { return b.CreateNeg(own); });
  mask("le", [](IRBuilder<> &b, Value *own) { return b.CreateOr(own, b.CreateSub(own, b.getInt32(1))); });
  mask("gt", [](IRBuilder<> &b, Value *own) {
    return b.CreateNot(b.CreateOr(own, b.CreateSub(own, b.getInt32(1))));
  });
  auto timer = [](const char *function) {
    return [=](Lowering &l) {
      return l.builder.CreateTrunc(l.engine(function, l.builder.getInt64Ty(), {}), l.type());
    };
  };
  table["read.ptx.sreg.clock"] = table["read.ptx.sreg.clock64"] = table["llvm.readcyclecounter"] =
      timer("clock");
  table["read.ptx.sreg.globaltimer"] = table["read.ptx.sreg.globaltimer.lo"] = timer("globaltimer");
}

static void addFences(RuleTable &table) {
  auto fence = [](const char *scope) { // what else it means for the race check, Instrument.cpp adds
    return [=](Lowering &l) -> Value * {
      l.builder.CreateFence(AtomicOrdering::SequentiallyConsistent,
                            l.call.getContext().getOrInsertSyncScopeID(scope));
      return nullptr;
    };
  };
  table["membar.cta"] = fence("block");
  table["membar.gl"] = table["membar.sys"] = table["fence.sc.cluster"] = fence("");
  table["fence.proxy.alias"] = [](Lowering &) -> Value * { return nullptr; };
  for (const char *memory : {"", ".global", ".shared_cta", ".shared_cluster"})
    table["fence.proxy.async" + std::string(memory)] = [=](Lowering &l) -> Value * {
      if (StringRef(memory) != ".global") // wgmma reads shared memory only
        l.engine("proxy_fence", l.builder.getVoidTy(), {});
      return nullptr;
    };
}

// llvm.nvvm.atomic.OP.gen.T.SCOPE
static void addAtomics(RuleTable &table) {
  std::pair<const char *, AtomicRMWInst::BinOp> ops[] = {
      {"add.gen.i", AtomicRMWInst::Add},      {"add.gen.f", AtomicRMWInst::FAdd},
      {"and.gen.i", AtomicRMWInst::And},      {"or.gen.i", AtomicRMWInst::Or},
      {"xor.gen.i", AtomicRMWInst::Xor},      {"exch.gen.i", AtomicRMWInst::Xchg},
      {"max.gen.i", AtomicRMWInst::Max},      {"min.gen.i", AtomicRMWInst::Min},
      {"inc.gen.i", AtomicRMWInst::UIncWrap}, {"dec.gen.i", AtomicRMWInst::UDecWrap},
  };
  for (const char *scope : {"cta", "sys"}) {
    std::string where = std::string(scope) == "cta" ? "block" : "";
    for (auto [name, op] : ops)
      table["atomic." + std::string(name) + "." + scope] = [=, op = op](Lowering &l) -> Value * {
        auto *made = l.builder.CreateAtomicRMW(op, l.argument(0), l.argument(1), MaybeAlign(),
                                               AtomicOrdering::Monotonic,
                                               l.call.getContext().getOrInsertSyncScopeID(where));
        made->copyMetadata(l.call);
        return made;
      };
    table["atomic.cas.gen.i." + std::string(scope)] = [=](Lowering &l) -> Value * {
      auto *made = l.builder.CreateAtomicCmpXchg(l.argument(0), l.argument(1), l.argument(2), MaybeAlign(),
                                                 AtomicOrdering::Monotonic, AtomicOrdering::Monotonic,
                                                 l.call.getContext().getOrInsertSyncScopeID(where));
      made->copyMetadata(l.call);
      return l.builder.CreateExtractValue(made, 0);
    };
  }
}

static void addAddresses(RuleTable &table) {
  // One address space: casts do nothing.
  for (const char *name : {"ptr.gen.to.param", "move.ptr", "compiler.error.ptr", "internal.addrspace.wrap"})
    table[name] = [](Lowering &l) { return l.argument(0); };
  auto within = [](const char *function, bool inverted) {
    return [=](Lowering &l) -> Value * {
      Value *address = l.builder.CreatePtrToInt(l.argument(0), l.builder.getInt64Ty());
      Value *is =
          l.builder.CreateTrunc(l.engine(function, l.builder.getInt32Ty(), {address}), l.builder.getInt1Ty());
      return inverted ? l.builder.CreateNot(is) : is;
    };
  };
  table["isspacep.shared"] = table["isspacep.shared.cluster"] = within("is_shared", false);
  table["isspacep.local"] = within("is_local", false);
  table["isspacep.global"] = [=](Lowering &l) -> Value * {
    return l.builder.CreateAnd(within("is_shared", true)(l), within("is_local", true)(l));
  };
  table["isspacep.const"] = constant(0);
  // A load that may go through a cache which does not see writes.
  auto load = [](Lowering &l) -> Value * {
    auto *align = dyn_cast<ConstantInt>(l.argument(1));
    auto *made =
        l.builder.CreateAlignedLoad(l.type(), l.argument(0), Align(align ? align->getZExtValue() : 1));
    made->copyMetadata(l.call);
    return made;
  };
  for (const char *name : {"ldu.global.i", "ldu.global.f", "ldu.global.p"})
    table[name] = load;
}

void addSystemRules(RuleTable &table) {
  addRegisters(table);
  addFences(table);
  addAtomics(table);
  addAddresses(table);
  table["nanosleep"] = [](Lowering &l) { return l.engine("turn", l.builder.getVoidTy(), {}), nullptr; };
  for (const char *name : {"llvm.trap", "llvm.debugtrap"})
    table[name] = [](Lowering &l) { return l.engine("trap", l.builder.getVoidTy(), {l.site()}), nullptr; };
  table["exit"] = [](Lowering &l) { return l.engine("exit", l.builder.getVoidTy(), {}), nullptr; };
  table["vprintf"] = [](Lowering &l) { return l.engine("printf", l.type(), {l.argument(0), l.argument(1)}); };
  table["__assertfail"] = [](Lowering &l) {
    l.engine("assertfail", l.builder.getVoidTy(),
             {l.argument(0), l.argument(1), l.argument(2), l.argument(3), l.argument(4)});
    return nullptr;
  };
  // Hints.
  for (const char *name :
       {"prefetch.global.L1", "prefetch.global.L2", "prefetch.L1", "prefetch.L2", "prefetchu.L1",
        "pm.event.mask", "griddepcontrol.wait", "griddepcontrol.launch.dependents",
        "setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32"})
    table[name] = [](Lowering &) -> Value * { return nullptr; };
  table["reflect"] = [](Lowering &l) -> Value * { return ConstantInt::get(l.type(), 0); };
}

} // namespace standin
