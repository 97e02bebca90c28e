//===- CacheBytes.h - Bytes of states ----------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_CACHEBYTES_H
#define TESSERA_DIALECT_GRAPH_IR_CACHEBYTES_H

#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera::graph {

/// The blocks that `state`, an argument of a function, is kept in; empty: none.
inline llvm::StringRef heldBlocks(mlir::BlockArgument state) {
  auto function = llvm::cast<mlir::FunctionOpInterface>(state.getOwner()->getParentOp());
  auto held = function.getArgAttrOfType<mlir::StringAttr>(state.getArgNumber(), kHeldAttr);
  return held ? held.getValue() : llvm::StringRef();
}

/// Bytes that `state` takes in memory: of its elements, or of the blocks that they are kept in. Down to rung
/// spmd, where its type is that of elements.
inline int64_t stateBytes(mlir::BlockArgument state) {
  auto type = llvm::cast<mlir::ShapedType>(state.getType());
  return heldBlocks(state).empty() ? arrayBytes(type) : cacheRowBytes(type.getNumElements());
}

} // namespace tessera::graph
#endif
