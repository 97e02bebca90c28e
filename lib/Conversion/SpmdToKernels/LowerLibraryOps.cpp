//===- LowerLibraryOps.cpp - ops with a form of their own -----------------===//

#include "Lowering.h"

#include "tessera/Interfaces/Interfaces.h"
#include "tessera/Interfaces/TileLowering.h"

namespace tessera::kernels {

const LibraryForm *Lowering::formOf(Operation *op) const {
  const LibraryForm *form = target.libraryForms().find(op);
  return form || !viewForm().takes(op) ? form : &viewForm();
}

/// `value`, made by ops without shardings, as `type`, which has one: collectives ask for it.
static Value withSharding(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  // Rules read global sizes: where these are others than the local ones, no op may have both kinds of types.
  auto tensor = cast<RankedTensorType>(type);
  if (isa<OpResult>(value) && llvm::equal(dist::globalShape(tensor), tensor.getShape())) {
    value.setType(type);
    return value;
  }
  return graph::ReshapeOp::create(builder, value.getLoc(), type, value);
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
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
      result.replaceAllUsesWith(withSharding(builder, value, result.getType()));
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
