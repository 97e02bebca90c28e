//===- BranchOps.cpp - One of two branches --------------------------------===//
#include "tessera/Dialect/Graph/IR/Branch.h"

#include "Detail.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphBranchOps.cpp.inc"

// The branches' terminators are known to be there once the regions are verified.
LogicalResult IfOp::verifyRegions() {
  if (failed(verifyTensors(*this)))
    return failure();
  if (rankOf(getCondition()) != 0)
    return emitOpError() << "has a condition " << getCondition().getType() << ", expected one tensor<i1>";
  if (dist::ShardingAttr lies = dist::getShardingAttr(getCondition().getType());
      lies && !lies.getPartial().empty())
    return emitOpError() << "has a condition that is partial: ranks could take different branches";
  for (auto [i, region] : llvm::enumerate(getRegions())) {
    if (region->getNumArguments())
      return emitOpError() << "branch #" << i << " takes arguments; it reads values around it";
    Operation *yield = region->front().getTerminator();
    if (yield->getOperandTypes() != getResultTypes())
      return yield->emitOpError() << "of branch #" << i << " gives other types than the results";
  }
  return success();
}

SmallVector<DataFlowEdge> IfOp::getDataFlowEdges() {
  SmallVector<DataFlowEdge> edges;
  for (auto [i, result] : llvm::enumerate(getResults())) {
    DataFlowEdge edge;
    for (Region *region : getRegions())
      edge.values.push_back(region->front().getTerminator()->getOperand(unsigned(i)));
    edge.values.push_back(result);
    edge.places.push_back(result);
    edges.push_back(std::move(edge));
  }
  return edges;
}

SmallVector<StackEdge> IfOp::getStackEdges() { return {}; }
int64_t IfOp::getExecutions(unsigned) { return 1; }

/// Of the branch that has more of each.
OpCost IfOp::getCost() {
  OpCost most;
  for (Region *region : getRegions()) {
    OpCost total;
    for (Operation &op : region->front())
      if (auto inner = dyn_cast<CostOpInterface>(op)) {
        OpCost cost = inner.getCost();
        total.flops += cost.flops;
        total.bytesRead += cost.bytesRead;
        total.bytesWritten += cost.bytesWritten;
      }
    most.flops = std::max(most.flops, total.flops);
    most.bytesRead = std::max(most.bytesRead, total.bytesRead);
    most.bytesWritten = std::max(most.bytesWritten, total.bytesWritten);
  }
  return most;
}
