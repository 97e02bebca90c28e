//===- Passes.h - Passes within rungs graph and step ------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace tessera::graph {

#define GEN_PASS_DECL
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"

} // namespace tessera::graph
#endif
