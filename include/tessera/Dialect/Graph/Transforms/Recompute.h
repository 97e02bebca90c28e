//===- Recompute.h - What backward computes again ---------------*- C++ -*-===//
//
// Backward reads values of forward. Those of a loop's body are saved, as stacks that forward returns, or
// computed again from what is saved: docs/Derivatives.md, "Saved or computed again".
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_RECOMPUTE_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_RECOMPUTE_H

#include "mlir/IR/Block.h"

namespace tessera::graph {

/// Of a graph.repeat: names of the stacks that it returns for backward, its last results.
constexpr llvm::StringLiteral kSavedAttr = "graph.saved";

/// What loops do not save though it cannot be had for a few operations an element.
struct Recompute {
  bool all = false; ///< everything but what a loop carries
  llvm::SmallVector<std::string>
      names; ///< values called so by graph.name, and what leads to them from others

  bool isOfPart = false; ///< the program is a part of the model: names may be those of other parts

  /// Reads `none`, `full` or names between commas.
  static Recompute parse(llvm::StringRef text);

  /// Fails, with an error at the op that `block` belongs to, if a name is none of a value in a loop of
  /// `block`.
  llvm::LogicalResult checkNames(mlir::Block &block) const;
};

/// Values of `body`, of a loop with `carried` carried values, that forward saves so that each of `needed` is
/// saved or can be computed again: the fewest bytes, and of several such choices the one that computes least.
/// Carried values and what must not run twice are saved if they are needed; slices of stacks and the index
/// are there anyway and no part of the answer. Time: ops times saved values.
llvm::DenseSet<mlir::Value> chooseSaved(mlir::Block &body, unsigned carried,
                                        llvm::ArrayRef<mlir::Value> needed, const Recompute &recompute);

/// Ops that cost a few operations an element and nothing else, or nothing at all: on any mesh an element of
/// the result is made where those of the operands are, so that no collective runs twice.
bool isCheapTwice(mlir::Operation *op);

/// What `op` reads: its operands, and values that its regions read from outside.
llvm::SmallVector<mlir::Value> readBy(mlir::Operation *op);

/// What a value of a body is called: by its graph.name, else after the op that makes it.
std::string nameOfSaved(mlir::Value value);

} // namespace tessera::graph
#endif
