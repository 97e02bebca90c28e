//===- BlockPlacement.cpp - A block as a placement program ----------------===//
#include "BlockPlacement.h"

#include "tessera/Interfaces/Interfaces.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class ProgramBuilder {
public:
  explicit ProgramBuilder(const BlockFacts &facts) : facts(facts) {}

  void build(Block &block) {
    for (Operation &op : block) {
      if (auto needs = facts.needs(&op)) {
        for (auto &[value, sharding] : *needs)
          program.uses.push_back({idOf(value), sharding});
        for (OpResult result : op.getResults())
          if (isa<RankedTensorType>(result.getType()))
            add(result, facts.wanted(result), /*fixed=*/true);
        continue;
      }
      auto ruled = cast<ShardingRuleOpInterface>(op);
      ProgramOp entry;
      entry.rule = ruled.getShardingRule();
      for (Value operand : op.getOperands())
        entry.operands.push_back(idOf(operand));
      for (OpResult result : op.getResults())
        entry.results.push_back(add(result, facts.wanted(result), /*fixed=*/false));
      if (auto cost = dyn_cast<CostOpInterface>(op)) {
        OpCost work = cost.getCost();
        entry.flops = work.flops;
        entry.bytes = work.bytesRead + work.bytesWritten;
      }
      program.ops.push_back(std::move(entry));
      ops.push_back(&op);
    }
  }

  PlacementProgram program;
  std::vector<Operation *> ops; ///< of program.ops

private:
  int add(Value value, Sharding sharding, bool fixed) {
    auto type = cast<RankedTensorType>(value.getType());
    ProgramValue entry;
    entry.shape = llvm::to_vector(type.getShape());
    entry.elementBytes = double((type.getElementTypeBitWidth() + 7) / 8);
    entry.sharding = std::move(sharding);
    entry.fixed = fixed;
    program.values.push_back(std::move(entry));
    return ids[value] = int(program.values.size()) - 1;
  }
  int idOf(Value value) {
    auto it = ids.find(value);
    return it != ids.end() ? it->second : add(value, facts.known(value), /*fixed=*/true);
  }

  const BlockFacts &facts;
  DenseMap<Value, int> ids;
};
} // namespace

FailureOr<DenseMap<Operation *, PlacementDecision>> tessera::dist::placeBlock(Block &block, const BlockFacts &facts,
                                                                            ReshardCosts &costs) {
  ProgramBuilder builder(facts);
  builder.build(block);
  ProgramDecision decision = placeProgram(builder.program, costs);
  if (!std::isfinite(decision.time))
    return block.getParentOp()->emitOpError() << "cannot be placed: a value is wanted as a partial sum that no op makes";
  DenseMap<Operation *, PlacementDecision> result;
  for (auto [op, placed] : llvm::zip(builder.ops, decision.ops))
    result[op] = std::move(placed);
  return result;
}
