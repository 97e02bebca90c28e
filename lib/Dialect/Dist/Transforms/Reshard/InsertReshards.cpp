//===- InsertReshards.cpp - Sharded types, and reshards where ops disagree ===//
//
// Walks the program once, in order. Before a block `placeProgram` decides for all its ops at once, by total
// time, how each runs; then op by op operands are resharded to that and results get the types that follow.
//
// Thereby a weight that fsdp stores sharded is gathered just before use where activations are many, and stays
// where they are few (decoding: "weight-stationary" in arXiv 2211.05102); sums stay open until all that add
// up have.
//
//===----------------------------------------------------------------------===//
#include "../RequireMesh.h"
#include "Explain.h"
#include "Loops.h"
#include "Reshard/BlockPlacement.h"
#include "Reshard/CachedReshardCosts.h"
#include "Reshard/CheckAttributes.h"
#include "Reshard/FunctionLayouts.h"
#include "Reshard/PinConflicts.h"
#include "RetiredOps.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTINSERTRESHARDSPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class Inserter {
public:
  Inserter(ModuleOp module, MeshOp meshOp, CachedReshardCosts &plans, int64_t liveBytes)
      : module(module),
        liveBytes(liveBytes < 0 ? std::numeric_limits<double>::infinity() : double(liveBytes)),
        meshName(meshOp.getSymName()), mesh(meshOp.getMesh().toMesh()), written(meshName, mesh),
        names(module), costs(plans, mesh, machineOf(module)), builder(module.getContext()),
        pins(mesh, [&](ReshardOp op) { return bytesReceived(op); }) {}

  LogicalResult run() {
    auto laidOut = layOut(module, written, costs, /*ahead=*/std::isinf(liveBytes));
    if (failed(laidOut))
      return failure();
    ahead = std::move(*laidOut);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && failed(runOn(function)))
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
    return withSharding(cast<RankedTensorType>(type),
                        ShardingAttr::get(module->getContext(), meshName, sharding, mesh));
  }
  void setSharding(Value value, const Sharding &sharding) {
    value.setType(typeWith(value.getType(), sharding));
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

  /// What a loop gives is called as what its bodies make of it.
  static StringRef nameOf(Value value) {
    Operation *made = value.getDefiningOp();
    auto flow = dyn_cast_or_null<DataFlowOpInterface>(made);
    if (!flow)
      return made ? graph::callName(made->getLoc()) : StringRef();
    SmallVector<Value> inside;
    for (const DataFlowEdge &edge : flow.getDataFlowEdges())
      if (llvm::is_contained(edge.values, value))
        llvm::append_range(inside, edge.values);
    for (const StackEdge &stack : flow.getStackEdges())
      if (stack.collected && stack.stack == value)
        llvm::append_range(inside, stack.slices);
    for (Value yielded : inside)
      if (Operation *maker = yielded.getDefiningOp(); maker && made->isProperAncestor(maker))
        if (StringRef name = nameOf(yielded); !name.empty())
          return name;
    return "";
  }

  /// What is moved for `before` is known by the name of the value, not by that of its reader; by what the
  /// reader calls it if it has no other.
  static Location locationOf(Value value, Operation *before) {
    StringRef name = nameOf(value);
    if (auto given = dyn_cast<graph::NameOp>(before); given && name.empty())
      name = given.getName();
    return name.empty() ? before->getLoc() : graph::nameCall(before->getLoc(), name);
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
    AxisList contributed = axesWithout(to.partial, from.partial);
    if (!contributed.empty())
      why += (why.empty() ? "" : "; ") +
             ("one rank of " + text(contributed) + " contributes it to what " + who.str() + " leaves open");
    if (!moved.empty())
      why += (why.empty() ? "" : "; ") + who.str() + " needs " + moved;
    else if (!who.empty() && contributed.empty())
      why += (why.empty() ? "" : "; ") + who.str() +
             (from.partialKind == PartialKind::Max ? " needs the maximum" : " needs the sum");
    builder.setInsertionPoint(before);
    auto op = ReshardOp::create(builder, locationOf(value, before), type, value, builder.getStringAttr(why));
    names.extend(op);
    explain(op, from, to, why);
    return known = op.getResult();
  }

  double bytesReceived(ReshardOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    double bytes = gatheredElementBytes(op.getInput());
    return costs.in(*op->getBlock())
               .reshard(type.getShape(), bytes, shardingOf(op.getInput()), shardingOf(op.getResult()))
               .received *
           bytes;
  }

  void explain(ReshardOp op, const Sharding &from, const Sharding &to, StringRef why) {
    bool gathers = llvm::any_of(llvm::zip(from.dims, to.dims), [](auto dims) {
      return !std::get<0>(dims).axes.empty() && std::get<1>(dims).axes.empty();
    });
    std::string message = llvm::formatv("{0} -> {1}, {2:F0} bytes received per rank: {3}",
                                        toString(from, mesh), toString(to, mesh), bytesReceived(op), why);
    if (gathers)
      explainMissed(op.getLoc(), "gather", message);
    else
      dist::explain(op.getLoc(), "reshard", message);
  }

  /// A name that a value was given is no op that somebody wrote: the value is meant.
  static StringRef shortName(Operation *op) {
    auto given = dyn_cast<graph::NameOp>(op);
    return given ? given.getName() : graph::knownAs(op);
  }

  void reshardOperand(OpOperand &operand, const Sharding &to, StringRef who) {
    operand.set(reshard(operand.get(), to, who, operand.getOwner()));
  }

  //===--- Ops --------------------------------------------------------------===//

  LogicalResult runOn(func::FuncOp function) {
    for (BlockArgument arg : function.getArguments()) {
      if (isa<RankedTensorType>(arg.getType())) {
        setSharding(arg, written.of(arg));
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
      reshardOperand(operand, written.read(function.getResultAttr(i, kShardingAttr), operand.get().getType()),
                     "the caller");
      function.removeResultAttr(i, StringAttr::get(module.getContext(), kShardingAttr));
    }
    pins.finish();
    function.setFunctionType(
        builder.getFunctionType(function.getBody().getArgumentTypes(), returns.getOperandTypes()));
    return success();
  }

  LogicalResult runOn(Block &block) {
    BlockFacts facts{[&](Value value) { return shardingOf(value); },
                     [&](OpResult result) { return written.of(result); },
                     [&](Operation *op) { return written.outsideNeeds(op); }};
    auto decisions = placeBlock(block, facts, costs.in(block), liveBytes, ahead.lookup(&block));
    if (failed(decisions))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(block)) {
      LogicalResult done = success();
      if (auto constraint = dyn_cast<ConstraintOp>(op))
        replaceConstraint(constraint);
      else if (auto member = dyn_cast<ShardingGroupOp>(op))
        replace(member, reshard(member.getInput(), written.of(cast<OpResult>(member.getResult())),
                                "its group", member));
      else if (auto flow = dyn_cast<DataFlowOpInterface>(op))
        done = placeRegions(flow);
      else if (auto manual = dyn_cast<ManualComputationOp>(op))
        done = placeManual(manual);
      else if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
        done = place(ruled, decisions->at(&op));
      if (auto barrier = dyn_cast<PropagationBarrierOp>(op); barrier && succeeded(done))
        replace(barrier, barrier.getInput()); // it lies as the result is to
      if (failed(done))
        return failure();
    }
    return success();
  }

  /// What was asked for becomes a reshard, or nothing where the value lies so already.
  void replaceConstraint(ConstraintOp op) {
    Sharding to = written.of(cast<OpResult>(op.getResult()));
    Value value = reshard(op.getInput(), to, "the annotation", op);
    if (auto name = op.getInput().getDefiningOp<graph::NameOp>())
      pins.add(value, name.getName(), op.getSharding().toSharding(mesh));
    replace(op, value);
  }

  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    retired.add(op);
  }

  LogicalResult place(ShardingRuleOpInterface op, const PlacementDecision &decision) {
    for (auto [operand, sharding] : llvm::zip(op->getOpOperands(), decision.operands))
      reshardOperand(operand, sharding, shortName(op));
    if (decision.decomposed)
      return writeOut(cast<DecomposableOpInterface>(op.getOperation()), decision);
    op->removeAttr(kShardingsAttr);
    std::string reason = reductionReason(op, op.getShardingRule(), decision);
    for (auto [result, sharding] : llvm::zip(op->getResults(), decision.results)) {
      setSharding(result, sharding);
      if (!sharding.partial.empty() && !reason.empty())
        reasons[result] = reason;
    }
    return success();
  }

  /// The op's program in its place, placed as it was priced: the operands lie as decided, the results must.
  LogicalResult writeOut(DecomposableOpInterface op, const PlacementDecision &decision) {
    Operation *last = op->getPrevNode();
    builder.setInsertionPoint(op);
    SmallVector<Value> results = op.decompose(builder, op->getOperands());
    SmallVector<Operation *> ops;
    const std::optional<int64_t> outer = graph::partNumber(op);
    const int64_t number = outer ? *outer : writtenOut++;
    for (Operation *made = last ? last->getNextNode() : &op->getBlock()->front(); made != op;
         made = made->getNextNode()) {
      made->setLoc(graph::markPartOf(made->getLoc(), graph::knownAs(op), number));
      names.extend(made);
      ops.push_back(made);
    }
    ValueNeeds uses;
    for (auto [value, sharding] : llvm::zip(results, decision.results))
      uses.push_back({value, sharding});
    BlockFacts facts{[&](Value value) { return shardingOf(value); },
                     [&](OpResult result) { return written.of(result); },
                     [](Operation *) { return std::nullopt; }};
    auto decisions = placeOps(ops, uses, facts, costs.in(*ops.front()->getBlock()));
    if (failed(decisions))
      return failure();
    for (Operation *made : ops)
      if (failed(place(cast<ShardingRuleOpInterface>(made), decisions->at(made))))
        return failure();
    for (auto [old, value, sharding] : llvm::zip(op->getResults(), results, decision.results))
      old.replaceAllUsesWith(reshard(value, sharding, shortName(op), op));
    retired.add(op);
    return success();
  }

  /// Why a result is partial.
  std::string reductionReason(ShardingRuleOpInterface op, const ShardingRule &rule,
                              const PlacementDecision &decision) {
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

  /// Why `value`, which a region op carries or returns, is partial, if it is.
  void explainOpen(Operation *op, StringRef how, Value value) {
    if (Sharding sharding = shardingOf(value); !sharding.partial.empty())
      reasons[value] =
          (shortName(op) + " " + how + " a " +
           (sharding.partialKind == PartialKind::Max ? "maximum" : "sum") + " over " + text(sharding.partial))
              .str();
  }

  /// Operands, block arguments, yields and results of one edge have one type; slices have that of their
  /// stack.
  LogicalResult placeRegions(DataFlowOpInterface flow) {
    Operation *op = flow;
    SmallVector<DataFlowEdge> edges = flow.getDataFlowEdges();
    std::vector<Sharding> shardings = written.ofEdges(flow);
    SmallVector<StackEdge> stacks = flow.getStackEdges();
    auto reshardSources = [&](MutableArrayRef<OpOperand> operands, StringRef who) {
      ShardingAttributes::forEachSource(
          edges, shardings, operands,
          [&](OpOperand &operand, const Sharding &sharding) { reshardOperand(operand, sharding, who); });
    };
    // Stacks first: what a value is as a stack must not be confused with what it becomes as a carried value.
    for (const StackEdge &edge : stacks) {
      if (edge.collected) {
        setSharding(edge.stack, written.of(edge.stack));
        explainOpen(op, "returns", edge.stack);
        continue;
      }
      Value whole = reshard(edge.stack, written.ofStack(edge.stack), shortName(op), op);
      if (whole != edge.stack)
        for (OpOperand &operand : op->getOpOperands())
          if (operand.get() == edge.stack)
            operand.set(whole);
      for (Value value : edge.slices)
        setSharding(value, written.ofSlice(whole));
    }
    reshardSources(op->getOpOperands(), shortName(op));
    for (OpOperand &operand : op->getOpOperands())
      if (ShardingAttributes::isReadWhole(flow, operand.get()))
        reshardOperand(operand, Sharding(cast<RankedTensorType>(operand.get().getType()).getRank()),
                       shortName(op));
    for (auto [edge, sharding] : llvm::zip(edges, shardings))
      for (Value value : edge.places) {
        setSharding(value, sharding);
        explainOpen(op, "carries", value);
      }
    written.addCollected(flow, edges, shardings);
    for (Region &region : op->getRegions()) {
      for (BlockArgument arg : region.getArguments())
        if (auto type = dyn_cast<RankedTensorType>(arg.getType()); type && !getShardingAttr(type))
          setSharding(arg, Sharding(type.getRank())); // an index
      for (Block &block : region) {
        if (failed(runOn(block)))
          return failure();
        // The edges name the values that the terminator had; runOn may have replaced them.
        Operation *yield = block.getTerminator();
        edges = flow.getDataFlowEdges();
        std::vector<Sharding> unused;
        written.addCollected(flow, edges, unused);
        reshardSources(yield->getOpOperands(), isLoop(flow) ? "the next iteration" : "what follows");
      }
    }
    op->removeAttr(kShardingsAttr);
    op->removeAttr(kBlockShardingsAttr);
    return success();
  }

  /// Operands and results lie as the op says; its body is placed like a function's, over the other axes.
  LogicalResult placeManual(ManualComputationOp op) {
    for (OpOperand &operand : op->getOpOperands())
      reshardOperand(
          operand, written.read((*op.getInShardings())[operand.getOperandNumber()], operand.get().getType()),
          shortName(op));
    for (Value result : op.getResults()) {
      setSharding(result, written.of(result));
      explainOpen(op, "yields", result);
    }
    Block &body = op.getProgram();
    for (BlockArgument arg : body.getArguments())
      setSharding(arg, written.of(arg));
    if (failed(runOn(body)))
      return failure();
    for (auto [operand, result] : llvm::zip(body.getTerminator()->getOpOperands(), op.getResults()))
      reshardOperand(operand, op.inside(shardingOf(result), mesh), "what follows");
    op.removeInShardingsAttr();
    op.removeOutShardingsAttr();
    op->removeAttr(kShardingsAttr);
    op->removeAttr(kBlockShardingsAttr);
    return success();
  }

  RetiredOps retired; // first: outlives the maps
  ModuleOp module;
  double liveBytes; ///< that a rank may have at once of what a block makes
  StringRef meshName;
  Mesh mesh;
  ShardingAttributes written;
  DimNames names;
  RegionCosts costs;
  OpBuilder builder;
  PinConflicts pins;
  DenseMap<Block *, SearchWork> ahead;  ///< what was searched for each block
  int64_t writtenOut = 0;               ///< ops so far
  DenseMap<Value, std::string> reasons; ///< why a value is partial
  DenseMap<std::tuple<Value, Type, Block *>, Value> made;
};

struct InsertReshardsPass : public tessera::dist::impl::DistInsertReshardsPassBase<InsertReshardsPass> {
  using DistInsertReshardsPassBase::DistInsertReshardsPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = requireMesh(module);
    if (!mesh)
      return signalPassFailure();
    if (failed(verifyRung(module, "step")) || failed(checkAttributes(module, mesh.getMesh().toMesh())) ||
        failed(Inserter(module, mesh, getAnalysis<CachedReshardCosts>(), liveBytes).run()))
      signalPassFailure();
  }
};
} // namespace
