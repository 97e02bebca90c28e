// cp.async.
#include "Functions.h"
#include "Intrinsics.h"

using namespace llvm;

namespace standin {

void addAsyncRules(RuleTable &table) {
  for (const char *cache : {"ca", "cg"})
    for (uint32_t bytes : {4, 8, 16})
      for (bool partial : {false, true})
        table["cp.async." + std::string(cache) + ".shared.global." + std::to_string(bytes) +
              (partial ? ".s" : "")] = [=](Lowering &l) -> Value * {
          Value *taken = partial ? l.argument(2) : l.word(bytes);
          return l.engine("cp_async", l.builder.getVoidTy(),
                          {l.argument(0), l.argument(1), taken, l.site(bytes, kWrite, bytes)}),
                 nullptr;
        };
  table["cp.async.commit.group"] = [](Lowering &l) -> Value * {
    return l.engine("cp_async_commit", l.builder.getVoidTy(), {}), nullptr;
  };
  table["cp.async.wait.group"] = [](Lowering &l) -> Value * {
    return l.engine("cp_async_wait", l.builder.getVoidTy(), {l.argument(0)}), nullptr;
  };
  table["cp.async.wait.all"] = [](Lowering &l) -> Value * {
    return l.engine("cp_async_wait_all", l.builder.getVoidTy(), {}), nullptr;
  };
}

} // namespace standin
