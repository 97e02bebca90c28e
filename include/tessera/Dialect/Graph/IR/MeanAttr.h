//===- MeanAttr.h - What made-up values lie around --------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_MEANATTR_H
#define TESSERA_DIALECT_GRAPH_IR_MEANATTR_H

#include "llvm/ADT/StringRef.h"

namespace tessera::graph {

/// On graph.parameter: the number, f64, that its values lie around where they are made up (`--init=random`).
/// Importers say 1 for scales of norms. Without it: 0.
inline constexpr llvm::StringLiteral kMeanAttr = "graph.mean";
/// Likewise their standard deviation. Importers say 0 for biases and scales of norms, and what
/// the family has for the rest. Without it: 0.02.
inline constexpr llvm::StringLiteral kDeviationAttr = "graph.deviation";

} // namespace tessera::graph
#endif
