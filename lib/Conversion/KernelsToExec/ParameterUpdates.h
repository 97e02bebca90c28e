//===- ParameterUpdates.h - Next values of variables ------------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_KERNELSTOEXEC_PARAMETERUPDATES_H
#define TESSERA_LIB_CONVERSION_KERNELSTOEXEC_PARAMETERUPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::exec {

/// The next value of a variable. It is made where the variable lies, or copied there.
struct ParameterUpdate {
  mlir::FlatSymbolRefAttr parameter;
  mlir::Value value;
  mlir::Operation *behind =
      nullptr; ///< of the entry's block: from there on nothing reads what was; null: the end
  mlir::Value madeInPlace = nullptr; ///< what the maker of the value gives; it lies where the variable does
};

/// Takes the results of kind parameter from `func`. Each is made in place, or copied as soon as it is there
/// and nothing reads the old value any more, so that its place is free for others.
llvm::FailureOr<llvm::SmallVector<ParameterUpdate>> takeUpdates(mlir::func::FuncOp func);

} // namespace tessera::exec
#endif
