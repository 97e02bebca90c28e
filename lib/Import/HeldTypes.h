//===- HeldTypes.h - What a checkpoint holds its weights in -----*- C++ -*-===//
#ifndef TESSERA_LIB_IMPORT_HELDTYPES_H
#define TESSERA_LIB_IMPORT_HELDTYPES_H

#include "tessera/runtime/io/ModelFile.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera::importer {

/// Writes `graph.held` on each parameter whose tensors are all in quantized blocks. Parameters that take
/// parts of several types in one layer get none, and are expanded at load.
void noteHeldTypes(mlir::ModuleOp module, const io::ModelFile &file);

/// How many neighbours of an inner dimension of `ffn` elements a shard should keep together: those of a
/// sub-block where a weight in quantized blocks has rows of so many, and whole sub-blocks of them; else 1.
int64_t blockGranule(const io::ModelFile &file, int64_t ffn);

} // namespace tessera::importer
#endif
