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

/// The same of many values of a program, which stays as it is meanwhile: what was found of one is remembered,
/// so all of them together are linear in the readers.
class ChoosingIds {
public:
  mlir::Value of(mlir::Value rows);

private:
  struct Found {
    mlir::Value ids;
    bool others = false; ///< one reads other rows, or chooses by other ids
  };
  Found look(mlir::Value rows) const;
  llvm::DenseMap<mlir::Value, Found> known;
};

} // namespace tessera::graph
#endif
