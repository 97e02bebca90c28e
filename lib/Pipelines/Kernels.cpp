//===- Kernels.cpp - from rung spmd to an object ----------------------------===//
#include "tessera/Pipelines/Kernels.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Target/CPU/Passes.h"
#include "tessera/Target/CPU/TargetInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera {

static void verifyRung(OpPassManager &pm, StringRef rung) {
  dist::VerifyRungPassOptions options;
  options.rung = rung.str();
  pm.addPass(dist::createVerifyRungPass(options));
}

void buildKernelsPipeline(OpPassManager &pm, const BackendOptions &options) {
  //===- Equal values once: kernels take each operand once -----------------===//
  pm.addPass(createCSEPass());

  //===- Fused loops, library calls, communication -------------------------===//
  SpmdToKernelsOptions kernels;
  if (llvm::Expected<CPUTarget> target = resolveCPUTarget(options.cpu))
    kernels.lanes = target->lanes();
  else // reported by exec-to-llvm, with the place
    llvm::consumeError(target.takeError());
  pm.addPass(createSpmdToKernels(kernels));
  verifyRung(pm, "kernels");
}

void buildExecPipeline(OpPassManager &pm, const BackendOptions &) {
  //===- Every value a place in the arena -----------------------------------===//
  pm.addPass(createKernelsToExec());
  verifyRung(pm, "exec");
}

void buildBinaryPipeline(OpPassManager &pm, const BackendOptions &options) {
  //===- Kernels: tensors -> buffers -> vectors -> LLVM ---------------------===//
  KernelPipelineOptions kernels;
  kernels.cpu = options.cpu;
  buildKernelToLLVMPipeline(pm, kernels);

  //===- Host: calls of the runtime, and the manifest -----------------------===//
  // After the kernels: launches take their addresses.
  ExecToLLVMOptions host;
  host.cpu = options.cpu;
  pm.addPass(createExecToLLVM(host));
}

void registerBackendPipelines() {
  PassPipelineRegistration<BackendOptions>("tessera-to-kernels", "Rung spmd to rung kernels", buildKernelsPipeline);
  PassPipelineRegistration<BackendOptions>("tessera-to-exec", "Rung spmd to rung exec",
                                           [](OpPassManager &pm, const BackendOptions &options) {
                                             buildKernelsPipeline(pm, options);
                                             buildExecPipeline(pm, options);
                                           });
  PassPipelineRegistration<BackendOptions>("tessera-to-llvm", "Rung spmd to the LLVM dialect",
                                           [](OpPassManager &pm, const BackendOptions &options) {
                                             buildKernelsPipeline(pm, options);
                                             buildExecPipeline(pm, options);
                                             buildBinaryPipeline(pm, options);
                                           });
}

} // namespace tessera
