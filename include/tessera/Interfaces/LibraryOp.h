//===- LibraryOp.h - Ops with a form of their own on rung kernels -*- C++ -*-===//
#ifndef TESSERA_INTERFACES_LIBRARYOP_H
#define TESSERA_INTERFACES_LIBRARYOP_H

#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace tessera {

namespace kernels {
struct Lowering; // lib/Conversion/SpmdToKernels/Lowering.h
}

/// A parameter read as a packed matrix [out..., in...].
struct PackedUse {
  int64_t outDims; ///< how many leading dimensions are `out`; all uses of a parameter have to agree
  bool profits;    ///< faster than from a plain array: packing is for these, the others read along
};

} // namespace tessera

#include "tessera/Interfaces/LibraryOpInterface.h.inc"

#endif
