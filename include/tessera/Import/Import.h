//===- Import.h - From a checkpoint to rung graph ---------------*- C++ -*-===//
//
// Reads a Hugging Face directory or a GGUF file and builds the program of rung `graph` (docs/Import.md). Only
// headers are read, never the weights (one exception: the few numbers of GGUF's `rope_freqs.weight`).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_IMPORT_H
#define TESSERA_IMPORT_IMPORT_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/ModelFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <string>

namespace tessera::importer {

/// Attributes of an imported module.
inline constexpr llvm::StringLiteral kArchitectureAttr = "graph.architecture"; ///< string: "llama"
inline constexpr llvm::StringLiteral kMaxPositionsAttr =
    "graph.max_positions"; ///< i64: longest context of the model

enum class NumberFormat { F32, BF16, F16 };

struct ImportOptions {
  int64_t batch = 1;
  /// Size of `seq` in @forward; 0: the smaller of 2048 and the model's longest context.
  int64_t maxSeqLen = 0;
  /// Element type of weights and activations.
  NumberFormat dtype = NumberFormat::F32;
  /// Of each run of layers only as many as say all of it (LayerRuns.h). Tensors are not checked then.
  bool cutsRuns = false;
  /// Where weights are in quantized blocks, dimensions that are split over ranks are cut between those.
  bool cutsAlongBlocks = false;
};

/// Builds `func @forward` and the `graph.parameter` symbols it takes (docs/Architecture.md, "Program form").
/// The module has been verified. If the model has weights, every name, shape and type has been compared with
/// what config.json or the metadata says. Loads the dialects it needs into `context`. Cost: proportional to
/// the number of tensors; the module's size does not depend on depth. Fails, with the offending setting or
/// tensor, on an architecture or a setting that is not implemented.
Result<mlir::OwningOpRef<mlir::ModuleOp>> importModel(mlir::MLIRContext &context, const std::string &path,
                                                      const ImportOptions &options);
/// The same for a model that is open.
Result<mlir::OwningOpRef<mlir::ModuleOp>> importModel(mlir::MLIRContext &context, const io::ModelFile &file,
                                                      const ImportOptions &options);

} // namespace tessera::importer
#endif
