//===- PropagationOps.cpp - Barriers and groups ---------------------------===//
#include "tessera/Dialect/Dist/IR/PropagationOps.h"
#include "IdentityRule.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistPropagationOps.cpp.inc"

/// What is said to propagation is no use behind it.
static LogicalResult verifyBeforePropagation(Operation *op) {
  if (cast<RankedTensorType>(op->getOperand(0).getType()).getEncoding())
    return op->emitOpError() << "stands before propagation: its operand must not carry a sharding yet";
  return success();
}

//===----------------------------------------------------------------------===//
// Barrier
//===----------------------------------------------------------------------===//

LogicalResult PropagationBarrierOp::verify() { return verifyBeforePropagation(*this); }

ShardingRule PropagationBarrierOp::getShardingRule() { return identityRule(getInput()); }
OpCost PropagationBarrierOp::getCost() { return {}; }
SmallVector<Value> PropagationBarrierOp::differentiate(OpBuilder &, ArrayRef<Value> gradients,
                                                       const llvm::SmallBitVector &) {
  return {gradients[0]};
}
LogicalResult PropagationBarrierOp::evaluate(ArrayRef<ReferenceTensor> operands, const ReferenceContext &,
                                             SmallVectorImpl<ReferenceTensor> &results) {
  results.push_back(operands[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Group
//===----------------------------------------------------------------------===//

LogicalResult ShardingGroupOp::verify() {
  if (getGroup().empty())
    return emitOpError() << "names no group";
  return verifyBeforePropagation(*this);
}

ShardingRule ShardingGroupOp::getShardingRule() { return identityRule(getInput()); }
OpCost ShardingGroupOp::getCost() { return {}; }
SmallVector<Value> ShardingGroupOp::differentiate(OpBuilder &, ArrayRef<Value> gradients,
                                                  const llvm::SmallBitVector &) {
  return {gradients[0]};
}
LogicalResult ShardingGroupOp::evaluate(ArrayRef<ReferenceTensor> operands, const ReferenceContext &,
                                        SmallVectorImpl<ReferenceTensor> &results) {
  results.push_back(operands[0]);
  return success();
}
