//===- PrepareBlocks.cpp - blocks before kernels are made of them -----------===//

#include "Clusters.h"

#include "tessera/Interfaces/TileLowering.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera::kernels {

void cloneMakers(Block &block) {
  SmallVector<Operation *> makers;
  for (Operation &op : block.without_terminator())
    if (isa<TileLoweringOpInterface>(op) && op.getNumOperands() == 0)
      makers.push_back(&op);
  for (Operation *maker : makers) {
    OpBuilder builder(maker);
    for (OpOperand &use : llvm::make_early_inc_range(maker->getUses())) {
      Operation *user = use.getOwner();
      if (!isa<TileLoweringOpInterface>(user) ||
          (user->getBlock() == maker->getBlock() && maker->hasOneUse()))
        continue;
      builder.setInsertionPoint(user);
      use.set(builder.clone(*maker)->getResult(0));
    }
    if (maker->use_empty())
      maker->erase();
  }
}

/// It computes nothing, and gives more bytes than it takes.
static bool isWidening(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost && op->getNumOperands() == 1 && op->getNumResults() == 1 && cost.getCost().flops == 0 &&
         tensorOf(op->getOperand(0)).getShape() == tensorOf(op->getResult(0)).getShape() &&
         arrayBytes(op->getResult(0).getType()) > arrayBytes(op->getOperand(0).getType());
}

bool cloneWidenings(ArrayRef<Cluster> clusters) {
  llvm::DenseMap<Operation *, size_t> clusterOf;
  SmallVector<Operation *> widenings;
  for (auto [number, cluster] : llvm::enumerate(clusters))
    for (Operation *op : cluster.ops()) {
      clusterOf[op] = number;
      if (isWidening(op))
        widenings.push_back(op);
    }
  bool cloned = false;
  for (Operation *op : widenings) {
    size_t own = clusterOf[op];
    // What it reads must be stored anyway.
    if (auto maker = clusterOf.find(op->getOperand(0).getDefiningOp());
        maker != clusterOf.end() && maker->second == own)
      continue;
    llvm::MapVector<size_t, SmallVector<OpOperand *>> others;
    bool staysHere = false;
    for (OpOperand &use : op->getUses()) {
      auto reader = clusterOf.find(use.getOwner());
      if (reader != clusterOf.end() && reader->second != own)
        others[reader->second].push_back(&use);
      else
        staysHere = true;
    }
    if (!staysHere && others.size() < 2)
      continue; // the only reader could have taken it
    for (auto &[number, uses] : others) {
      OpOperand *first = uses.front();
      for (OpOperand *use : uses)
        if (use->getOwner()->isBeforeInBlock(first->getOwner()))
          first = use;
      Value again = OpBuilder(first->getOwner()).clone(*op)->getResult(0);
      for (OpOperand *use : uses)
        use->set(again);
      cloned = true;
    }
    if (op->use_empty())
      op->erase();
  }
  return cloned;
}

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

} // namespace tessera::kernels
