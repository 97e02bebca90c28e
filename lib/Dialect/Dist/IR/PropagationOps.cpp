//===- PropagationOps.cpp - What is said to propagation -------------------===//
#include "tessera/Dialect/Dist/IR/PropagationOps.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistPropagationOps.cpp.inc"

#include "tessera/Dialect/Dist/IR/PropagationWordOpInterface.cpp.inc"

LogicalResult dist::verifyPropagationWord(Operation *op) {
  if (getShardingAttr(op->getOperand(0).getType()))
    return op->emitOpError() << "stands before propagation: its operand must not carry a sharding yet";
  return success();
}

LogicalResult PropagationBarrierOp::verify() { return success(); }

LogicalResult ShardingGroupOp::verify() {
  if (getGroup().empty())
    return emitOpError() << "names no group";
  return success();
}
