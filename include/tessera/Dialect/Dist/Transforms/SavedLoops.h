//===- SavedLoops.h - What loops save, under a limit ------------*- C++ -*-===//
//
// On rung spmd, where bytes and times are those of one rank and exchanges are ops: pairs of a loop that saves
// values and the one that reads them (docs/Memory.md).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_SAVEDLOOPS_H
#define TESSERA_DIALECT_DIST_TRANSFORMS_SAVEDLOOPS_H

#include "tessera/Analysis/Saved/SavedValues.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace tessera::dist {

/// What may change.
enum class SavedFreedom {
  All,    ///< every value of a forward body may be saved or made again
  Gathers ///< what is saved stays; weights that were gathered may be kept besides
};

class SavedLoops {
public:
  /// Finds the pairs of `module`, rung spmd before collectives are bundled: loops of one body whose saved
  /// stacks one loop reads, in the same block. Quadratic in the ops of a body.
  SavedLoops(mlir::ModuleOp module, SavedFreedom freedom);
  ~SavedLoops();

  /// What is worth choosing: bytes of saved stacks of a rank, of all loops together, and the time of what
  /// backward makes again, in no unit.
  const SavedFrontier &frontier() const;
  /// Predicted seconds of one run of the program that backward makes values again.
  double seconds(const SavedChoice &choice) const;
  /// The same of the program as it is.
  double secondsNow() const;

  /// Makes the program do so; remarks `memory` say what. Call once.
  void apply(const SavedChoice &choice);

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::dist
#endif
