//===- InsertReshards.cpp - Sharded types, and reshards where ops disagree ===//
//
// Walks the program once, in order. At every op the types of its operands are final; `chooseFactorShardings` says how the op runs, its
// operands are resharded to that, its results get the types that follow.
//
// A sharding with a user priority (fsdp's of weights) says how a value is stored: an op gathers it just before use and computes as its
// results are wanted, unless moving activations instead is much faster (decoding: "weight-stationary" in arXiv 2211.05102).
//
//===----------------------------------------------------------------------===//
#include "Explain.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Analysis/Sharding/Projection.h"
#include "tessera/AutoParallel/Placement.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTINSERTRESHARDSPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// How much faster an op must be without gathering stored weights. Above 1 because the choice is made op by op: results then lie
/// otherwise than propagation wants, and each neighbour pays for it too.
static constexpr double kStationaryGain = 4;

namespace {
class Inserter {
public:
  Inserter(ModuleOp module, const Mesh &mesh)
      : module(module), mesh(mesh), names(module), costs(mesh, Machine()), builder(module.getContext()) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(runOn(function)))
        return failure();
    return success();
  }

private:
  //===--- Types ------------------------------------------------------------===//

  Sharding shardingOf(Value value) const {
    ShardingAttr attr = getShardingAttr(value.getType());
    return attr ? attr.toSharding(mesh) : Sharding(cast<RankedTensorType>(value.getType()).getRank());
  }
  RankedTensorType typeWith(Type type, const Sharding &sharding) const {
    return withSharding(cast<RankedTensorType>(type), ShardingAttr::get(module->getContext(), kMeshName, sharding, mesh));
  }
  void setSharding(Value value, const Sharding &sharding) { value.setType(typeWith(value.getType(), sharding)); }

  /// What propagation wrote for a tensor; nothing written: whole.
  Sharding written(Attribute attr, Type type) const {
    auto sharding = dyn_cast_if_present<ShardingAttr>(attr);
    return sharding ? sharding.toSharding(mesh) : Sharding(cast<RankedTensorType>(type).getRank());
  }
  Sharding wanted(OpResult result) const {
    auto list = result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr);
    return written(list ? list[result.getResultNumber()] : Attribute(), result.getType());
  }
  Sharding wanted(BlockArgument arg) const {
    Region *region = arg.getOwner()->getParent();
    auto regions = region->getParentOp()->getAttrOfType<ArrayAttr>(kBlockShardingsAttr);
    auto list = regions ? cast<ArrayAttr>(regions[region->getRegionNumber()]) : ArrayAttr();
    return written(list ? list[arg.getArgNumber()] : Attribute(), arg.getType());
  }

  //===--- Reshards ---------------------------------------------------------===//

  std::string text(ArrayRef<AxisRef> axes) const {
    std::string result;
    for (const AxisRef &axis : axes)
      result += (result.empty() ? "" : ", ") + toString(axis, mesh);
    return "{" + result + "}";
  }

  /// What `to` takes from and gives to the dimensions of `value`.
  std::string difference(Value value, const Sharding &from, const Sharding &to) const {
    std::string result;
    for (auto [i, dims] : llvm::enumerate(llvm::zip(from.dims, to.dims))) {
      auto &[before, after] = dims;
      if (before.axes == after.axes)
        continue;
      result += (result.empty() ? "" : ", ") + names.name(value, int(i)) +
                (after.axes.empty() ? " whole, not over " + text(before.axes) : " over " + text(after.axes));
    }
    return result;
  }

  /// `value` in another sharding, before `before`; the same reshard is made once in a block.
  Value reshard(Value value, const Sharding &to, StringRef who, Operation *before) {
    Sharding from = shardingOf(value);
    RankedTensorType type = typeWith(value.getType(), to);
    if (type == value.getType())
      return value;
    if (from.samePlacement(to)) { // only the way it is written differs
      value.setType(type);
      return value;
    }
    Value &known = made[{value, type, before->getBlock()}];
    if (known)
      return known;
    std::string why, moved = difference(value, from, to);
    if (auto it = reasons.find(value); it != reasons.end() && from.partial != to.partial)
      why = it->second;
    if (!moved.empty())
      why += (why.empty() ? "" : "; ") + who.str() + " needs " + moved;
    else if (!who.empty())
      why += "; " + who.str() + (from.partialKind == PartialKind::Max ? " needs the maximum" : " needs the sum");
    builder.setInsertionPoint(before);
    auto op = ReshardOp::create(builder, before->getLoc(), type, value, builder.getStringAttr(why));
    explain(op, from, to, why);
    return known = op.getResult();
  }

  void explain(ReshardOp op, const Sharding &from, const Sharding &to, StringRef why) {
    auto type = cast<RankedTensorType>(op.getType());
    double bytes = double((type.getElementTypeBitWidth() + 7) / 8);
    double received = costs.reshard(type.getShape(), bytes, from, to).received * bytes;
    bool gathers = llvm::any_of(llvm::zip(from.dims, to.dims), [](auto dims) {
      return !std::get<0>(dims).axes.empty() && std::get<1>(dims).axes.empty();
    });
    std::string message = llvm::formatv("{0} -> {1}, {2:F0} bytes received per rank: {3}", toString(from, mesh), toString(to, mesh),
                                        received, why);
    if (gathers)
      explainMissed(op.getLoc(), "gather", message);
    else
      dist::explain(op.getLoc(), "reshard", message);
  }

  static StringRef shortName(Operation *op) { return op->getName().stripDialect(); }

  void reshardOperand(OpOperand &operand, const Sharding &to, StringRef who) {
    operand.set(reshard(operand.get(), to, who, operand.getOwner()));
  }

  //===--- Ops --------------------------------------------------------------===//

  LogicalResult runOn(func::FuncOp function) {
    if (function.isExternal())
      return success();
    for (BlockArgument arg : function.getArguments()) {
      if (isa<RankedTensorType>(arg.getType())) {
        Sharding sharding = written(function.getArgAttr(arg.getArgNumber(), kShardingAttr), arg.getType());
        for (DimSharding &dim : sharding.dims) {
          if (dim.priority.value_or(0) > 0)
            stored[arg].append(dim.axes.begin(), dim.axes.end());
          dim.priority.reset();
        }
        setSharding(arg, sharding);
        function.removeArgAttr(arg.getArgNumber(), kShardingAttr);
      }
    }
    for (Block &block : function.getBody())
      if (failed(runOn(block)))
        return failure();
    auto returns = cast<func::ReturnOp>(function.getBody().back().getTerminator());
    for (OpOperand &operand : returns->getOpOperands()) {
      unsigned i = operand.getOperandNumber();
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      reshardOperand(operand, written(function.getResultAttr(i, kShardingAttr), operand.get().getType()), "the caller");
      function.removeResultAttr(i, StringAttr::get(module.getContext(), kShardingAttr));
    }
    function.setFunctionType(builder.getFunctionType(function.getBody().getArgumentTypes(), returns.getOperandTypes()));
    return success();
  }

  LogicalResult runOn(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      LogicalResult done = success();
      if (auto constraint = dyn_cast<ConstraintOp>(op))
        replaceConstraint(constraint);
      else if (auto flow = dyn_cast<DataFlowOpInterface>(op))
        done = placeRegions(flow);
      else if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
        done = place(ruled);
      else if (!op.hasTrait<OpTrait::IsTerminator>())
        return op.emitOpError() << "has no sharding rule: it cannot stand on rung sharded";
      if (failed(done))
        return failure();
    }
    return success();
  }

  /// What was asked for becomes a reshard, or nothing where the value lies so already.
  void replaceConstraint(ConstraintOp op) {
    Sharding to = wanted(cast<OpResult>(op.getResult()));
    Value value = reshard(op.getInput(), to, "the annotation", op);
    op.getResult().replaceAllUsesWith(value);
    op->erase();
  }

  LogicalResult place(ShardingRuleOpInterface op) {
    PlacementOp placement;
    placement.rule = op.getShardingRule();
    auto tensor = [&](Value value, Sharding sharding, double weight) {
      auto type = cast<RankedTensorType>(value.getType());
      PlacementTensor result;
      result.shape = llvm::to_vector(type.getShape());
      result.sharding = std::move(sharding);
      result.elementBytes = double((type.getElementTypeBitWidth() + 7) / 8);
      result.weight = weight;
      return result;
    };
    for (Value operand : op->getOperands()) {
      // What several ops need is resharded once for all of them.
      double uses = double(std::distance(operand.use_begin(), operand.use_end()));
      placement.operands.push_back(tensor(operand, shardingOf(operand), 1 / uses));
    }
    for (OpResult result : op->getResults())
      placement.results.push_back(tensor(result, wanted(result), 1));
    if (auto cost = dyn_cast<CostOpInterface>(op.getOperation())) {
      OpCost work = cost.getCost();
      placement.flops = work.flops;
      placement.bytes = work.bytesRead + work.bytesWritten;
    }
    PlacementDecision decision = chooseFactorShardings(placement, costs);
    if (auto gathered = placeAsWanted(op, placement))
      if (gathered->reshardTime + gathered->workTime <= kStationaryGain * (decision.reshardTime + decision.workTime))
        decision = *gathered;
    for (auto [operand, sharding] : llvm::zip(op->getOpOperands(), decision.operands))
      reshardOperand(operand, sharding, shortName(op));
    op->removeAttr(kShardingsAttr);
    std::string reason = reductionReason(op, placement.rule, decision);
    for (auto [result, sharding, want] : llvm::zip(op->getResults(), decision.results, placement.results)) {
      setSharding(result, sharding);
      if (!sharding.partial.empty() && !reason.empty())
        reasons[result] = reason;
      finish(result, want.sharding);
    }
    return success();
  }

  /// How the op runs if stored operands are gathered and everything else follows propagation; none if it has no stored operand or that is
  /// no assignment.
  std::optional<PlacementDecision> placeAsWanted(ShardingRuleOpInterface op, const PlacementOp &placement) {
    if (llvm::none_of(op->getOperands(), [&](Value operand) { return stored.count(operand); }))
      return std::nullopt;
    SmallVector<AxisList, 8> factorAxes(placement.rule.factors.size());
    auto follow = [&](const TensorFactors &factors, const Sharding &sharding) {
      TensorProjection projection = project(factors, sharding, placement.rule.factors);
      for (auto [f, factor] : llvm::enumerate(projection.factors))
        if (factor.present && factorAxes[f].empty())
          factorAxes[f] = factor.axes;
    };
    for (auto [result, factors] : llvm::zip(placement.results, placement.rule.results))
      follow(factors, result.sharding);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Sharding sharding = placement.operands[i].sharding;
      if (auto it = stored.find(operand); it != stored.end())
        for (DimSharding &dim : sharding.dims)
          llvm::erase_if(dim.axes, [&](const AxisRef &axis) {
            return llvm::any_of(it->second, [&](const AxisRef &other) { return axis.overlaps(other); });
          });
      follow(placement.rule.operands[i], sharding);
    }
    AxisList used;
    for (auto [f, axes] : llvm::enumerate(factorAxes)) {
      FactorKind kind = placement.rule.factors[f].kind;
      if (kind == FactorKind::NeedReplication || kind == FactorKind::Permutation)
        axes.clear();
      for (const AxisRef &axis : axes) {
        if (llvm::any_of(used, [&](const AxisRef &other) { return axis.overlaps(other); }))
          return std::nullopt;
        used.push_back(axis);
      }
    }
    return placeWith(placement, factorAxes, costs);
  }

  /// Why a result is partial.
  std::string reductionReason(ShardingRuleOpInterface op, const ShardingRule &rule, const PlacementDecision &decision) {
    std::string factors;
    AxisList axes;
    for (auto [f, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Reduction && !decision.factorAxes[f].empty()) {
        factors += (factors.empty() ? "" : ", ") + names.factorName(op, rule, int(f));
        axes.append(decision.factorAxes[f].begin(), decision.factorAxes[f].end());
      }
    if (!factors.empty())
      return (shortName(op) + " reduces over " + factors + ", sharded over " + text(axes)).str();
    for (Value operand : op->getOperands())
      if (auto it = reasons.find(operand); it != reasons.end())
        return it->second;
    return "";
  }

  /// Brings a result to where propagation wants it. A partial value with one user is left as it is: that user knows best whether it
  /// needs the sum, or only a part of it.
  void finish(OpResult result, const Sharding &want) {
    Sharding have = shardingOf(result);
    if (have.samePlacement(want) || result.use_empty())
      return;
    if (!have.partial.empty() && result.hasOneUse())
      return;
    Operation *next = result.getOwner()->getNextNode();
    std::string who = result.hasOneUse() ? shortName(*result.user_begin()).str() : "every user";
    Value other = reshard(result, want, who, next);
    result.replaceUsesWithIf(other, [&](OpOperand &use) { return use.get() != other && use.getOwner() != other.getDefiningOp(); });
  }

  /// Operands, block arguments, yields and results of one edge have one type; slices have that of their stack.
  LogicalResult placeRegions(DataFlowOpInterface flow) {
    Operation *op = flow;
    SmallVector<DataFlowEdge> edges = flow.getDataFlowEdges();
    auto isPlace = [&](Value value) {
      if (auto arg = dyn_cast<BlockArgument>(value))
        return arg.getOwner()->getParentOp() == op;
      return value.getDefiningOp() == op;
    };
    std::vector<Sharding> edgeShardings;
    for (const DataFlowEdge &edge : edges) {
      const Value *place = llvm::find_if(edge.values, isPlace);
      auto arg = dyn_cast<BlockArgument>(*place);
      edgeShardings.push_back(arg ? wanted(arg) : wanted(cast<OpResult>(*place)));
    }
    SmallVector<StackEdge> stacks = flow.getStackEdges();
    // Operands of the op or of a terminator belong to edges in order: the first that has not been taken.
    auto reshardSources = [&](MutableArrayRef<OpOperand> operands, StringRef who) {
      llvm::SmallPtrSet<OpOperand *, 8> taken;
      for (auto [edge, sharding] : llvm::zip(edges, edgeShardings))
        for (OpOperand &operand : operands)
          if (llvm::is_contained(edge.values, operand.get()) && taken.insert(&operand).second) {
            reshardOperand(operand, sharding, who);
            break;
          }
    };
    // Stacks first: what a value is as a stack must not be confused with what it becomes as a carried value.
    for (const StackEdge &edge : stacks) {
      Sharding stack = shardingOf(edge.stack);
      stack.dims.front().axes.clear();
      stack.partial.clear();
      stack.partialKind = PartialKind::None;
      Value whole = reshard(edge.stack, stack, shortName(op), op);
      if (whole != edge.stack)
        for (OpOperand &operand : op->getOpOperands())
          if (operand.get() == edge.stack)
            operand.set(whole);
      Sharding slice = stack;
      slice.dims.erase(slice.dims.begin());
      for (Value value : edge.slices) {
        setSharding(value, slice);
        if (auto it = stored.find(edge.stack); it != stored.end()) {
          AxisList axes = it->second; // the map may grow
          stored[value] = axes;
        }
      }
    }
    reshardSources(op->getOpOperands(), shortName(op));
    for (auto [edge, sharding] : llvm::zip(edges, edgeShardings))
      for (Value value : edge.values)
        if (isPlace(value))
          setSharding(value, sharding);
    for (Region &region : op->getRegions()) {
      for (BlockArgument arg : region.getArguments())
        if (auto type = dyn_cast<RankedTensorType>(arg.getType()); type && !getShardingAttr(type))
          setSharding(arg, Sharding(type.getRank())); // an index
      for (Block &block : region) {
        if (failed(runOn(block)))
          return failure();
        // The edges name the values that the terminator had; runOn may have replaced them.
        Operation *yield = block.getTerminator();
        for (auto [i, edge] : llvm::enumerate(flow.getDataFlowEdges()))
          edges[i] = edge;
        reshardSources(yield->getOpOperands(), "the next iteration");
      }
    }
    op->removeAttr(kShardingsAttr);
    op->removeAttr(kBlockShardingsAttr);
    return success();
  }

  ModuleOp module;
  const Mesh &mesh;
  DimNames names;
  ReshardCosts costs;
  OpBuilder builder;
  DenseMap<Value, std::string> reasons; ///< why a value is partial
  DenseMap<Value, AxisList> stored;     ///< axes over which a value is kept, but not computed with
  DenseMap<std::tuple<Value, Type, Block *>, Value> made;
};

struct InsertReshardsPass : public tessera::dist::impl::DistInsertReshardsPassBase<InsertReshardsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = dist::getMesh(module);
    if (!mesh) {
      module.emitError("has no dist.mesh: run dist-annotate before");
      return signalPassFailure();
    }
    Mesh plain = mesh.getMesh().toMesh();
    if (failed(Inserter(module, plain).run()))
      signalPassFailure();
  }
};
} // namespace
