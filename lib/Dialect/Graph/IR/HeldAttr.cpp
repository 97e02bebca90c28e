//===- HeldAttr.cpp - Types of blocks that a checkpoint holds -------------===//
#include "tessera/Dialect/Graph/IR/HeldAttr.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tessera::graph {

bool fitsCacheBlocks(ShapedType type) {
  return type.hasStaticShape() && type.getRank() > 0 && type.getElementType().isF32() &&
         type.getShape().back() % kCacheBlock == 0;
}

bool isCacheInBlocks(Value value) {
  for (;;) {
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    if (auto func = dyn_cast_or_null<func::FuncOp>(op))
      return func.getArgAttr(argument.getArgNumber(), kHeldAttr) != nullptr;
    auto flow = dyn_cast_or_null<DataFlowOpInterface>(op);
    if (!flow)
      return isa_and_nonnull<CacheUpdateOp>(op) && op->hasAttr(kHeldAttr);
    // What is handed in comes first, from outside; of a branch that is handed nothing, what its first region
    // yields.
    SmallVector<DataFlowEdge> edges = flow.getDataFlowEdges();
    auto edge =
        llvm::find_if(edges, [&](DataFlowEdge &edge) { return llvm::is_contained(edge.places, value); });
    if (edge == edges.end())
      return false;
    value = edge->values.front();
  }
}

ArrayAttr heldTypes(ParameterOp parameter, int64_t first, int64_t layers) {
  auto held = parameter->getAttrOfType<ArrayAttr>(kHeldAttr);
  if (!held || held.size() == 1)
    return held;
  SmallVector<Attribute> some(held.getValue().slice(size_t(first), size_t(layers)));
  if (llvm::all_equal(some))
    some.resize(std::min<size_t>(some.size(), 1));
  return ArrayAttr::get(parameter.getContext(), some);
}

} // namespace tessera::graph
