//===- DrawEntry.h - The entry that draws tokens ----------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_DRAWENTRY_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_DRAWENTRY_H

#include "tessera/Dialect/Graph/Transforms/KeptRows.h"

namespace tessera::graph {

/// Adds @sample before `before`: draws a token of every row from `logits` [batch, 1, vocab], as the entry
/// that was called before gave them, and leaves it in the rows of the next step. How it draws are states,
/// none of which is called like one of `taken`. Where nothing is `kept`, the positions of the tokens to draw
/// are an input. `isStage`: of a pipeline, where each group of rows has its own of what belongs to rows.
void buildDrawEntry(mlir::func::FuncOp before, Port logits, const KeptRows &kept,
                    const llvm::StringSet<> &taken, bool isStage);

} // namespace tessera::graph
#endif
