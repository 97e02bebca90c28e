//===- Explain.h - Decisions as remarks -------------------------*- C++ -*-===//
//
// Every decision of these passes is an MLIR remark of category "dist", one text each; `--explain` prints
// them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_EXPLAIN_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_EXPLAIN_H

#include "tessera/Dialect/Dist/Transforms/Passes.h"

#include "tessera/Analysis/Sharding/Mesh.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

#include <vector>

namespace tessera::dist {

/// What was decided.
void explain(mlir::Location loc, llvm::StringRef name, const std::string &text);
/// What could not be had: something lies whole, or the same work is done twice.
void explainMissed(mlir::Location loc, llvm::StringRef name, const std::string &text);

/// Remarks that are said later, in another order than they were made in.
class HeldRemarks {
public:
  /// Holds those that `work` makes on this thread.
  void hold(llvm::function_ref<void()> work);
  /// Says all of them.
  void emit();

private:
  friend void explain(mlir::Location, llvm::StringRef, const std::string &);
  friend void explainMissed(mlir::Location, llvm::StringRef, const std::string &);
  struct Remark {
    bool missed;
    mlir::Location loc;
    std::string name, text;
  };
  static void say(Remark remark);

  std::vector<Remark> held;
};

/// `axes` as --shard spells them.
inline std::string axesText(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  return llvm::join(llvm::map_range(axes, [&](const AxisRef &axis) { return toString(axis, mesh); }), "+");
}

} // namespace tessera::dist
#endif
