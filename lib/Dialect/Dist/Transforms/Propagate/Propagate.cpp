//===- Propagate.cpp - Spread shardings through the program ---------------===//
//
// A thin layer: IR to a propagation graph, the engine, and back to attributes.
//
//===----------------------------------------------------------------------===//
#include "../RequireMesh.h"
#include "CanonicalOrder.h"
#include "Explain.h"
#include "Propagate/ManualRegions.h"
#include "Propagate/ShardingGroups.h"

#include "tessera/Analysis/Sharding/Propagation.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTPROPAGATEPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class Propagator {
public:
  Propagator(ModuleOp module, MeshOp meshOp)
      : module(module), meshName(meshOp.getSymName()), mesh(meshOp.getMesh().toMesh()),
        manualRegions(graph, meshName) {
    graph.mesh = mesh;
  }

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(build(function)))
        return failure();
    auto known = [&](Value value) { return tensorOf(value); };
    if (failed(groups.build(graph, known)))
      return failure();
    for (const auto &tensor : graph.tensors)
      initial.push_back(tensor.sharding);
    std::vector<PropagationStep> trace;
    PropagationResult result = propagate(graph, PropagationStrategy::Full, &trace);
    std::string clash = result.warnings.empty() ? "" : clashText();
    if (!clash.empty() ||
        !groups.readCopies(result, known, [&](ShardingGroupOp op, int copy) { readCopy(op, copy); }))
      return module.emitError() << "arguments or results of one name are annotated differently: "
                                << (clash.empty() ? result.warnings.front() : clash);
    explain(trace);
    write();
    return success();
  }

