//===- Passes.h - From rung step to rung spmd -------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_PASSES_H
#define TESSERA_DIALECT_DIST_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tessera::dist {

#define GEN_PASS_DECL
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"

/// Checks that only what belongs on `rung` (graph, step, sharded, spmd, kernels, exec) stands in `module`:
/// what pass verify-rung does.
llvm::LogicalResult verifyRung(mlir::ModuleOp module, llvm::StringRef rung);

/// Attributes by which the passes speak to each other; docs in Passes.td.
inline constexpr llvm::StringLiteral kShardingAttr =
    "dist.sharding"; ///< on an argument or result of a function
inline constexpr llvm::StringLiteral kUnaskedAttr =
    "dist.unasked"; ///< on an output, or an input that another function gives: nobody asked how it lies
inline constexpr llvm::StringLiteral kShardingsAttr = "dist.shardings"; ///< on an op: one per result
inline constexpr llvm::StringLiteral kBlockShardingsAttr =
    "dist.block_shardings"; ///< on an op: per region, one per block argument
inline constexpr llvm::StringLiteral kWidenableAttr =
    "dist.widenable"; ///< on an argument: nobody minds if it comes less sharded
inline constexpr llvm::StringLiteral kSeededAttr =
    "dist.seeded"; ///< on a widened argument: the sharding that was asked of it
inline constexpr llvm::StringLiteral kBundledAttr =
    "dist.bundled"; ///< on a bundle's collective and what copies into it and out of it
/// The symbol of the mesh that dist-annotate makes.
inline constexpr llvm::StringLiteral kMeshName = "mesh";
/// Category of every remark of these passes.
inline constexpr llvm::StringLiteral kRemarkCategory = "dist";

} // namespace tessera::dist
#endif
