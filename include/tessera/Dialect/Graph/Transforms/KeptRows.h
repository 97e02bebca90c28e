//===- KeptRows.h - What the next step takes, kept between calls *- C++ -*-===//
//
// The token and the position of every row that the next step takes are states: a step leaves them for the one
// after it, and nobody in between has to look at the tokens (docs/Step.md).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_KEPTROWS_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_KEPTROWS_H

#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

#include "llvm/ADT/StringSet.h"

namespace tessera::graph {

/// One token and one position of every row: tensors [batch, 1] of i32.
struct Rows {
  mlir::Value tokens, positions;
};

/// What follows when rows at `positions` chose `next`: these tokens, one position on. A row is inert
/// (position -1) from then on where it was inert, where no token was chosen (the logits are no numbers) or
/// one of `ends`, and at the end of the context.
Rows rowsAfter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value positions, mlir::Value next,
               mlir::Value ends, int64_t context);

/// Rows of `made` where `positions` are places of the text, those of `kept` where they are inert.
Rows rowsWhere(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value positions, const Rows &made,
               const Rows &kept);

/// The same rows with `ids` as their tokens where a row stands in the text and has a start; inert where its
/// id is none (-1) or one of `ends`.
Rows rowsDrawn(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, mlir::Value starts,
               mlir::Value ids, mlir::Value ends);

/// How many ids end a text, at most, that a program looks for by itself: models have one to three.
constexpr int64_t kEndTokens = 8;

/// The state, called `name`, of the ids behind which a row is inert: [kEndTokens] of i32, -1 where there is
/// none. Two entries read one each, by `source`: the token that one chooses is not the row's if the other
/// draws another.
Port endTokens(mlir::Builder &builder, std::string name, FillSource source);

/// `name`, with a number behind it where that is one of `taken`.
std::string freeName(llvm::StringRef name, const llvm::StringSet<> &taken);

/// The rows as states.
class KeptRows {
public:
  KeptRows() = default;
  /// `inputs`: those of a function for one position a row. Names are none of `taken`. Empty where no input
  /// says at which positions the rows stand.
  KeptRows(mlir::Builder &builder, llvm::ArrayRef<Port> inputs, const llvm::StringSet<> &taken);

  bool empty() const { return ports_.empty(); }
  /// In the order of the inputs.
  llvm::ArrayRef<Port> ports() const { return ports_; }
  /// From and to values in the order of the ports.
  Rows rows(llvm::ArrayRef<mlir::Value> values) const;
  llvm::SmallVector<mlir::Value> values(const Rows &rows) const;

private:
  bool tokensFirst_ = true;
  llvm::SmallVector<Port> ports_;
};

} // namespace tessera::graph
#endif
