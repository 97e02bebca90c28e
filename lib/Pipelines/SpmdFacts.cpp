//===- SpmdFacts.cpp - What stands on rung spmd, counted ------------------===//
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Pipelines/Diagnostics.h"

#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/CacheBytes.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;
using namespace tessera::dist;

namespace tessera {

SpmdFacts::SpmdFacts(ModuleOp module) : module(module), machine(machineOf(module)), names(module) {
  if (MeshOp mesh = dist::getMesh(module))
    meshOfModule = mesh.getMesh().toMesh();
  names.nameOperands(module);
}

//===----------------------------------------------------------------------===//
// Totals
//===----------------------------------------------------------------------===//

/// Most bytes of results that are alive at once in `block`, those of nested blocks included.
static int64_t peakOf(Block &block) {
  DenseMap<Operation *, int64_t> place;
  int64_t n = 0;
  for (Operation &op : block)
    place[&op] = n++;
  std::vector<int64_t> change(size_t(n) + 1, 0), inside(size_t(n), 0);
  for (Operation &op : block) {
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        inside[size_t(place[&op])] = std::max(inside[size_t(place[&op])], peakOf(nested));
    for (Value result : op.getResults()) {
      int64_t last = place[&op];
      for (Operation *user : result.getUsers())
        if (Operation *here = block.findAncestorOpInBlock(*user))
          last = std::max(last, place[here]);
      change[size_t(place[&op])] += arrayBytes(result.getType());
      change[size_t(last) + 1] -= arrayBytes(result.getType());
    }
  }
  int64_t alive = 0, peak = 0;
  for (size_t i = 0; i < size_t(n); ++i) {
    alive += change[i];
    peak = std::max(peak, alive + inside[i]);
  }
  return peak;
}

double SpmdFacts::seconds(Operation *op) const {
  auto times = double(graph::executionsOf(op));
  if (auto collective = dyn_cast<CollectiveOpInterface>(op); collective && collective.communicates())
    return times * dist::collectiveTime(machine, meshOfModule, collective);
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost || op->getNumRegions() > 0)
    return 0;
  OpCost work = cost.getCost();
  return times * dist::workTime(machine, op, work);
}

/// A weight that is held in quantized blocks is gathered so.
int64_t SpmdFacts::bytesSent(CollectiveOpInterface op) const { return dist::bytesSent(op, meshOfModule); }

