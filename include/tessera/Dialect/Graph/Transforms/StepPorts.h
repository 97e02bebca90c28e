//===- StepPorts.h - Arguments and results of a step ------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_STEPPORTS_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_STEPPORTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace tessera::graph {

/// Of a dist.pipeline: by the name of each value that stages send, why it travels.
inline constexpr llvm::StringLiteral kChannelsAttr = "graph.channels";

/// On a module that has a part of a model, a stage: the texts of items of --shard about what is not there,
/// which another part may have. Without it they are an error.
inline constexpr llvm::StringLiteral kUnknownItemsAttr = "tessera.unknown_items";

/// Argument or result of a function to build.
struct Port {
  mlir::Type type;
  Kind kind;
  std::string name;
  llvm::SmallVector<llvm::StringRef> dims;
  /// What fills it, what it gives, or when it is cleared.
  std::optional<mlir::NamedAttribute> fact = std::nullopt;

  /// All of it but the type, as attributes.
  mlir::DictionaryAttr attributes(mlir::Builder &b) const {
    mlir::NamedAttrList attrs;
    attrs.set(kKindAttr, KindAttr::get(b.getContext(), kind));
    attrs.set(kNameAttr, b.getStringAttr(name));
    if (!dims.empty())
      attrs.set(kDimsAttr, b.getStrArrayAttr(dims));
    if (fact)
      attrs.set(fact->getName(), fact->getValue());
    return attrs.getDictionary(b.getContext());
  }
};

/// The text of an attribute of an argument; empty: it has none.
inline llvm::StringRef argText(mlir::func::FuncOp function, unsigned arg, llvm::StringRef attr) {
  auto text = function.getArgAttrOfType<mlir::StringAttr>(arg, attr);
  return text ? text.getValue() : llvm::StringRef();
}

} // namespace tessera::graph
#endif
