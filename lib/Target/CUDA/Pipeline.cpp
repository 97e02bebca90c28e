//===- Pipeline.cpp - the passes of the CUDA target, in order ---------------===//

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_REGISTRATION
#include "tessera/Target/CUDA/Passes.h.inc"

using namespace mlir;

void buildCUDAKernelPipeline(OpPassManager &pm) {
  buildKernelsToBuffers(pm);
  pm.addPass(createCUDAPromiseAlignment());

  // Threads.
  OpPassManager &onBuffers = pm.nest<func::FuncOp>();
  onBuffers.addPass(createCUDAStartReductions());
  onBuffers.addPass(createCUDADistributeTiles());
  onBuffers.addPass(createCanonicalizerPass());
  onBuffers.addPass(createExpandMath());
  onBuffers.addPass(createCSEPass());
  onBuffers.addPass(createCUDAPlaceShared());

  pm.addPass(createCUDAAddRandomWeights());
  pm.addPass(createCUDAOutlineKernels());
  pm.addPass(createCUDAEmitImages());
}

void registerCUDAPasses() {
  registerKernelPasses();
  registerCUDATargetPasses();
  PassPipelineRegistration<>("cuda-kernels-to-images",
                             "Kernel functions on tensors to images for NVIDIA GPUs",
                             [](OpPassManager &pm) { buildCUDAKernelPipeline(pm); });
}

void registerCUDADialectExtensions(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                  cf::ControlFlowDialect, func::FuncDialect, gpu::GPUDialect, linalg::LinalgDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
  registerKernelDialectExtensions(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

} // namespace tessera
