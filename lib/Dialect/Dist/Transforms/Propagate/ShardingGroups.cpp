//===- ShardingGroups.cpp - Values that have one sharding -------------------===//
#include "Propagate/ShardingGroups.h"
#include "tessera/Dialect/Dist/IR/Manual.h"

#include "mlir/IR/Dominance.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

void ShardingGroups::join(StringAttr name, Type type, int tensor) {
  if (name)
    named[{name.getValue().str(), cast<RankedTensorType>(type).getShape().vec()}].push_back(tensor);
}

/// Null: none.
static ArrayAttr manualAxesAround(Operation *op) {
  auto manual = op->getParentOfType<ManualComputationOp>();
  return manual ? manual.getAxes() : ArrayAttr();
}

LogicalResult ShardingGroups::build(PropagationGraph &graph, llvm::function_ref<int(Value)> tensorOf) {
  // A value may be in several: they are one group then.
  llvm::EquivalenceClasses<int> ties;
  for (const auto &[key, members] : named)
    for (int member : members)
      ties.unionSets(members.front(), member);
  std::map<StringRef, ShardingGroupOp> first;
  for (ShardingGroupOp op : ops) {
    ShardingGroupOp other = first.try_emplace(op.getGroup(), op).first->second;
    if (op.getType().getShape() != other.getType().getShape())
      return (op.emitOpError() << "puts " << op.getType() << " into group '" << op.getGroup()
                               << "', which has values of another shape; give it a group of its own")
                 .attachNote(other.getLoc())
             << "another one is " << other.getType();
    if (manualAxesAround(op) != manualAxesAround(other))
      return (op.emitOpError()
              << "puts a value into group '" << op.getGroup()
              << "', of which others stand under other manual axes, where the same tensor is "
                 "another piece; give it a group of its own")
                 .attachNote(other.getLoc())
             << "another one";
    ties.unionSets(tensorOf(other.getResult()), tensorOf(op.getResult()));
  }
  std::map<int, SmallVector<int, 4>> members; // by leader
  SmallVector<int> leaders;                   // in the order of their first members
  for (int t = 0, e = int(graph.tensors.size()); t < e; ++t)
    if (auto leader = ties.findLeader(t); leader != ties.member_end()) {
      if (members[*leader].empty())
        leaders.push_back(*leader);
      members[*leader].push_back(t);
    }
  for (int leader : leaders)
    if (members[leader].size() > 1)
      graph.groups.push_back(members[leader]);
  return success();
}

bool ShardingGroups::readCopies(const PropagationResult &result, llvm::function_ref<int(Value)> tensorOf,
                                llvm::function_ref<void(ShardingGroupOp, int)> read) const {
  for (const GroupConstraint &constraint : result.constraints) {
    std::vector<ShardingGroupOp> makers;
    llvm::copy_if(ops, std::back_inserter(makers),
                  [&](ShardingGroupOp op) { return tensorOf(op.getInput()) == constraint.member; });
    if (makers.empty())
      return false;
    DominanceInfo dominance;
    for (ShardingGroupOp op : makers) {
      op.getInput().replaceUsesWithIf(op.getResult(), [&](OpOperand &use) {
        return !isa<ShardingGroupOp>(use.getOwner()) &&
               dominance.properlyDominates(op.getOperation(), use.getOwner());
      });
      read(op, constraint.constrained);
    }
  }
  return true;
}
