// Kernel functions to LLVM: the passes of the CPU target and the pipeline that runs them.
// After the pipeline a kernel function (tessera/Dialect/Exec/IR/KernelFunction.h) is an LLVM function with
// the signature ts_kernel_fn of runtime/include/tessera/runtime/abi.h. Everything else in the module is left
// alone.
#ifndef TESSERA_TARGET_CPU_PASSES_H
#define TESSERA_TARGET_CPU_PASSES_H

#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/Kernels/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tessera {

#define GEN_PASS_DECL
#include "tessera/Target/CPU/Passes.h.inc"

/// Adds the passes that turn every kernel function of a module into an LLVM function for `target`.
/// `stackLimit`: bytes of temporaries that a kernel may keep on the stack.
void buildKernelToLLVMPipeline(mlir::OpPassManager &pm, const CPUTarget &target, int64_t stackLimit = 65536);

struct KernelPipelineOptions : mlir::PassPipelineOptions<KernelPipelineOptions> {
  Option<std::string> cpu{*this, "cpu", llvm::cl::desc("native, x86-64-v3, x86-64-v4 or a name LLVM knows"),
                          llvm::cl::init("native")};
  Option<int64_t> stackLimit{*this, "stack-limit", llvm::cl::desc("Bytes of temporaries on the stack"),
                             llvm::cl::init(65536)};
};

/// The same by name, for tools: an unknown cpu falls back to the baseline x86-64.
void buildKernelToLLVMPipeline(mlir::OpPassManager &pm, const KernelPipelineOptions &options);

/// Registers the passes above and the pipeline `cpu-kernels-to-llvm`.
void registerCPUPasses();

/// Registers what the pipeline and the emission need from upstream dialects: bufferization interfaces,
/// inliner and translation interfaces. Call on the registry of the context.
void registerCPUDialectExtensions(mlir::DialectRegistry &registry);

} // namespace tessera

#endif