std::vector<StepTotals> SpmdFacts::totals() {
  std::vector<StepTotals> list;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    StepTotals total;
    total.function = function.getSymName().str();
    for (BlockArgument arg : function.getArguments()) {
      std::optional<graph::Kind> kind = graph::argumentKind(arg);
      if (kind == graph::Kind::Parameter)
        total.weightBytes += int64_t(dist::heldBytes(arg));
      else if (kind == graph::Kind::State)
        total.stateBytes += graph::stateBytes(arg);
    }
    function.walk([&](Operation *op) {
      int64_t times = graph::executionsOf(op);
      total.seconds += seconds(op);
      if (auto collective = dyn_cast<CollectiveOpInterface>(op); collective && collective.communicates()) {
        total.collectives += times;
        total.collectiveBytes += times * bytesSent(collective);
      } else if (auto cost = dyn_cast<CostOpInterface>(op); cost && op->getNumRegions() == 0) {
        total.flops += double(times) * cost.getCost().flops;
      }
    });
    total.activationBytes = peakOf(function.getBody().front());
    list.push_back(std::move(total));
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Who and where
//===----------------------------------------------------------------------===//

/// What only moves a value, or looks at it in another way for that, and what masks it.
static bool isMoving(Operation *op) {
  return isa<CollectiveOpInterface, graph::MaskPaddingOp>(op) || graph::isView(op);
}

/// What a value is before that touched it.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isMoving(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The function's argument that a value is, or is a layer of; null if it is none.
static BlockArgument argumentOf(Value value) {
  auto arg = dyn_cast<BlockArgument>(sourceOf(value));
  if (!arg || isa<func::FuncOp>(arg.getOwner()->getParentOp()))
    return arg;
  if (auto flow = dyn_cast<DataFlowOpInterface>(arg.getOwner()->getParentOp()))
    for (const StackEdge &edge : flow.getStackEdges())
      if (llvm::is_contained(edge.slices, Value(arg)))
        return argumentOf(edge.stack);
  return {};
}

static std::string argumentName(BlockArgument arg) {
  auto function = cast<func::FuncOp>(arg.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
  return name ? name.getValue().str() : "number " + std::to_string(arg.getArgNumber());
}

std::string SpmdFacts::opText(Operation *op) {
  std::string read;
  for (Value operand : op->getOperands())
    if (BlockArgument arg =
            op->getNumRegions() ? BlockArgument() : argumentOf(operand)) // a loop reads everything
      read += (read.empty() ? "" : ", ") + argumentName(arg);
  return graph::knownAs(op).str() + (read.empty() ? "" : " (" + read + ")");
}

Endpoint SpmdFacts::producerOf(Value value) {
  value = sourceOf(value);
  if (Operation *op = value.getDefiningOp())
    return {opText(op), describeLocation(op->getLoc())};
  if (BlockArgument arg = argumentOf(value))
    return {"argument " + argumentName(arg), describeLocation(arg.getLoc())};
  Operation *loop = value.getParentBlock()->getParentOp();
  return {loop->getName().stripDialect().str() + " (carried value)", describeLocation(loop->getLoc())};
}

Endpoint SpmdFacts::consumerOf(Value value) {
  SmallVector<Operation *> users(value.getUsers());
  if (users.empty())
    return {"nobody", ""};
  // Users come last first.
  Operation *first = users.front();
  for (Operation *user : users)
    if (user->getBlock() == first->getBlock() && user->isBeforeInBlock(first))
      first = user;
  if (isMoving(first))
    return consumerOf(first->getResult(0));
  if (isa<func::ReturnOp>(first))
    return {"the caller", describeLocation(first->getLoc())};
  if (first->hasTrait<OpTrait::IsTerminator>())
    return {"the next iteration", describeLocation(first->getLoc())};
  return {opText(first), describeLocation(first->getLoc())};
}

/// The dimension that the two sides see differently: the reduced one of the op where a sum became partial,
/// else the one whose axes change.
std::string SpmdFacts::disagreement(CollectiveOpInterface collective) {
  if (collective.reduces()) {
    AxisList axes = collective.getGroupAxes(meshOfModule);
    auto isPartial = [&](Value value) {
      auto attr = getShardingAttr(value.getType());
      return attr && llvm::any_of(attr.toSharding(meshOfModule).partial, [&](const AxisRef &axis) {
               return llvm::any_of(axes, [&](const AxisRef &other) { return axis.overlaps(other); });
             });
    };
    for (Operation *op = collective.getMoved().getDefiningOp(); op;) {
      auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
      auto partial = llvm::find_if(op->getOperands(), isPartial);
      if (partial == op->operand_end()) {
        if (!ruled)
          break;
        ShardingRule rule = ruled.getShardingRule();
        for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
          Sharding sharding = getShardingAttr(operand.getType()).toSharding(meshOfModule);
          for (auto [dim, factors] : llvm::zip(sharding.dims, tensor.dims))
            for (int factor : factors)
              if (rule.factors[factor].kind == FactorKind::Reduction &&
                  llvm::any_of(dim.axes, [&](const AxisRef &axis) {
                    return llvm::any_of(axes, [&](const AxisRef &other) { return axis.overlaps(other); });
                  }))
                return names.factorName(ruled, rule, factor);
        }
        break;
      }
      op = (*partial).getDefiningOp();
    }
    return "a reduced dimension";
  }
  Value input = collective.getMoved();
  if (int64_t dim = collective.getLeftDim(); dim >= 0)
    return names.name(input, int(dim));
  Sharding before = getShardingAttr(input.getType()).toSharding(meshOfModule);
  Sharding after = getShardingAttr(collective.getArrived().getType()).toSharding(meshOfModule);
  if (auto permute = dyn_cast<CollectivePermuteOp>(collective.getOperation());
      permute && permute.getMirrored()) {
    AxisList mirrored = fromAxesAttr(*permute.getMirrored(), meshOfModule);
    for (auto [i, dim] : llvm::enumerate(before.dims))
      for (const AxisRef &axis : dim.axes)
        if (axis.overlaps(mirrored.front()))
          return names.name(input, int(i));
  }
  for (auto [i, dims] : llvm::enumerate(llvm::zip(before.dims, after.dims)))
    if (std::get<0>(dims).axes != std::get<1>(dims).axes)
      return names.name(input, int(i));
  return "no dimension";
}

static bool isBundled(Operation *op) { return op && op->hasAttr(dist::kBundledAttr); }

/// Behind what lays a bundle's operands side by side (or cuts its result): the values that were bundled.
static void unbundle(Value value, bool back, SmallVectorImpl<Value> &values) {
  if (back && isBundled(value.getDefiningOp()) && !isa<CollectiveOpInterface>(value.getDefiningOp())) {
    for (Value operand : value.getDefiningOp()->getOperands())
      unbundle(operand, back, values);
    return;
  }
  auto users = llvm::to_vector(llvm::make_filter_range(value.getUsers(), isBundled));
  if (back || users.empty()) {
    values.push_back(value);
    return;
  }
  for (Operation *user : llvm::reverse(users)) // users come last first
    unbundle(user->getResult(0), back, values);
}

/// The ends of all values, each said once.
static Endpoint joinEnds(ArrayRef<Value> values, llvm::function_ref<Endpoint(Value)> endOf) {
  Endpoint joined;
  SmallVector<std::string> seen;
  for (Value value : values) {
    Endpoint end = endOf(value);
    if (llvm::is_contained(seen, end.op))
      continue;
    joined.op += (seen.empty() ? "" : " and ") + end.op;
    if (seen.empty())
      joined.where = end.where;
    seen.push_back(end.op);
  }
  return joined;
}

CollectiveExplanation SpmdFacts::describe(CollectiveOpInterface op) {
  CollectiveExplanation c;
  c.function = op->getParentOfType<func::FuncOp>().getSymName().str();
  c.kind = op->getName().stripDialect().str();
  for (const AxisRef &axis : op.getGroupAxes(meshOfModule))
    c.axes.push_back(toString(axis, meshOfModule));
  SmallVector<Value> sources = {op.getMoved()}, results = {op.getArrived()};
  if (isBundled(op)) {
    sources.clear();
    results.clear();
    unbundle(op.getMoved(), /*back=*/true, sources);
    unbundle(op.getArrived(), /*back=*/false, results);
  }
  c.producer = joinEnds(sources, [&](Value value) { return producerOf(value); });
  c.consumer = joinEnds(results, [&](Value value) { return consumerOf(value); });
  c.dimension = disagreement(op);
  c.from = toString(getShardingAttr(op.getMoved().getType()).toSharding(meshOfModule), meshOfModule);
  c.to = toString(getShardingAttr(op.getArrived().getType()).toSharding(meshOfModule), meshOfModule);
  if (auto why = op->getAttrOfType<StringAttr>("why"))
    c.why = why.getValue().str();
  c.bytes = bytesSent(op);
  if (auto rows = dyn_cast<dist::ExchangeRowsOp>(op.getOperation()))
    c.mostBytes = rows.getMostBytesSent();
  c.messages = op.getMessages(meshOfModule);
  c.executions = graph::executionsOf(op);
  c.seconds = dist::collectiveTime(machine, meshOfModule, op);
  return c;
}

std::vector<CollectiveExplanation> SpmdFacts::collectives() {
  std::vector<CollectiveExplanation> list;
  module.walk<WalkOrder::PreOrder>([&](CollectiveOpInterface op) {
    if (op.communicates())
      list.push_back(describe(op));
  });
  return list;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

TensorExplanation SpmdFacts::tensor(Value value, StringRef function) {
  TensorExplanation t;
  t.function = function.str();
  auto type = cast<RankedTensorType>(value.getType());
  for (int i = 0; i < type.getRank(); ++i)
    t.dims.push_back(names.name(value, i));
  llvm::SmallVector<int64_t> global = globalShape(type);
  t.shape.assign(global.begin(), global.end());
  if (auto attr = getShardingAttr(type))
    t.sharding = toString(attr.toSharding(meshOfModule), meshOfModule);
  auto argument = dyn_cast<BlockArgument>(value);
  bool isState = argument && graph::argumentKind(argument) == graph::Kind::State;
  t.bytes = isState ? graph::stateBytes(argument) : int64_t(dist::heldBytes(value));
  return t;
}

std::string sameOnAllRanks(const MeshAxis &axis, const std::string &why, int64_t bytes) {
  return "every rank along " + axis.name + " holds the same: " + why + "; spread over it, " +
         std::to_string(bytes) + " bytes would be " + std::to_string((bytes + axis.size - 1) / axis.size);
}

/// "factor hidden"; by its number where nobody has named it.
std::string SpmdFacts::factorText(ShardingRuleOpInterface op, const ShardingRule &rule, int factor) const {
  std::string name = names.factorName(op, rule, factor);
  return StringRef(name).starts_with("factor ") ? name : "factor " + name;
}

/// For each dimension of a result the operand that has its factor over the same axes; for each other axis,
/// what became of it.
std::vector<std::string> SpmdFacts::activationReasons(Value value) {
  std::vector<std::string> reasons;
  Operation *op = value.getDefiningOp();
  auto ruled = dyn_cast_if_present<ShardingRuleOpInterface>(op);
  auto attr = getShardingAttr(value.getType());
  if (!ruled || !attr)
    return reasons;
  ShardingRule rule = ruled.getShardingRule();
  Sharding sharding = attr.toSharding(meshOfModule);
  const TensorFactors &result = rule.results[cast<OpResult>(value).getResultNumber()];
  auto axesText = [&](ArrayRef<AxisRef> axes) {
    std::string text;
    for (const AxisRef &axis : axes)
      text += (text.empty() ? "" : "+") + toString(axis, meshOfModule);
    return text;
  };
  for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
    if (dim.axes.empty())
      continue;
    std::string text = names.name(value, int(d)) + " over " + axesText(dim.axes) + ": ", from;
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
      for (auto [i, factors] : llvm::enumerate(tensor.dims))
        if (from.empty() && factors == result.dims[d] &&
            getShardingAttr(operand.getType()).toSharding(meshOfModule).dims[i].axes == dim.axes)
          from = "propagated from " + producerOf(operand).op + " through " +
                 (factors.empty() ? "a factor of size 1" : factorText(ruled, rule, factors.front())) +
                 " of " + opText(op);
    reasons.push_back(text + (from.empty() ? "placed there by cost" : from));
  }
  if (!sharding.partial.empty())
    reasons.push_back("partial over " + axesText(sharding.partial) +
                      ": its sum is taken where that costs least");
  AxisList used = sharding.usedAxes();
  for (auto [i, axis] : llvm::enumerate(meshOfModule.axes)) {
    AxisRef whole = wholeAxis(meshOfModule, int(i));
    if (axis.size == 1 || llvm::any_of(used, [&](const AxisRef &other) { return other.overlaps(whole); }))
      continue;
    std::string why = "nobody asked for " + axis.name + " on any dimension of what it is made from";
    for (Value operand : op->getOperands())
      if (llvm::any_of(getShardingAttr(operand.getType()).toSharding(meshOfModule).usedAxes(),
                       [&](const AxisRef &other) { return other.overlaps(whole); }))
        why = "conflict lost to cost: " + producerOf(operand).op + " lies over " + axis.name +
              ", in a dimension that " + opText(op) + " does not hand on";
    for (Value operand : op->getOperands())
      for (auto maker = operand.getDefiningOp<CollectiveOpInterface>(); maker;
           maker = maker.getMoved().getDefiningOp<CollectiveOpInterface>())
        if (llvm::any_of(maker.getGroupAxes(meshOfModule),
                         [&](const AxisRef &other) { return other.overlaps(whole); }))
          why = "placed by cost: " + maker->getName().stripDialect().str() + " over " + axis.name +
                " before " + opText(op);
    reasons.push_back(sameOnAllRanks(axis, why, arrayBytes(value.getType())));
  }
  return reasons;
}

std::vector<TensorExplanation> SpmdFacts::tensors(size_t activations) {
  std::vector<TensorExplanation> list;
  std::multimap<std::pair<std::string, SmallVector<int64_t>>, std::string>
      gathered; // functions share weights of one name and shape
  for (const GatheredWeight &weight : gatheredWeights(module, meshOfModule)) {
    auto function = cast<func::FuncOp>(weight.weight.getOwner()->getParentOp());
    gathered.emplace(std::make_pair(argumentName(weight.weight),
                                    globalShape(cast<RankedTensorType>(weight.weight.getType()))),
                     "in @" + function.getSymName().str() + " " + weight.text);
  }
  auto largestFirst = [](const TensorExplanation &a, const TensorExplanation &b) {
    return a.bytes > b.bytes;
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    std::vector<TensorExplanation> arguments, values;
    for (BlockArgument arg : function.getArguments()) {
      if (!isa<RankedTensorType>(arg.getType()))
        continue;
      TensorExplanation t = tensor(arg, function.getSymName());
      t.kind = graph::argumentKind(arg).value_or(graph::Kind::Input);
      if (t.kind == graph::Kind::State)
        t.bytes = graph::stateBytes(arg);
      t.name = argumentName(arg);
      for (auto [at, end] =
               gathered.equal_range({t.name, globalShape(cast<RankedTensorType>(arg.getType()))});
           at != end; ++at)
        t.reasons.push_back(at->second);
      if (llvm::none_of(list, [&](const TensorExplanation &known) {
            return known.name == t.name && known.shape == t.shape;
          }))
        arguments.push_back(std::move(t));
    }
    std::vector<std::pair<int64_t, Value>> largest;
    function.walk([&](Operation *op) {
      if (isa<ShardingRuleOpInterface>(op) && op->getNumRegions() == 0)
        for (Value result : op->getResults())
          largest.push_back({-arrayBytes(result.getType()), result});
    });
    std::stable_sort(largest.begin(), largest.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    largest.resize(std::min(largest.size(), activations));
    for (auto &[size, value] : largest) {
      TensorExplanation t = tensor(value, function.getSymName());
      t.name = opText(value.getDefiningOp());
      t.reasons = activationReasons(value);
      values.push_back(std::move(t));
    }
    llvm::stable_sort(arguments, largestFirst);
    list.insert(list.end(), arguments.begin(), arguments.end());
    list.insert(list.end(), values.begin(), values.end());
  }
  return list;
}

} // namespace tessera
