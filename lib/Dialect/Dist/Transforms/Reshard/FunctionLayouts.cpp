//===- FunctionLayouts.cpp - What is decided before anything is written ---===//
#include "Reshard/FunctionLayouts.h"
#include "Explain.h"
#include "Reshard/CarriedSums.h"
#include "Reshard/LoopLayouts.h"
#include "Reshard/OutputLayouts.h"
#include "Reshard/SideBySide.h"

#include "tessera/Dialect/Dist/IR/Manual.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// Everything is propagated: they say nothing more, and would tell a block that is priced from one that is
/// placed.
static void forgetPriorities(func::FuncOp function, const ShardingAttributes &written) {
  for (BlockArgument arg : function.getArguments()) {
    if (!isa<RankedTensorType>(arg.getType()))
      continue;
    Sharding sharding = written.of(arg);
    for (DimSharding &dim : sharding.dims)
      dim.priority.reset();
    written.write(function, arg.getArgNumber(), /*isResult=*/false, sharding);
  }
}

/// Calls `visit` with those that are placed.
static void forEachBlock(func::FuncOp function, llvm::function_ref<void(Block &)> visit) {
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<func::FuncOp, DataFlowOpInterface, ManualComputationOp>(op))
      for (Region &region : op->getRegions())
        llvm::for_each(region, visit);
  });
}

static LogicalResult verifyRules(Block &block) {
  for (Operation &op : block)
    if (!isa<DataFlowOpInterface, ManualComputationOp, ShardingRuleOpInterface>(op) &&
        !op.hasTrait<OpTrait::IsTerminator>())
      return op.emitOpError() << "has no sharding rule: it cannot stand on rung sharded";
  return success();
}

static void explainSearch(Location loc, const SearchWork &work, StringRef forWhat) {
  if (work.tableEntries > 0)
    explain(loc, "prices",
            llvm::formatv("{0}: searched {1} steps of {2} reshards and {3} table entries", forWhat,
                          work.reshardSteps, work.reshards, work.tableEntries));
}

FailureOr<DenseMap<Block *, SearchWork>>
tessera::dist::layOut(ModuleOp module, const ShardingAttributes &written, RegionCosts &costs, bool ahead) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      functions.push_back(function);
  DenseMap<Block *, SearchWork> searched;
  bool isPlaceable = true;
  for (func::FuncOp function : functions) {
    forgetPriorities(function, written);
    forEachBlock(function, [&](Block &block) {
      isPlaceable = isPlaceable && succeeded(verifyRules(block));
      searched.try_emplace(&block);
    });
  }
  if (!isPlaceable)
    return failure();
  SearchWork before = searchWork();
  layOutputs(module, written, costs);
  explainSearch(module.getLoc(), searchWork().since(before), "what functions hand out");
  sideBySide(functions.size(), [&](size_t i) {
    func::FuncOp function = functions[i];
    const SearchWork before = searchWork();
    layLoops(function, written, costs);
    keepCarriedSums(function, written, costs);
    explainSearch(function.getLoc(), searchWork().since(before),
                  ("what loops of " + function.getName() + " carry and hand on").str());
    const BlockFacts facts = written.facts();
    if (ahead)
      forEachBlock(function, [&](Block &block) {
        const SearchWork work = placeAhead(block, facts, costs.in(block));
        searched.find(&block)->second = work;
      });
  });
  return searched;
}
