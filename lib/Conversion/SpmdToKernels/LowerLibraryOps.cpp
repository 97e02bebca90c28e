//===- LowerLibraryOps.cpp - ops with a form of their own -----------------===//

#include "Lowering.h"

#include "tessera/Interfaces/Interfaces.h"
#include "tessera/Interfaces/TileLowering.h"

namespace tessera::kernels {

const LibraryForm *Lowering::formOf(Operation *op) const {
  const LibraryForm *form = target.libraryForms().find(op);
  return form ? form : viewForms().find(op);
}

/// Ops that are neither tiles nor have a form are written out as smaller ones.
static void decomposeOps(Lowering &lowering) {
  SmallVector<DecomposableOpInterface> ops;
  lowering.module.walk([&](DecomposableOpInterface op) {
    if (!lowering.formOf(op) && !isa<TileLoweringOpInterface>(op.getOperation()))
      ops.push_back(op);
  });
  for (DecomposableOpInterface op : ops) {
    OpBuilder builder(op);
    SmallVector<Value> values = op.decompose(builder, op->getOperands());
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
      // Written out ops do not say how they are sharded; whoever reads the result asks.
      if (!dist::getShardingAttr(value.getType()))
        value.setType(result.getType());
      result.replaceAllUsesWith(value);
    }
    op->erase();
  }
}

LogicalResult lowerLibraryOps(Lowering &lowering) {
  decomposeOps(lowering);
  SmallVector<std::pair<Operation *, const LibraryForm *>> ops;
  lowering.module.walk([&](Operation *op) {
    if (const LibraryForm *form = lowering.formOf(op))
      ops.push_back({op, form});
  });
  for (auto [op, form] : ops)
    if (failed(form->lower(op, lowering)))
      return failure();
  return success();
}

} // namespace tessera::kernels
