//===- HeldTypes.h - What a checkpoint holds its weights in -----*- C++ -*-===//
#ifndef TESSERA_LIB_IMPORT_HELDTYPES_H
#define TESSERA_LIB_IMPORT_HELDTYPES_H

#include "tessera/runtime/io/ModelFile.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera::importer {

/// Writes `graph.held` on each parameter whose tensors are all in quantized blocks. Parameters that take
/// parts of several types in one layer get none, and are expanded at load.
void noteHeldTypes(mlir::ModuleOp module, const io::ModelFile &file);

} // namespace tessera::importer
#endif
