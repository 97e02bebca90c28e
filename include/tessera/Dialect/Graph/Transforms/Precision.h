//===- Precision.h - Types by name ------------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PRECISION_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PRECISION_H

#include "mlir/IR/BuiltinTypes.h"

namespace tessera::graph {

/// f32, bf16 or f16, as options spell them; null: none of these.
inline mlir::FloatType floatTypeOf(mlir::MLIRContext *context, llvm::StringRef name) {
  if (name == "f32")
    return mlir::Float32Type::get(context);
  if (name == "bf16")
    return mlir::BFloat16Type::get(context);
  if (name == "f16")
    return mlir::Float16Type::get(context);
  return {};
}

} // namespace tessera::graph
#endif
