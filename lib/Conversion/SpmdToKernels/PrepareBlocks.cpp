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
