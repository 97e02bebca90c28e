//===- HeldValues.h - What the values of an entry are for -------*- C++ -*-===//
//
// Follows from where a value comes from and who reads it: weights, collectives, updates of variables, and the
// part of the step that ops are of (CallNames.h). No name and no kind of op is asked for.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_KERNELSTOEXEC_HELDVALUES_H
#define TESSERA_LIB_CONVERSION_KERNELSTOEXEC_HELDVALUES_H

#include "ParameterUpdates.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/Holds.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera::exec {

class HeldValues {
public:
  HeldValues(mlir::func::FuncOp func, llvm::ArrayRef<ParameterUpdate> updates);

  /// Of a tensor that is no view. `func` must still be as it was.
  Held heldBy(mlir::Value value) const;
  /// What the value is called; empty: nothing has a name there.
  static llvm::StringRef nameOf(mlir::Value value);

private:
  /// What a value is made from. A constant takes nothing away.
  enum class Origin { Constant, Weights, Gathered, Other };

  bool follow(mlir::Block &block);
  bool set(mlir::Value value, Origin origin);
  Origin originOf(mlir::Value value) const;
  llvm::SmallVector<mlir::Value> arraysRead(mlir::Operation *maker) const;
  void markGradient(mlir::Value value);
  void markUpdate(mlir::Value next);

  llvm::DenseMap<mlir::Value, Origin> origins; ///< of roots; missing: a constant
  llvm::DenseSet<mlir::Value> gradients, updated;
};

} // namespace tessera::exec
#endif
