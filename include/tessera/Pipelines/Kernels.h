//===- Kernels.h - From rung spmd to an object ------------------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_KERNELS_H
#define TESSERA_PIPELINES_KERNELS_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace tessera {

struct BackendOptions : mlir::PassPipelineOptions<BackendOptions> {
  Option<std::string> cpu{*this, "cpu", llvm::cl::desc("native, x86-64-v3, x86-64-v4 or a name LLVM knows"),
                          llvm::cl::init("native")};
};

/// Rung spmd to rung kernels. The name of the cpu must be known to resolveCPUTarget.
void buildKernelsPipeline(mlir::OpPassManager &pm, const BackendOptions &options);
/// Rung kernels to rung exec.
void buildExecPipeline(mlir::OpPassManager &pm, const BackendOptions &options);
/// Rung exec to a module of the LLVM dialect alone, ready for emitObject.
void buildBinaryPipeline(mlir::OpPassManager &pm, const BackendOptions &options);

/// `tessera-to-kernels`, `tessera-to-exec`, `tessera-to-llvm`: from rung spmd to the rung named.
void registerBackendPipelines();

} // namespace tessera
#endif
