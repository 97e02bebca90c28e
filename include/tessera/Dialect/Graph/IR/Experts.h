//===- Experts.h - Ops by expert --------------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_EXPERTS_H
#define TESSERA_DIALECT_GRAPH_IR_EXPERTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphExpertOps.h.inc"

namespace tessera::graph {

/// Experts of all ranks, of a value [n..., e, d] whose type has those of one.
int64_t allExperts(mlir::Value rows);

} // namespace tessera::graph
#endif
