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

namespace tessera::dist {

/// What was decided.
inline void explain(mlir::Location loc, llvm::StringRef name, const std::string &text) {
  mlir::remark::passed(loc, mlir::remark::RemarkOpts::name(name).category(kRemarkCategory)) << text;
}
/// What could not be had: something lies whole, or the same work is done twice.
inline void explainMissed(mlir::Location loc, llvm::StringRef name, const std::string &text) {
  mlir::remark::missed(loc, mlir::remark::RemarkOpts::name(name).category(kRemarkCategory)) << text;
}

/// `axes` as --shard spells them.
inline std::string axesText(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  return llvm::join(llvm::map_range(axes, [&](const AxisRef &axis) { return toString(axis, mesh); }), "+");
}

} // namespace tessera::dist
#endif
