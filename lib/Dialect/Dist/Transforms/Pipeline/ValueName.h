//===- ValueName.h - What a value of a step is called -------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PIPELINE_VALUENAME_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PIPELINE_VALUENAME_H

#include "mlir/IR/Value.h"

namespace tessera::dist {

/// By the location of the op that makes it (CallNames.h): of a stack, and of what a loop carries, the op in
/// the loop's body. Empty: nothing there has a name.
llvm::StringRef valueName(mlir::Value value);

} // namespace tessera::dist
#endif
