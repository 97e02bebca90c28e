//===- HeldAttr.cpp - Types of blocks that a checkpoint holds -------------===//
#include "tessera/Dialect/Graph/IR/HeldAttr.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;

namespace tessera::graph {

bool fitsCacheBlocks(ShapedType type) {
  return type.hasStaticShape() && type.getRank() > 0 && type.getElementType().isF32() &&
         type.getShape().back() % kCacheBlock == 0;
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
