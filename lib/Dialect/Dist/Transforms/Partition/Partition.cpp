//===- Partition.cpp - The program of one rank ----------------------------===//
#include "../RequireMesh.h"
#include "Explain.h"
#include "Partition/EmitCollective.h"
#include "Partition/PaddingFacts.h"
#include "Reshard/CachedReshardCosts.h"
#include "RetiredOps.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Analysis/Sharding/Projection.h"
#include "tessera/AutoParallel/Placement.h"
#include "tessera/AutoParallel/ReshardCollectives.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>

namespace tessera::dist {
#define GEN_PASS_DEF_DISTPARTITIONPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class Partitioner {
public:
  Partitioner(ModuleOp module, MeshOp meshOp, CachedReshardCosts &plans)
      : module(module), meshName(meshOp.getSymName()), mesh(meshOp.getMesh().toMesh()), names(module),
        plans(plans, mesh, machineOf(module)), builder(module.getContext()) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(runOn(function)))
        return failure();
    return success();
  }

private:
  Type local(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? Type(localType(tensor, mesh)) : type;
  }

  LogicalResult runOn(func::FuncOp function) {
    SmallVector<Type> inputs =
        llvm::map_to_vector(function.getFunctionType().getInputs(), [&](Type t) { return local(t); });
    SmallVector<Type> results =
        llvm::map_to_vector(function.getFunctionType().getResults(), [&](Type t) { return local(t); });
    function.setFunctionType(builder.getFunctionType(inputs, results));
    WalkResult walked = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (BlockArgument arg : region.getArguments())
          arg.setType(local(arg.getType()));
      if (op == function)
        return WalkResult::advance();
      LogicalResult done = success();
      if (auto reshard = dyn_cast<ReshardOp>(op)) {
        done = lower(reshard);
        return failed(done) ? WalkResult::interrupt() : WalkResult::skip();
      }
      if (auto name = dyn_cast<graph::NameOp>(op)) {
        name.getResult().replaceAllUsesWith(name.getInput());
        retired.add(name);
        return WalkResult::skip();
      }
      if (auto mask = dyn_cast<graph::MaskPaddingOp>(op);
          mask &&
          llvm::none_of(mask.getDims(), [&](int64_t dim) { return isPadded(mask.getInput(), dim, mesh); })) {
        mask.getResult().replaceAllUsesWith(mask.getInput());
        retired.add(mask);
        return WalkResult::skip();
      }
      if (auto returned = dyn_cast<func::ReturnOp>(op))
        maskParameters(function, returned);
      if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op)) {
        if (sendWindow(ruled))
          return WalkResult::skip();
        done = maskPadding(ruled);
        mirrorPieces(ruled);
      }
      for (OpResult result : op->getResults())
        result.setType(local(result.getType()));
      return failed(done) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  //===--- Reshards ---------------------------------------------------------===//

  /// The planner's steps, each as one collective.
  LogicalResult lower(ReshardOp op) {
    auto to = cast<RankedTensorType>(op.getType());
    // The operand is local by now; its encoding keeps the global sizes.
    SmallVector<int64_t> shape = llvm::to_vector(to.getShape());
    Sharding before = getShardingAttr(op.getInput().getType()).toSharding(mesh),
             after = getShardingAttr(to).toSharding(mesh);
    double elementBytes = gatheredElementBytes(op.getInput());
    auto plan = plans.in(*op->getBlock()).plan(shape, elementBytes, before, after);
    if (!plan)
      return op.emitOpError() << "cannot be done by collectives: " << toString(before, mesh) << " to "
                              << toString(after, mesh);
    auto steps = asCollectives(shape, before, *plan);
    if (!steps)
      return op.emitOpError() << "has a plan that no collectives do: " << toString(*plan, mesh, shape);
    Value value = op.getInput();
    builder.setInsertionPoint(op);
    for (const CollectiveStep &step : *steps)
      value = emit(op, value, step, to.getElementType(), elementBytes);
    op.getResult().replaceAllUsesWith(value);
    // What follows expects exactly this type.
    assert(value.getType() == local(to) && "plan ends elsewhere");
    retired.add(op);
    return success();
  }

  Value emit(ReshardOp op, Value value, const CollectiveStep &step, Type elementType, double elementBytes) {
    Location loc = op.getLoc();
    StringAttr why = op.getWhyAttr();
    if (!step.isView)
      explain(loc, "collective",
              llvm::formatv("{0} to {1}, {2:F0} bytes received per rank: {3}", toString(step.kind),
                            toString(step.result, mesh), step.received * elementBytes,
                            why ? why.getValue() : "no reason given"));
    return emitCollective(builder, loc, value, step, elementType, meshName, mesh, why);
  }

  //===--- Permutations -----------------------------------------------------===//

  /// An op with a sharded permutation factor works on the pieces in reverse order.
  void mirrorPieces(ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    for (auto [operand, tensor] : llvm::zip(op->getOpOperands(), rule.operands)) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      Sharding sharding = getShardingAttr(type).toSharding(mesh);
      TensorProjection projection = project(tensor, sharding, rule.factors);
      for (auto [f, factor] : llvm::enumerate(rule.factors)) {
        const AxisList &axes = projection.factors[f].axes;
        if (factor.kind != FactorKind::Permutation || axes.empty())
          continue;
        std::string why = (graph::knownAs(op) + " changes the order of " +
                           names.factorName(op, rule, int(f)) + ", which is sharded")
                              .str();
        builder.setInsertionPoint(op);
        operand.set(CollectivePermuteOp::create(builder, op->getLoc(), type, operand.get(),
                                                axesAttr(module.getContext(), axes, mesh),
                                                builder.getStringAttr(why)));
        explain(op->getLoc(), "collective",
                llvm::formatv("collective_permute of {0}, {1} bytes received per rank: {2}",
                              toString(sharding, mesh), arrayBytes(type), why));
      }
    }
  }

  /// A part of sharded dimensions goes from the pieces that have it to its own: sends in the op's place.
  bool sendWindow(ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    if (rule.windows.empty())
      return false;
    Value whole = op->getOperand(0);
    Sharding sharding = getShardingAttr(whole.getType()).toSharding(mesh);
    SmallVector<int64_t> at(sharding.dims.size(), 0);
    std::string dims;
    int count = 0;
    for (const Window &window : rule.windows)
      for (auto [d, dim] : llvm::enumerate(rule.operands[0].dims))
        if (llvm::is_contained(dim, window.whole)) {
          at[d] = window.begin;
          if (!sharding.dims[d].axes.empty()) {
            dims += count++ > 0 ? " and " : "";
            dims += names.factorName(op, rule, window.whole);
          }
        }
    if (count == 0)
      return false;
    std::string why = (graph::knownAs(op) + " takes a part of " + dims +
                       (count > 1 ? ", which are sharded" : ", which is sharded"))
                          .str();
    builder.setInsertionPoint(op);
    // To people it stays the op that it was.
    Location loc =
        graph::identityOfWhole(op) ? op->getLoc() : graph::markPartOf(op->getLoc(), graph::knownAs(op));
    auto send = GroupedSendOp::create(builder, loc, local(op->getResult(0).getType()), whole,
                                      builder.getDenseI64ArrayAttr(at), builder.getStringAttr(why));
    explain(op->getLoc(), "collective",
            llvm::formatv("grouped_send of {0}, {1} bytes received per rank: {2}", toString(sharding, mesh),
                          send.getBytesSent(mesh), why));
    op->getResult(0).replaceAllUsesWith(send.getResult());
    retired.add(op);
    return true;
  }

  //===--- Padding ----------------------------------------------------------===//

  /// The padding of a parameter is zero, also after an update: what reads it next relies on that.
  void maskParameters(func::FuncOp function, func::ReturnOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (graph::resultKind(function, operand.getOperandNumber()) != graph::Kind::Parameter)
        continue;
      Value value = operand.get();
      SmallVector<int64_t> dims;
      for (int64_t d = 0, rank = cast<RankedTensorType>(value.getType()).getRank(); d < rank; ++d)
        if (isPadded(value, d, mesh) && !isZeroPadded(value, d))
          dims.push_back(d);
      if (dims.empty())
        continue;
      builder.setInsertionPoint(op);
      operand.set(graph::MaskPaddingOp::create(builder, op->getLoc(), value.getType(), value,
                                               builder.getDenseI64ArrayAttr(dims),
                                               builder.getF64FloatAttr(0)));
    }
  }

  /// Where the op reduces over a padded factor, the padding must not count.
  LogicalResult maskPadding(ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind != FactorKind::Reduction || llvm::is_contained(rule.lookedUp, int(f)))
        continue;
      // Operands that have the factor, and in which dimension.
      SmallVector<std::pair<unsigned, int64_t>> holders;
      for (auto [i, tensor] : llvm::enumerate(rule.operands))
        for (auto [d, dim] : llvm::enumerate(tensor.dims))
          if (llvm::is_contained(dim, int(f)))
            holders.push_back({unsigned(i), int64_t(d)});
      if (holders.empty() || !isPadded(op->getOperand(holders.front().first), holders.front().second, mesh))
        continue;
      if (failed(maskFactor(op, rule, factor.combine, holders)))
        return failure();
    }
    return success();
  }

  LogicalResult maskFactor(ShardingRuleOpInterface op, const ShardingRule &rule, PartialKind combine,
                           ArrayRef<std::pair<unsigned, int64_t>> holders) {
    // Where every term of the sum is linear in one operand, a zero there is enough: a product needs it on one
    // side only.
    SmallVector<std::pair<unsigned, int64_t>> masked(holders), alone;
    for (auto holder : holders)
      if (combine == PartialKind::Sum &&
          llvm::is_contained(rule.linear, SmallVector<int, 2>{int(holder.first)}))
        alone.push_back(holder);
    if (!alone.empty()) {
      // Zero times infinity is not zero: padding that may not be finite is masked in any case.
      llvm::erase_if(masked, [&](auto holder) {
        return isFinitePadded(op->getOperand(holder.first), holder.second, mesh);
      });
      if (masked.empty()) {
        for (auto [operand, dim] : alone)
          if (isZeroPadded(op->getOperand(operand), dim))
            return success();
        masked = {*llvm::min_element(alone, [&](auto a, auto b) {
          return cast<RankedTensorType>(op->getOperand(a.first).getType()).getNumElements() <
                 cast<RankedTensorType>(op->getOperand(b.first).getType()).getNumElements();
        })};
      }
    }
    double neutral = combine == PartialKind::Max ? -std::numeric_limits<double>::infinity() : 0.0;
    for (auto [operand, dim] : masked) {
      Value value = op->getOperand(operand);
      if (combine == PartialKind::Max && !isa<FloatType>(getElementTypeOrSelf(value)))
        return op->emitOpError() << "takes the maximum of integers over " << names.name(value, int(dim))
                                 << ", which is padded: there is no neutral element to mask with";
      if (isMasked(value, dim, neutral))
        continue;
      builder.setInsertionPoint(op);
      auto mask =
          graph::MaskPaddingOp::create(builder, op->getLoc(), value.getType(), value,
                                       builder.getDenseI64ArrayAttr({dim}), builder.getF64FloatAttr(neutral));
      op->setOperand(operand, mask.getResult());
      explain(op->getLoc(), "mask",
              llvm::formatv("{0} reduces over {1}, of size {2}, which does not divide: padding is masked",
                            graph::knownAs(op), names.name(value, int(dim)),
                            globalShape(cast<RankedTensorType>(value.getType()))[dim]));
    }
    return success();
  }

  RetiredOps retired; // first: outlives the names
  ModuleOp module;
  StringRef meshName;
  Mesh mesh;
  DimNames names;
  RegionCosts plans;
  OpBuilder builder;
};

struct PartitionPass : public tessera::dist::impl::DistPartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = requireMesh(module);
    if (!mesh)
      return signalPassFailure();
    if (failed(verifyRung(module, "sharded")) ||
        failed(Partitioner(module, mesh, getAnalysis<CachedReshardCosts>()).run()))
      signalPassFailure();
  }
};
} // namespace
