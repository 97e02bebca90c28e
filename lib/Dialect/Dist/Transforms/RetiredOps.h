//===- RetiredOps.h - Ops that a pass took out of the program ---*- C++ -*-===//
//
// A pass that keeps maps keyed by values and ops while it replaces ops must not destroy them: the next op
// made could get the address of one that is gone, and with it what the maps say of that. Replaced ops are
// retired instead and destroyed with the pass's maps.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RETIREDOPS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RETIREDOPS_H

#include "mlir/IR/Operation.h"

namespace tessera::dist {

class RetiredOps {
public:
  RetiredOps() = default;
  RetiredOps(const RetiredOps &) = delete;
  ~RetiredOps() {
    for (mlir::Operation *op : ops)
      op->destroy();
  }

  /// Takes `op`, whose results nobody uses any more, out of its block.
  void add(mlir::Operation *op) {
    op->dropAllReferences();
    op->remove();
    ops.push_back(op);
  }

private:
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace tessera::dist
#endif
