//===- DimNames.h - What the dimensions of values are called ----*- C++ -*-===//
//
// Only function arguments and `graph.name` carry names; everywhere else a name belongs to a factor of an op's
// rule, so it flows from operands to results, and through the edges of region ops. Works on every rung. Cost:
// one rule per op.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_DIMNAMES_DIMNAMES_H
#define TESSERA_ANALYSIS_DIMNAMES_DIMNAMES_H

#include "tessera/Interfaces/Interfaces.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

class DimNames {
public:
  /// Names all values of all functions in `module`.
  explicit DimNames(mlir::ModuleOp module);

  /// Names the results of `op`, which was made since. Values are known by address: while names are asked for,
  /// no op may be destroyed (take it out of the program and destroy it later).
  void extend(mlir::Operation *op);

  /// Also names operands without a name, by the op's results and other operands, and what functions return.
  /// For descriptions of a finished program: earlier, flags would reach dimensions by names that nobody gave.
  void nameOperands(mlir::ModuleOp module);

  /// One name per dimension, empty where unknown; no names at all for a value the analysis did not reach.
  llvm::ArrayRef<llvm::StringRef> names(mlir::Value value) const;
  /// Dimension `dim` of `value` by name, or `dimension 2`.
  std::string name(mlir::Value value, int dim) const;
  /// A factor of `op` by the name of a dimension it stands in, or that dimension: `dimension 1 of operand 0`.
  std::string factorName(ShardingRuleOpInterface op, const ShardingRule &rule, int factor) const;
  /// Every name that some dimension has.
  llvm::SmallVector<llvm::StringRef> allNames() const;

private:
  using Names = llvm::SmallVector<llvm::StringRef, 4>;
  void nameFunction(mlir::FunctionOpInterface function);
  void nameBlock(mlir::Block &block);
  void nameOp(mlir::Operation *op);
  void nameOperandsIn(mlir::Region &region);
  void nameOperandsOf(mlir::Operation *op);
  /// Gives `names` to `value` where it has none.
  void give(mlir::Value value, llvm::ArrayRef<llvm::StringRef> names);

  llvm::DenseMap<mlir::Value, Names> known;
};

} // namespace tessera
#endif
