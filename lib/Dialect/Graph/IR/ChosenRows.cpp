//===- ChosenRows.cpp - Values whose readers choose rows ------------------===//
#include "tessera/Dialect/Graph/IR/ChoosingIds.h"
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

/// Where the rows of a value go that an op passes on; null if its readers choose, or read them otherwise.
static Value passedOn(OpOperand &use) {
  auto reader = dyn_cast<ChosenRowsOpInterface>(use.getOwner());
  const bool chooses = reader && reader.readsChosenRows(use.getOperandNumber());
  return !chooses && graph::passesRowsOn(use) ? use.getOwner()->getResult(0) : Value();
}

graph::ChoosingIds::Found graph::ChoosingIds::look(Value rows) const {
  Found found;
  for (OpOperand &use : rows.getUses()) {
    Found one;
    if (Value next = passedOn(use))
      one = known.lookup(next);
    else if (auto reader = dyn_cast<ChosenRowsOpInterface>(use.getOwner());
             reader && reader.readsChosenRows(use.getOperandNumber()))
      one.ids = reader.getChosenIds();
    else
      one.others = true;
    found.others |= one.others || (found.ids && one.ids && found.ids != one.ids);
    found.ids = found.ids ? found.ids : one.ids;
  }
  return found;
}

Value graph::ChoosingIds::of(Value rows) {
  SmallVector<Value> open = {rows}; // a value behind what its rows are passed on to
  while (!open.empty()) {
    Value value = open.back();
    const size_t before = open.size();
    if (!known.count(value))
      for (OpOperand &use : value.getUses())
        if (Value next = passedOn(use); next && !known.count(next))
          open.push_back(next);
    if (open.size() != before)
      continue;
    open.pop_back();
    if (!known.count(value)) {
      Found found = look(value);
      known.insert({value, found});
    }
  }
  Found found = known.lookup(rows);
  return found.others ? Value() : found.ids;
}

Value graph::choosingIds(Value rows) { return ChoosingIds().of(rows); }
