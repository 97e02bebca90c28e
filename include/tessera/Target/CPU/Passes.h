// Kernel functions to LLVM: the passes of the CPU target and the pipeline that runs them.
//
// A kernel function is a func.func with the attribute `tessera.kernel`:
//   (inputs..., outputs..., index scalars..., %begin: index, %end: index) -> (outputs...)
// Tensors have static shapes; result k belongs to the k-th output argument. The body is one or more scf.for
// loops over [begin, end) that hold linalg ops on small static tiles. After the pipeline it is an LLVM
// function with the signature ts_kernel_fn of runtime/include/tessera/runtime/abi.h. Everything else in the
// module is left alone.
#ifndef TESSERA_TARGET_CPU_PASSES_H
#define TESSERA_TARGET_CPU_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tessera {

/// Marks a kernel function.
inline constexpr llvm::StringLiteral kKernelAttr = "tessera.kernel";
/// On an output argument: the number of the input argument whose buffer it is.
inline constexpr llvm::StringLiteral kInplaceAttr = "tessera.inplace";
/// On a buffer argument, between passes: the kernel writes it.
inline constexpr llvm::StringLiteral kOutputAttr = "tessera.output";

#define GEN_PASS_DECL
#include "tessera/Target/CPU/Passes.h.inc"

struct KernelPipelineOptions : mlir::PassPipelineOptions<KernelPipelineOptions> {
  Option<std::string> cpu{*this, "cpu", llvm::cl::desc("native, x86-64-v3, x86-64-v4 or a name LLVM knows"),
                          llvm::cl::init("native")};
  Option<int64_t> stackLimit{*this, "stack-limit", llvm::cl::desc("Bytes of temporaries on the stack"),
                             llvm::cl::init(65536)};
};

/// Adds the passes that turn every kernel function of a module into an LLVM function for `options.cpu`. An
/// unknown cpu falls back to the baseline x86-64; callers resolve the name first (TargetInfo.h) to report it.
void buildKernelToLLVMPipeline(mlir::OpPassManager &pm, const KernelPipelineOptions &options);

/// Registers the passes above and the pipeline `cpu-kernels-to-llvm`.
void registerCPUPasses();

/// Registers what the pipeline and the emission need from upstream dialects: bufferization interfaces,
/// inliner and translation interfaces. Call on the registry of the context.
void registerCPUDialectExtensions(mlir::DialectRegistry &registry);

} // namespace tessera

#endif
