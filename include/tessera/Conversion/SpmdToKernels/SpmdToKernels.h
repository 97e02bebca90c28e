//===- SpmdToKernels.h - Library forms of graph ops -------------*- C++ -*-===//
#ifndef TESSERA_CONVERSION_SPMDTOKERNELS_SPMDTOKERNELS_H
#define TESSERA_CONVERSION_SPMDTOKERNELS_SPMDTOKERNELS_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// Attaches LibraryOpInterface to the ops of dialect graph that `spmd-to-kernels` does not turn into fused loops, when the dialect is loaded.
void registerLibraryOps(mlir::DialectRegistry &registry);

} // namespace tessera

#endif
