//===- SpmdToKernels.cpp - from rung spmd to rung kernels -------------------===//

#include "HeldCaches.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Graph/IR/Entries.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tessera {
#define GEN_PASS_DEF_SPMDTOKERNELS
#include "tessera/Conversion/Passes.h.inc"

using namespace mlir;
using namespace tessera::kernels;

namespace {

/// What the types said about arguments and results moves to attributes: the manifest needs it.
void keepShardings(func::FuncOp func) {
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (auto sharding = dist::getShardingAttr(type))
      func.setArgAttr(i, exec::kShardingAttr, sharding);
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (auto sharding = dist::getShardingAttr(type))
      func.setResultAttr(i, exec::kShardingAttr, sharding);
}

void stripType(Value value) {
  if (isa<RankedTensorType>(value.getType()))
    value.setType(plainType(value.getType()));
}

/// Shardings leave the types.
void stripShardings(func::FuncOp func) {
  func.walk([&](Block *block) {
    for (BlockArgument arg : block->getArguments())
      stripType(arg);
  });
  func.walk([&](Operation *op) {
    for (Value result : op->getResults())
      stripType(result);
  });
  Operation *terminator = func.getBody().front().getTerminator();
  func.setFunctionType(FunctionType::get(func.getContext(), func.getBody().front().getArgumentTypes(),
                                         terminator->getOperandTypes()));
}

struct SpmdToKernels : impl::SpmdToKernelsBase<SpmdToKernels> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::shared_ptr<const Target> resolved = resolveTarget(module, target, targetOptions);
    if (!resolved)
      return signalPassFailure();
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      if (!graph::isEntry(func)) {
        func.emitOpError("is private, and nothing of rung spmd calls a function; entries are public");
        return signalPassFailure();
      }
      if (!func.getBody().hasOneBlock()) {
        func.emitOpError("has control flow between blocks; rung spmd knows only graph.repeat and graph.if");
        return signalPassFailure();
      }
      func->setAttr(exec::kEntryAttr, UnitAttr::get(&getContext()));
      keepShardings(func);
    }
    Lowering lowering(module, *resolved);
    if (dist::MeshOp mesh = dist::getMesh(module))
      lowering.mesh = mesh.getMesh().toMesh();
    if (failed(checkLayersWhole(lowering)))
      return signalPassFailure();
    lowerManual(lowering);
    lowerBranches(lowering);
    addIntoStacks(lowering);
    if (failed(lowerRepeats(lowering)) || failed(holdCaches(lowering)) || failed(planParameters(lowering)) ||
        failed(lowerLibraryOps(lowering)) || failed(lowerCollectives(lowering)))
      return signalPassFailure();
    foldEpilogues(lowering);
    if (failed(fuseKernels(lowering)) || failed(eraseParameterArguments(lowering)))
      return signalPassFailure();
    materializeLayerNumbers(lowering);
    updateInPlace(lowering);

    for (auto func : module.getOps<func::FuncOp>())
      if (func->hasAttr(exec::kEntryAttr))
        stripShardings(func);
    WalkResult left = module.walk([&](Operation *op) {
      if (isa<graph::GraphDialect>(op->getDialect()) && !isa<graph::ParameterOp>(op)) {
        op->emitOpError() << "has no kernel on target " << target << "; choose another --target";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tessera
