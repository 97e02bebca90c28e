//===- EmitCollective.cpp - Steps of plans as ops -------------------------===//
#include "Partition/EmitCollective.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

using namespace mlir;

namespace tessera::dist {

Value emitCollective(OpBuilder &builder, Location loc, Value value, const CollectiveStep &step,
                     Type elementType, StringRef meshName, const Mesh &mesh, StringAttr why) {
  MLIRContext *context = builder.getContext();
  auto sharding = ShardingAttr::get(context, meshName, step.result, mesh);
  Type type = localType(RankedTensorType::get(step.shape, elementType, sharding), mesh);
  if (step.isView)
    return graph::ReshapeOp::create(builder, graph::markView(loc), type, value);
  ArrayAttr axes = axesAttr(context, step.axes, mesh);
  switch (step.kind) {
  case StepKind::AllGather:
    return AllGatherOp::create(builder, loc, type, value, step.from.front(), axes, why);
  case StepKind::AllSlice:
    return AllSliceOp::create(builder, loc, type, value, step.to.front(), axes, why);
  case StepKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, value, axes, why);
  case StepKind::Contribute:
    return ContributeOp::create(builder, loc, type, value, axes, why);
  case StepKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, value, step.to.front(), axes, why);
  case StepKind::AllToAll:
    return AllToAllOp::create(builder, loc, type, value, step.from, step.to, axes, why);
  case StepKind::CollectivePermute:
    return CollectivePermuteOp::create(builder, loc, type, value, ArrayAttr(), why);
  case StepKind::GroupedSend:
    return GroupedSendOp::create(builder, loc, type, value, DenseI64ArrayAttr(), why);
  }
  llvm_unreachable("step kind");
}

} // namespace tessera::dist
