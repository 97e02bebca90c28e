//===- Entries.h - Which functions are entries ------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_ENTRIES_H
#define TESSERA_DIALECT_GRAPH_IR_ENTRIES_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::graph {

/// What a program can be called by, on rungs `graph` to `spmd`: a public function with a body. No op of these
/// rungs calls a function, so a private one with a body is a mistake (`spmd-to-kernels` says so).
inline bool isEntry(mlir::func::FuncOp func) { return func.isPublic() && !func.isExternal(); }

/// What stands in `graph.fill` of an argument, and in `graph.gives` of a result, if anything does.
inline std::optional<FillSource> fillOf(mlir::func::FuncOp function, unsigned argument) {
  auto fill = function.getArgAttrOfType<FillAttr>(argument, kFillAttr);
  return fill ? std::optional(fill.getSource()) : std::nullopt;
}
inline std::optional<Gives> givesOf(mlir::func::FuncOp function, unsigned result) {
  auto gives = function.getResultAttrOfType<GivesAttr>(result, kGivesAttr);
  return gives ? std::optional(gives.getValue()) : std::nullopt;
}
/// `graph.name`; empty if there is none.
inline llvm::StringRef argumentName(mlir::func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<mlir::StringAttr>(argument, kNameAttr);
  return name ? name.getValue() : llvm::StringRef();
}
inline llvm::StringRef resultName(mlir::func::FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<mlir::StringAttr>(result, kNameAttr);
  return name ? name.getValue() : llvm::StringRef();
}

} // namespace tessera::graph
#endif
