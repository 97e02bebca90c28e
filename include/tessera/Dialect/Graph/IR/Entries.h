//===- Entries.h - Which functions are entries ------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_ENTRIES_H
#define TESSERA_DIALECT_GRAPH_IR_ENTRIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::graph {

/// What a program can be called by, on rungs `graph` to `spmd`: a public function with a body. No op of these
/// rungs calls a function, so a private one with a body is a mistake (`spmd-to-kernels` says so).
inline bool isEntry(mlir::func::FuncOp func) { return func.isPublic() && !func.isExternal(); }

} // namespace tessera::graph
#endif
