//===- SavedPair.h - A loop that saves and the one that reads ---*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_SAVEDPAIR_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_SAVEDPAIR_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace tessera::dist {

/// The stack that a loop of so many layers returns of slices of `type`.
mlir::Type stackOf(mlir::Type type, int64_t count);

/// A forward loop of one body and the loop that reads its saved stacks, backward over the same layers. A
/// value of backward's body *is* one of forward's if it is made in the same way, of the same: a layer of the
/// same stack, of a saved one what was yielded for it, or the result of an equal op of equal operands.
class SavedPair {
public:
  /// None: `forward` saves nothing, has several bodies, or others read what it saves.
  static std::optional<SavedPair> find(graph::RepeatOp forward);

  graph::RepeatOp forward, backward;
  /// Values of forward's body that backward's ops read, but for those that are values of forward themselves.
  llvm::SetVector<mlir::Value> needed;

  bool isInForward(mlir::Value value) const { return value.getParentBlock() == &body(); }
  /// There in every body anyway: the index, layers of stacks that are read.
  bool isGiven(mlir::Value value) const;
  /// What forward saves now.
  bool isSavedNow(mlir::Value value) const;
  mlir::Block &body() const { return graph::RepeatOp(forward).getBody(0); }
  /// For people: what `value`, of forward's body, is called.
  std::string nameOf(mlir::Value value) const;
  /// A weight, or a piece of one, that ranks exchanged: nothing else leads to it.
  bool isGathered(mlir::Value value) const;

  /// Ops of backward's body that make values of forward's.
  llvm::SmallVector<mlir::Operation *> madeAgain() const;

  /// Makes forward return stacks of `saved`, in place of what it saved, and backward read them; what else
  /// backward needs it makes again.
  void rewrite(const llvm::SetVector<mlir::Value> &saved);

private:
  void findSame();
  void findNeeded();
  mlir::Value sameAs(mlir::Value value) const { return same.lookup(value); }
  unsigned firstSaved() const;

  llvm::DenseMap<mlir::Value, mlir::Value> same; ///< of backward's body to forward's
};

} // namespace tessera::dist
#endif
