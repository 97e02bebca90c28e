//===- LowerBranches.cpp - graph.if to graph.select -------------------------===//
//
// The program of a rank runs the same calls every time: their order, streams and places in the arena are
// known before. So both branches run, and the condition chooses results. Ops of rung spmd have no effects but
// their results, and all ranks run the collectives of both.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Dialect/Graph/IR/Branch.h"

namespace tessera::kernels {

void lowerBranches(Lowering &lowering) {
  SmallVector<graph::IfOp> branches; // inner ones first
  lowering.module.walk([&](graph::IfOp op) { branches.push_back(op); });
  for (graph::IfOp op : branches) {
    SmallVector<SmallVector<Value>, 2> yielded;
    for (Region *region : op.getRegions()) {
      Block &block = region->front();
      yielded.push_back(llvm::to_vector(block.getTerminator()->getOperands()));
      block.getTerminator()->erase();
      op->getBlock()->getOperations().splice(op->getIterator(), block.getOperations());
    }
    OpBuilder builder(op);
    for (auto [result, taken, other] : llvm::zip_equal(op.getResults(), yielded[0], yielded[1])) {
      Value chosen = taken;
      if (taken != other)
        chosen =
            graph::SelectOp::create(builder, op.getLoc(), result.getType(), op.getCondition(), taken, other);
      result.replaceAllUsesWith(chosen);
    }
    op.erase();
  }
}

} // namespace tessera::kernels
