//===- HeldCaches.h - Caches in blocks ---------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_SPMDTOKERNELS_HELDCACHES_H
#define TESSERA_LIB_CONVERSION_SPMDTOKERNELS_HELDCACHES_H

#include "Lowering.h"

namespace tessera::kernels {

/// Caches that graph.held keeps in blocks become arrays of bytes, from the argument on. Behind lowerRepeats,
/// in front of lowerLibraryOps. Fails, with an error, where the target reads no blocks, or a cache is read or
/// written by what knows none.
LogicalResult holdCaches(Lowering &lowering);

} // namespace tessera::kernels
#endif
