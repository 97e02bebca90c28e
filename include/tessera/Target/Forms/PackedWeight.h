//===- PackedWeight.h - A weight as its readers name it ---------*- C++ -*-===//
#ifndef TESSERA_TARGET_FORMS_PACKEDWEIGHT_H
#define TESSERA_TARGET_FORMS_PACKEDWEIGHT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace tessera {

/// A packed parameter, or one layer of it, or what ranks hold of it in blocks, gathered.
struct PackedWeight {
  mlir::FlatSymbolRefAttr param;
  mlir::Value layer;  ///< null: all of it
  mlir::Value pieces; ///< null: it is this rank's own
};

/// What `weight` is where forms are lowered; none if it is a plain array.
std::optional<PackedWeight> packedWeight(mlir::Value weight);

} // namespace tessera
#endif
