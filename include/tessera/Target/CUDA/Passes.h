// Kernel functions to images for NVIDIA GPUs: the passes of the CUDA target and the pipeline that runs them.
#ifndef TESSERA_TARGET_CUDA_PASSES_H
#define TESSERA_TARGET_CUDA_PASSES_H

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/KernelMemory.h"
#include "tessera/Target/Kernels/Passes.h"
#include "tessera/Target/Kernels/ToLLVM.h"

namespace tessera {

/// On a buffer argument of a kernel: bytes to whose multiples every launch aligns it.
inline constexpr llvm::StringLiteral kAlignAttr = "tessera.align";
/// On a kernel: threads of a block.
inline constexpr llvm::StringLiteral kThreadsAttr = "tessera.threads";
/// On a kernel: bytes of shared memory; on an allocation: its place there.
inline constexpr llvm::StringLiteral kSharedBytesAttr = "tessera.shared_bytes";
inline constexpr llvm::StringLiteral kSharedOffsetAttr = "tessera.shared_offset";
using exec::kImageMemoryAttr;
/// On a kernel: the chip that its code is for alone; images for others do without.
inline constexpr llvm::StringLiteral kChipAttr = "tessera.chip";
/// The module of the kernels' code.
inline constexpr llvm::StringLiteral kDeviceModule = "tessera_device";

#define GEN_PASS_DECL
#include "tessera/Target/CUDA/Passes.h.inc"

/// Adds the passes that turn the kernel functions of a module into images.
void buildCUDAKernelPipeline(mlir::OpPassManager &pm);

/// Registers the passes above and the pipeline `cuda-kernels-to-images`.
void registerCUDAPasses();
/// Registers what pipeline and emission need from upstream dialects.
void registerCUDADialectExtensions(mlir::DialectRegistry &registry);

} // namespace tessera

#endif
