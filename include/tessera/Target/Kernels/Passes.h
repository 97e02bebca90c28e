// Passes on kernel functions (tessera/Dialect/Exec/IR/KernelFunction.h) that several targets share.
#ifndef TESSERA_TARGET_KERNELS_PASSES_H
#define TESSERA_TARGET_KERNELS_PASSES_H

#include "tessera/Dialect/Exec/IR/KernelFunction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tessera {

using exec::kApartAttr;
using exec::kInplaceAttr;
using exec::kKernelAttr;
/// On a buffer argument, between passes: the kernel writes it.
inline constexpr llvm::StringLiteral kOutputAttr = "tessera.output";

#define GEN_PASS_DECL
#include "tessera/Target/Kernels/Passes.h.inc"

/// Adds the passes from kernels on tensors to kernels on buffers: tile ops fused, results in place, no copy
/// of a buffer onto itself.
void buildKernelsToBuffers(mlir::OpPassManager &pm);

/// Registers the passes above by name. Any number of times.
void registerKernelPasses();

/// Registers what the passes need from upstream dialects: bufferization interfaces. Call on the registry of
/// the context.
void registerKernelDialectExtensions(mlir::DialectRegistry &registry);

} // namespace tessera

#endif
