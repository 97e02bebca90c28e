//===- ChosenRows.cpp - Values whose readers choose rows ------------------===//
#include "tessera/Dialect/Graph/IR/Experts.h"

using namespace mlir;
using namespace tessera;

bool tessera::graph::passesRowsOn(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<NameOp>(op))
    return true;
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  return isa<ElementwiseScalarOpInterface>(op) && op->getNumResults() == 1 &&
         shapeOf(op->getResult(0)) == shapeOf(use.get());
}

Value tessera::graph::choosingIds(Value rows) {
  Value ids;
  SmallVector<Value> open = {rows};
  llvm::SmallPtrSet<Operation *, 8> seen; // an op that reads a value twice passes it on once
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      auto reader = dyn_cast<ChosenRowsOpInterface>(use.getOwner());
      if (reader && reader.readsChosenRows(use.getOperandNumber())) {
        if (ids && ids != reader.getChosenIds())
          return {};
        ids = reader.getChosenIds();
      } else if (!passesRowsOn(use)) {
        return {};
      } else if (seen.insert(use.getOwner()).second) {
        open.push_back(use.getOwner()->getResult(0));
      }
    }
  return ids;
}
