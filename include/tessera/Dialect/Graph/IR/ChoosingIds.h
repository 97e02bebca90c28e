//===- ChoosingIds.h - What choosingIds finds, remembered -------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_CHOOSINGIDS_H
#define TESSERA_DIALECT_GRAPH_IR_CHOOSINGIDS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera::graph {

/// choosingIds (Experts.h) of many values of a program, which stays as it is meanwhile: what was found of one
/// is remembered, so all of them together are linear in the readers.
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
