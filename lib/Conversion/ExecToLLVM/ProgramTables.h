// The tables of an executable: struct ts_program and what it points to (tessera/runtime/abi.h).
#ifndef TESSERA_LIB_CONVERSION_EXECTOLLVM_PROGRAMTABLES_H
#define TESSERA_LIB_CONVERSION_EXECTOLLVM_PROGRAMTABLES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera {

/// A kernel that some entry launches.
struct KernelRow {
  mlir::StringAttr name;
  llvm::SmallVector<std::pair<int64_t, int64_t>>
      buffers; // bytes and TS_READ, TS_WRITE or TS_UPDATE, and TS_FLOATS, in the order of the launch
  int64_t scalars;
};

/// The JSON of docs/Manifest.md.
inline constexpr llvm::StringLiteral kManifestSymbol = "tessera_manifest";

/// Adds `tessera_program` (of a stage of a pipeline: with its module's name behind it) to the module: entries
/// and kernels in the order of their numbers, siblings of kernels and images as its ops say.
void emitProgramTables(mlir::ModuleOp module, llvm::ArrayRef<mlir::LLVM::LLVMFuncOp> entries,
                       llvm::ArrayRef<KernelRow> kernels, const std::string &manifest);

/// Adds `tessera_program` to the module, with the programs of `stages`, whose symbols other objects define.
void emitStageTables(mlir::ModuleOp module, llvm::ArrayRef<mlir::ModuleOp> stages,
                     const std::string &manifest);

/// Adds to an empty module the `tessera_program` of several versions, whose symbols other objects define.
void emitVersionTable(mlir::ModuleOp module, llvm::ArrayRef<std::string> versions);

} // namespace tessera

#endif
