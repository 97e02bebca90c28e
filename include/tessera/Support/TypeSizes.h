// Bytes of values in memory.
#ifndef TESSERA_SUPPORT_TYPESIZES_H
#define TESSERA_SUPPORT_TYPESIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace tessera {

/// Bytes of an element of `type`, a shaped type or the element's: index counts 8, i1 a whole one.
inline int64_t elementBytes(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIndex() ? 8 : (int64_t(element.getIntOrFloatBitWidth()) + 7) / 8;
}

/// Bytes of a statically shaped tensor or memref type.
inline int64_t arrayBytes(mlir::Type type) {
  return llvm::cast<mlir::ShapedType>(type).getNumElements() * elementBytes(type);
}

} // namespace tessera
#endif
