//===- Pipeline.cpp - the passes of the CPU target, in order ----------------===//

#include "tessera/Target/CPU/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_REGISTRATION
#include "tessera/Target/CPU/Passes.h.inc"

using namespace mlir;

void buildKernelToLLVMPipeline(OpPassManager &pm, const CPUTarget &target, int64_t stackLimit) {
  buildKernelsToBuffers(pm);
  OpPassManager &onBuffers = pm.nest<func::FuncOp>();
  onBuffers.addPass(createPlaceTemporaries({stackLimit}));

  // Vectors.
  onBuffers.addPass(createVectorizeTiles({target.lanes()}));
  onBuffers.addPass(createCanonicalizerPass());
  bool nativeBF16 = llvm::is_contained(target.requiredFeatures, "avx512_bf16");
  onBuffers.addPass(createExpandMath({nativeBF16}));
  onBuffers.addPass(createCSEPass());

  pm.addPass(createConvertKernelsToLLVM({target.cpu, target.features, target.vectorBits, nativeBF16}));
}

void buildKernelToLLVMPipeline(OpPassManager &pm, const KernelPipelineOptions &options) {
  CPUTarget target{"", "x86-64", "", 128, {}};
  if (llvm::Expected<CPUTarget> resolved = resolveCPUTarget(options.cpu))
    target = std::move(*resolved);
  else
    llvm::consumeError(resolved.takeError());
  buildKernelToLLVMPipeline(pm, target, options.stackLimit);
}

void registerCPUPasses() {
  registerKernelPasses();
  registerCPUTargetPasses();
  PassPipelineRegistration<KernelPipelineOptions>(
      "cpu-kernels-to-llvm", "Kernel functions on tensors to LLVM functions of the runtime's signature",
      [](OpPassManager &pm, const KernelPipelineOptions &options) {
        buildKernelToLLVMPipeline(pm, options);
      });
}

void registerCPUDialectExtensions(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                  cf::ControlFlowDialect, func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  registerKernelDialectExtensions(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

} // namespace tessera
