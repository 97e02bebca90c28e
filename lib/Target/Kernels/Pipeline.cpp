//===- Pipeline.cpp - the shared passes, in order ---------------------------===//

#include "tessera/Target/Kernels/Passes.h"

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/SubsetOpInterfaceImpl.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_REGISTRATION
#include "tessera/Target/Kernels/Passes.h.inc"

using namespace mlir;

void buildKernelsToBuffers(OpPassManager &pm) {
  // Tensors: fewer tiles.
  OpPassManager &onTensors = pm.nest<func::FuncOp>();
  onTensors.addPass(createFuseTileOps());
  onTensors.addPass(createCSEPass());

  pm.addPass(createBufferizeKernels());

  // Buffers: copies of a buffer onto itself vanish once both sides are one value, hence the second round.
  OpPassManager &onBuffers = pm.nest<func::FuncOp>();
  onBuffers.addPass(createCanonicalizerPass());
  onBuffers.addPass(createCSEPass());
  onBuffers.addPass(createCanonicalizerPass());
}

void registerKernelPasses() { registerKernelTargetPasses(); }

void registerKernelDialectExtensions(DialectRegistry &registry) {
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  cf::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  vector::registerBufferizableOpInterfaceExternalModels(registry);
  vector::registerSubsetOpInterfaceExternalModels(registry);
}

} // namespace tessera
