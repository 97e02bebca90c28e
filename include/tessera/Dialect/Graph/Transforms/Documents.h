//===- Documents.h - Rows that hold several documents -----------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_DOCUMENTS_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_DOCUMENTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::graph {

/// What each token of whole rows sees, from `positions` [batch, seq] i32, which start over with each
/// document: [batch, seq, 2], the last key, which is the token's own, and the first, where its document
/// begins. Keys are counted by their places in the row. An inert token (position -1) sees none.
mlir::Value keysOfDocuments(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value positions);

/// Lets what mixes positions, of and inside `op`, and goes by `positions` go by `keys`.
void useKeysOfDocuments(mlir::Operation *op, mlir::Value positions, mlir::Value keys);

} // namespace tessera::graph
#endif
