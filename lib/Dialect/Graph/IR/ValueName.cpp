//===- ValueName.cpp - What a value of a step is called -------------------===//
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace tessera::graph {

static StringRef nameOf(Value value, llvm::SmallPtrSetImpl<void *> &seen) {
  if (!seen.insert(value.getAsOpaquePointer()).second)
    return ""; // carried as it is
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent)) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
      return name ? name.getValue() : "";
    }
    auto loop = dyn_cast_or_null<RepeatOp>(parent);
    if (!loop)
      return "";
    unsigned place = argument.getArgNumber(), carried = unsigned(loop.getInits().size());
    if (place == 0)
      return "";
    if (place > carried)
      return nameOf(loop.getStacks()[place - 1 - carried], seen);
    StringRef next = nameOf(argument.getOwner()->getTerminator()->getOperand(place - 1), seen);
    return next.empty() ? nameOf(loop.getInits()[place - 1], seen) : next;
  }
  if (auto loop = value.getDefiningOp<RepeatOp>())
    for (Region &body : loop.getBodies()) {
      Operation *yield = body.front().getTerminator();
      // A body that has nothing to give to a stack gives zeros.
      Value given = yield->getOperand(cast<OpResult>(value).getResultNumber());
      if (given.getDefiningOp<ConstantOp>())
        continue;
      if (StringRef name = nameOf(given, seen); !name.empty())
        return name;
    }
  return callName(value.getDefiningOp()->getLoc());
}

StringRef valueName(Value value) {
  llvm::SmallPtrSet<void *, 8> seen;
  return nameOf(value, seen);
}

} // namespace tessera::graph