private:
  /// What `op`, a member of a group whose annotations clash, makes is a copy in the group's sharding. Of one
  /// that has no annotation, or lies so, there is nothing to say.
  void readCopy(ShardingGroupOp op, int copy) {
    const int member = tensorOf(op.getInput());
    const Sharding &own = initial[size_t(member)], group = closed(graph.tensors[copy].sharding);
    const bool isAnnotated = !(own == Sharding(int64_t(own.dims.size()), /*open=*/true));
    if (isAnnotated && !closed(graph.tensors[member].sharding).samePlacement(group))
      op.emitWarning() << "group '" << op.getGroup()
                       << "' has members that are annotated differently: this one keeps its annotation, and "
                          "what reads it from here on reads a copy that lies "
                       << toString(group, mesh);
    tensors[op.getResult()] = copy;
  }

  static Sharding closed(Sharding sharding) {
    for (DimSharding &dim : sharding.dims)
      dim.open = false;
    return sharding;
  }

  int tensorOf(Value value) {
    auto [it, isNew] = tensors.try_emplace(value, -1);
    if (isNew)
      it->second = graph.addTensor(cast<RankedTensorType>(value.getType()).getShape());
    return it->second;
  }

  /// An annotation written as attribute; sound, and of the value's rank. `who`: whose it is.
  LogicalResult annotate(Operation *at, int tensor, Attribute written, Type type, const std::string &who) {
    auto ranked = cast<RankedTensorType>(type);
    auto attr = dyn_cast<ShardingAttr>(written);
    if (!attr)
      return at->emitOpError() << who << ": " << kShardingAttr << " = " << written
                               << " is no sharding; write #dist.sharding<@mesh, [...]>";
    annotated[tensor] = who;
    if (!lookupMesh(at, attr.getMesh()))
      return failure();
    if (std::string error = checkSharding(attr, mesh, ranked.getRank()); !error.empty())
      return at->emitOpError() << who << ": annotation " << attr << ": " << error;
    graph.tensors[tensor].sharding = attr.toSharding(mesh);
    return success();
  }

  /// Values that are one place (body arguments, results) become one tensor before anything else names them.
  /// An argument that is yielded to another place joins that place, too, though it may come to lie otherwise.
  void unifyPlaces(Operation *op) {
    auto flow = dyn_cast<DataFlowOpInterface>(op);
    if (!flow)
      return;
    auto isPlace = [&](Value value) {
      if (auto arg = dyn_cast<BlockArgument>(value))
        return arg.getOwner()->getParentOp() == op;
      return value.getDefiningOp() == op;
    };
    for (const DataFlowEdge &edge : flow.getDataFlowEdges()) {
      int target = -1;
      for (Value value : edge.values)
        if (isPlace(value)) {
          // A place that another edge has named already (a value yielded to another place than its own): the
          // two become one.
          auto it = tensors.find(value);
          if (it != tensors.end() && target >= 0)
            rename(it->second, target);
          else
            target = it != tensors.end() ? it->second : target >= 0 ? target : tensorOf(value);
          tensors[value] = target;
        }
      for (Value value : edge.values)
        if (!isPlace(value))
          pendingSources.push_back({value, target});
    }
  }

  /// All ops, each before those in its regions, in an order that does not hang on how the program is written:
  /// ties are decided by it.
  static void collect(Region &region, std::vector<Operation *> &ops) {
    for (Block &block : region)
      for (Operation *op : canonicalOrder(block)) {
        ops.push_back(op);
        for (Region &nested : op->getRegions())
          collect(nested, ops);
      }
  }

  void rename(int from, int to) {
    for (auto &[value, tensor] : tensors)
      if (tensor == from)
        tensor = to;
    for (auto &[value, target] : pendingSources)
      if (target == from)
        target = to;
  }

  LogicalResult build(func::FuncOp function) {
    if (function.isExternal())
      return success();
    std::vector<Operation *> ops;
    collect(function.getBody(), ops);
    for (Operation *op : ops)
      unifyPlaces(op);
    for (Operation *op : ops) // the value itself is in the group
      if (auto member = dyn_cast<ShardingGroupOp>(op)) {
        tensors[member.getResult()] = tensorOf(member.getInput());
        groups.join(member);
      }
    for (BlockArgument arg : function.getArguments()) {
      if (!isa<RankedTensorType>(arg.getType())) {
        if (Attribute attr = function.getArgAttr(arg.getArgNumber(), kShardingAttr))
          return function.emitOpError()
                 << placeText(function, "argument", arg.getArgNumber()) << ": " << kShardingAttr << " = "
                 << attr << " on " << arg.getType() << ", which is no tensor; remove it";
        continue;
      }
      int tensor = tensorOf(arg);
      unsigned i = arg.getArgNumber();
      if (Attribute attr = function.getArgAttr(i, kShardingAttr))
        if (failed(annotate(function, tensor, attr, arg.getType(), placeText(function, "argument", i))))
          return failure();
      groups.join(function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr), arg.getType(), tensor);
      if (!function.getArgAttr(i, kShardingAttr))
        openTensor(tensor);
    }
    auto returns = cast<func::ReturnOp>(function.getBody().back().getTerminator());
    auto &results = functionResults[function];
    for (auto [i, operand] : llvm::enumerate(returns.getOperands())) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type) {
        results.push_back(-1);
        continue;
      }
      int tensor = graph.addTensor(type.getShape());
      results.push_back(tensor);
      if (Attribute attr = function.getResultAttr(i, kShardingAttr))
        if (failed(annotate(function, tensor, attr, type, placeText(function, "result", i))))
          return failure();
      groups.join(function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr), type, tensor);
      pendingSources.push_back({operand, tensor});
    }
    for (Operation *op : ops)
      if (failed(add(op)))
        return failure();
    // A place takes from all its sources at once.
    std::map<int, SmallVector<Value>> bySources;
    for (auto [value, target] : pendingSources)
      if (tensorOf(value) != target)
        bySources[target].push_back(value);
    pendingSources.clear();
    for (auto &[target, sources] : bySources) {
      if (!llvm::is_contained(results, target))
        holdPins(target, sources);
      graph.addDataFlowEdge(llvm::map_to_vector(sources, [&](Value source) { return tensorOf(source); }),
                            target);
      opOf.push_back(function);
    }
    return success();
  }

  /// What a loop takes from pinned values is the same value in the loop and behind it, so their pins hold
  /// there, too: else the place would lie as its readers like, and the pin would move a value there and back.
  /// Dimensions of which pins say different things stay free, and so do those that only say how weights are
  /// stored.
  void holdPins(int place, ArrayRef<Value> sources) {
    Sharding &held = graph.tensors[place].sharding;
    SmallVector<const Sharding *> pins;
    for (Value source : sources)
      if (source.getDefiningOp<ConstraintOp>())
        pins.push_back(&graph.tensors[tensorOf(source)].sharding);
    AxisList used;
    for (auto [d, dim] : llvm::enumerate(held.dims)) {
      const DimSharding *pinned = nullptr;
      bool isOne = true;
      for (const Sharding *pin : pins) {
        const DimSharding &asked = pin->dims[d];
        if (asked.open || asked.priority.value_or(0) > 0)
          continue;
        isOne &= !pinned || pinned->axes == asked.axes;
        pinned = &asked;
      }
      if (!pinned || !isOne || llvm::any_of(pinned->axes, [&](const AxisRef &axis) {
            return llvm::any_of(used, [&](const AxisRef &other) { return axis.overlaps(other); });
          }))
        continue;
      used.append(pinned->axes.begin(), pinned->axes.end());
      dim = *pinned;
    }
  }

  static std::string placeText(func::FuncOp function, StringRef kind, unsigned i) {
    return llvm::formatv("{0} {1} of @{2}", kind, i, function.getSymName());
  }

  /// Which annotations of one name differ, and in which dimension; empty if none do.
  std::string clashText() const {
    for (const auto &[key, members] : groups.byName())
      for (int first : members)
        for (int second : members) {
          auto a = annotated.find(first), b = annotated.find(second);
          if (first >= second || a == annotated.end() || b == annotated.end())
            continue;
          const Sharding &one = initial[first], &other = initial[second];
          for (auto [d, dims] : llvm::enumerate(llvm::zip(one.dims, other.dims)))
            if (std::get<0>(dims).axes != std::get<1>(dims).axes)
              return llvm::formatv("dimension {0} of '{1}' lies over {2} as {3} and over {4} as {5}; they "
                                   "are one value: annotate them alike",
                                   d, key.first, axesText(std::get<0>(dims)), a->second,
                                   axesText(std::get<1>(dims)), b->second);
        }
    return "";
  }

  std::string axesText(const DimSharding &dim) const {
    return dim.axes.empty()
               ? "no axis"
               : llvm::join(
                     llvm::map_range(dim.axes, [&](const AxisRef &axis) { return toString(axis, mesh); }),
                     "+");
  }

  void openTensor(int tensor) {
    for (DimSharding &dim : graph.tensors[tensor].sharding.dims)
      dim.open = true;
  }

  LogicalResult add(Operation *op) {
    if (auto flow = dyn_cast<DataFlowOpInterface>(op)) {
      for (const StackEdge &edge : flow.getStackEdges())
        addStack(op, edge);
      return success();
    }
    if (isa<ShardingGroupOp>(op))
      return success();
    if (auto manual = dyn_cast<ManualComputationOp>(op)) {
      opOf.insert(opOf.end(), manualRegions.add(manual, [&](Value value) { return tensorOf(value); }), op);
      return success();
    }
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    if (!ruled) {
      if (!op->hasTrait<OpTrait::IsTerminator>() && !isa<func::FuncOp>(op) &&
          (llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor)))
        return op->emitOpError() << "has no sharding rule: it cannot stand on rung step";
      return success();
    }
    SmallVector<int> operands, results;
    for (Value operand : op->getOperands())
      operands.push_back(tensorOf(operand));
    for (Value result : op->getResults())
      results.push_back(tensorOf(result));
    if (auto constraint = dyn_cast<ConstraintOp>(op))
      if (failed(annotate(op, results.front(), constraint.getSharding(), constraint.getType(), "its result")))
        return failure();
    graph.ops.push_back(PropagationOp(ruled.getShardingRule(), operands, results));
    if (auto barrier = dyn_cast<PropagationBarrierOp>(op))
      graph.ops.back().allowed = barrier.getForward()
                                     ? (barrier.getBackward() ? Direction::Both : Direction::Forward)
                                     : (barrier.getBackward() ? Direction::Backward : Direction::None);
    opOf.push_back(op);
    return success();
  }

  /// A stack [n, d...] and its slices [d...]; n stays.
  void addStack(Operation *op, const StackEdge &edge) {
    auto type = cast<RankedTensorType>(edge.stack.getType());
    ShardingRule rule;
    TensorFactors stack, slice;
    stack.dims.push_back({rule.addFactor(type.getDimSize(0), FactorKind::NeedReplication)});
    for (int64_t size : type.getShape().drop_front()) {
      int factor = rule.addFactor(size);
      stack.dims.push_back({factor});
      slice.dims.push_back({factor});
    }
    SmallVector<int> stacks = {tensorOf(edge.stack)}, slices;
    for (Value value : edge.slices)
      slices.push_back(tensorOf(value));
    rule.operands = {stack};
    rule.results.assign(slices.size(), slice);
    if (edge.collected)
      std::swap(rule.operands, rule.results);
    graph.ops.push_back(
        PropagationOp(rule, edge.collected ? slices : stacks, edge.collected ? stacks : slices));
    opOf.push_back(op);
  }

  /// What people call each tensor; of one that is several values (a loop's place) the first.
  std::map<int, std::string> tensorTexts() {
    std::map<int, std::string> texts;
    auto give = [&](Value value, const std::string &text) {
      if (auto it = tensors.find(value); it != tensors.end())
        texts.try_emplace(it->second, text);
    };
    for (auto function : module.getOps<func::FuncOp>()) {
      for (BlockArgument arg : function.getArguments()) {
        auto name = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
        give(arg, name ? name.str() : placeText(function, "argument", arg.getArgNumber()));
      }
      for (auto [i, tensor] : llvm::enumerate(functionResults[function])) {
        auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
        texts.try_emplace(tensor, name ? name.str() : placeText(function, "result", i));
      }
      function.walk([&](Operation *op) {
        StringRef made = op->getName().stripDialect();
        auto given = dyn_cast<graph::NameOp>(op);
        StringRef name = given ? given.getName() : graph::callName(op->getLoc());
        for (Value result : op->getResults())
          give(result, name.empty() ? ("result of " + made).str() : name.str());
        for (Region &region : op->getRegions())
          for (BlockArgument arg : region.getArguments())
            give(arg, (made + "'s argument " + Twine(arg.getArgNumber())).str());
      });
    }
    return texts;
  }

  /// One remark per op: the last word on each tensor, with the op it came through.
  void explain(ArrayRef<PropagationStep> trace) {
    if (!module.getContext()->getRemarkEngine())
      return;
    std::map<int, std::string> texts = tensorTexts();
    std::map<int, const PropagationStep *> last;
    for (const PropagationStep &step : trace)
      last[step.tensor] = &step;
    for (auto &[tensor, step] : last) {
      if (step->op < 0 || step->op >= int(opOf.size()))
        continue;
      Operation *op = opOf[step->op];
      Sharding sharding = closed(graph.tensors[tensor].sharding);
      auto function = dyn_cast<func::FuncOp>(op);
      dist::explain(op->getLoc(), "propagate",
                    llvm::formatv("{0} lies {1}, {2}", texts[tensor], toString(sharding, mesh),
                                  function ? ("as it is handed on in @" + function.getSymName()).str()
                                           : ("through " + op->getName().stripDialect()).str()));
    }
  }

  /// Closed: what stands in a type. Dimensions that a person annotated with a priority (`annotation`) keep
  /// it, so that the next pass can tell how a value is stored from how it is computed with.
  ShardingAttr attrOf(int tensor, ShardingAttr annotation = {}) {
    Sharding sharding = graph.tensors[tensor].sharding;
    for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
      dim.open = false;
      dim.priority.reset();
      if (annotation && annotation.getDims()[i].getPriority() >= 0 && !dim.axes.empty())
        dim.priority = int(annotation.getDims()[i].getPriority());
    }
    sharding.replicated.clear();
    return ShardingAttr::get(module.getContext(), meshName, sharding, mesh);
  }

  Attribute attrOf(Value value) {
    if (auto it = tensors.find(value); it != tensors.end())
      return attrOf(it->second);
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      return ShardingAttr::get(module.getContext(), meshName, Sharding(type.getRank()), mesh);
    return UnitAttr::get(module.getContext());
  }

  void write() {
    Builder builder(module.getContext());
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (BlockArgument arg : function.getArguments())
        if (isa<RankedTensorType>(arg.getType()))
          function.setArgAttr(arg.getArgNumber(), kShardingAttr,
                              attrOf(tensors[arg], function.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(),
                                                                                           kShardingAttr)));
      for (auto [i, tensor] : llvm::enumerate(functionResults[function]))
        if (tensor >= 0)
          function.setResultAttr(i, kShardingAttr, attrOf(tensor));
      function.getBody().walk([&](Operation *op) {
        if (op->getNumResults() > 0) {
          SmallVector<Attribute> shardings;
          for (Value result : op->getResults())
            shardings.push_back(attrOf(result));
          op->setAttr(kShardingsAttr, builder.getArrayAttr(shardings));
        }
        if (op->getNumRegions() > 0) {
          SmallVector<Attribute> regions;
          for (Region &region : op->getRegions()) {
            SmallVector<Attribute> args;
            for (BlockArgument arg : region.getArguments())
              args.push_back(attrOf(arg));
            regions.push_back(builder.getArrayAttr(args));
          }
          op->setAttr(kBlockShardingsAttr, builder.getArrayAttr(regions));
        }
        if (auto manual = dyn_cast<ManualComputationOp>(op))
          manualRegions.write(manual, [&](Value value) { return tensorOf(value); });
      });
    }
  }

  ModuleOp module;
  StringRef meshName;
  Mesh mesh;
  PropagationGraph graph;
  ManualRegions manualRegions;
  DenseMap<Value, int> tensors;
  DenseMap<Operation *, SmallVector<int>> functionResults;
  std::vector<std::pair<Value, int>> pendingSources;
  ShardingGroups groups;
  std::vector<Operation *> opOf;        ///< of graph.ops
  std::map<int, std::string> annotated; ///< tensors with an annotation: whose it is
  std::vector<Sharding> initial;        ///< of tensors, before propagation
};

struct PropagatePass : public tessera::dist::impl::DistPropagatePassBase<PropagatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = requireMesh(module);
    if (!mesh)
      return signalPassFailure();
    if (failed(verifyRung(module, "step")) || failed(Propagator(module, mesh).run()))
      signalPassFailure();
  }
};
} // namespace
