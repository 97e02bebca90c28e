//===- Experts.h - Ops by expert --------------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_EXPERTS_H
#define TESSERA_DIALECT_GRAPH_IR_EXPERTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Interfaces/ChosenRows.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphExpertOps.h.inc"

namespace tessera::graph {

/// Experts of all ranks, of a value [n..., e, d] whose type has those of one.
int64_t allExperts(mlir::Value rows);

/// Whether what the op of `use` makes has a row for each of the operand's, computed from that row alone.
bool passesRowsOn(mlir::OpOperand &use);

/// The ids by which all readers of `rows` [n..., e, d] choose, those of what is computed of it row by row
/// included; null if one reads other rows, or chooses by other ids, or if nobody reads. Linear in the
/// readers.
mlir::Value choosingIds(mlir::Value rows);

} // namespace tessera::graph
#endif
