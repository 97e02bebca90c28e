//===- SeenTokens.h - Tokens that stand in a row's text ---------*- C++ -*-===//
//
// Which tokens of the vocabulary a row's text has, i32 [batch, 1, vocab] (0: not this one), and what that
// does to its logits. All of it is elementwise: each rank looks at its own part of the vocabulary.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_SEENTOKENS_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_SEENTOKENS_H

#include "mlir/IR/Builders.h"

namespace tessera::graph {

/// `logits` [batch, 1, vocab] as float32. Of tokens that are `seen` those above 0 are divided by `penalty`,
/// f32 [], and the others multiplied by it. At 1 nothing changes, bit by bit.
mlir::Value penalized(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value logits, mlir::Value seen,
                      mlir::Value penalty);

/// What is `seen` behind the tokens `ids`, i32 [batch, 1], as well. Only rows whose place in both of
/// `places`, i32 [batch, 1], is not -1 have a token.
mlir::Value seenWith(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value seen, mlir::Value ids,
                     llvm::ArrayRef<mlir::Value> places);

} // namespace tessera::graph
#endif
