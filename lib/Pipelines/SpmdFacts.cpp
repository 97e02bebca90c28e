//===- SpmdFacts.cpp - What stands on rung spmd, counted ------------------===//
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Pipelines/Diagnostics.h"

#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/Branch.h"
#include "tessera/Dialect/Graph/IR/CacheBytes.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera::dist;

namespace tessera {

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

static bool isBundled(Operation *op) { return op && op->hasAttr(dist::kBundledAttr); }

/// Sends that stand for an op that takes a part.
static bool takesPart(Operation *op) {
  auto send = dyn_cast<GroupedSendOp>(op);
  return send && send.getAt();
}

/// What only moves a value, or looks at it in another way for that, and what masks it.
static bool isMoving(Operation *op) {
  if (takesPart(op))
    return false;
  return isa<CollectiveOpInterface, graph::MaskPaddingOp>(op) || graph::isView(op) ||
         (isBundled(op) && isa<graph::ReshapeOp>(op));
}

/// Where operand `i` of what lays a bundle's operands side by side begins.
static int64_t beginInBundle(graph::ConcatOp bundle, unsigned i) {
  int64_t begin = 0;
  for (Value before : bundle->getOperands().take_front(i))
    begin += cast<RankedTensorType>(before.getType()).getDimSize(0);
  return begin;
}

/// What `piece` is cut from. A bundle goes through one collective, or through its stages and their views.
static graph::ConcatOp bundleOf(graph::SliceOp piece) {
  Operation *op = piece->getOperand(0).getDefiningOp();
  while (!isa<graph::ConcatOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return cast<graph::ConcatOp>(op);
}

/// What became `piece` of a bundle's result.
static Value beforeBundle(graph::SliceOp piece) {
  graph::ConcatOp bundle = bundleOf(piece);
  for (unsigned i = 0; i < bundle->getNumOperands(); ++i)
    if (beginInBundle(bundle, i) == piece.getOffsets().front())
      return bundle->getOperand(i);
  llvm_unreachable("a piece of no operand");
}

/// What `operand` of a bundle becomes.
static Value behindBundle(OpOperand &operand) {
  auto bundle = cast<graph::ConcatOp>(operand.getOwner());
  Operation *collective = *bundle->getUsers().begin();
  while (collective->hasOneUse() && isMoving(*collective->user_begin()) &&
         !isa<graph::SliceOp>(*collective->user_begin())) // of several stages the last
    collective = *collective->user_begin();
  for (Operation *user : collective->getUsers())
    if (auto piece = dyn_cast<graph::SliceOp>(user);
        piece && piece.getOffsets().front() == beginInBundle(bundle, operand.getOperandNumber()))
      return piece->getResult(0);
  return collective->getResult(0); // nobody reads it
}

/// What a value is before that touched it.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto piece = dyn_cast<graph::SliceOp>(op); piece && isBundled(op))
      value = beforeBundle(piece);
    else if (isMoving(op))
      value = op->getOperand(0);
    else
      break;
  }
  return value;
}

/// The stack that `arg` is a layer of; null if it is none.
static Value stackOf(BlockArgument arg) {
  if (auto flow = dyn_cast<DataFlowOpInterface>(arg.getOwner()->getParentOp()))
    for (const StackEdge &edge : flow.getStackEdges())
      if (llvm::is_contained(edge.slices, Value(arg)))
        return edge.stack;
  return {};
}

/// The function's argument that a value is, or is a layer of; null if it is none.
static BlockArgument argumentOf(Value value) {
  auto arg = dyn_cast<BlockArgument>(sourceOf(value));
  if (!arg || isa<func::FuncOp>(arg.getOwner()->getParentOp()))
    return arg;
  Value stack = stackOf(arg);
  return stack ? argumentOf(stack) : BlockArgument();
}

std::string numberedName(unsigned number) { return "number " + std::to_string(number); }

std::string argumentName(BlockArgument arg) {
  auto function = cast<func::FuncOp>(arg.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
  return name ? name.getValue().str() : numberedName(arg.getArgNumber());
}

static std::pair<Operation *, Attribute> wholeIn(Operation *op) {
  return {op->getParentOfType<func::FuncOp>(), graph::identityOfWhole(op)};
}

static void addArgumentsRead(Operation *op, std::vector<std::string> &read) {
  for (Value operand : op->getOperands())
    if (BlockArgument arg =
            op->getNumRegions() ? BlockArgument() : argumentOf(operand)) // a loop reads everything
      if (std::string name = argumentName(arg); !llvm::is_contained(read, name))
        read.push_back(name);
}

SpmdFacts::SpmdFacts(ModuleOp module) : module(module), machine(machineOf(module)), names(module) {
  if (MeshOp mesh = dist::getMesh(module))
    meshOfModule = mesh.getMesh().toMesh();
  names.nameOperands(module);
  module.walk([&](Operation *op) {
    if (graph::identityOfWhole(op))
      addArgumentsRead(op, readByWhole[wholeIn(op)]);
  });
}

std::string SpmdFacts::opText(Operation *op) {
  std::vector<std::string> own;
  auto parts = readByWhole.find(wholeIn(op));
  if (parts == readByWhole.end())
    addArgumentsRead(op, own);
  const std::vector<std::string> &read = parts == readByWhole.end() ? own : parts->second;
  return graph::knownAs(op).str() + (read.empty() ? "" : " (" + llvm::join(read, ", ") + ")");
}

/// An op that is written out is one to people.
static Endpoint endOf(Operation *op, std::string text) {
  Attribute whole = graph::identityOfWhole(op);
  return {std::move(text), describeLocation(op->getLoc()), whole ? whole.getAsOpaquePointer() : op};
}

Endpoint SpmdFacts::producerOf(Value value) {
  value = sourceOf(value);
  if (Operation *op = value.getDefiningOp())
    return endOf(op, opText(op));
  if (BlockArgument arg = argumentOf(value))
    return {"argument " + argumentName(arg), describeLocation(arg.getLoc())};
  if (Value stack = stackOf(cast<BlockArgument>(value)))
    return producerOf(stack);
  Operation *loop = value.getParentBlock()->getParentOp();
  if (auto manual = dyn_cast<ManualComputationOp>(loop))
    return producerOf(manual.getInputs()[cast<BlockArgument>(value).getArgNumber()]);
  return {loop->getName().stripDialect().str() + " (carried value)", describeLocation(loop->getLoc())};
}

Endpoint SpmdFacts::consumerOf(Value value) {
  if (value.use_empty())
    return {"nobody", ""};
  // Uses come last first.
  OpOperand *use = &*value.use_begin();
  for (OpOperand &other : value.getUses())
    if (other.getOwner()->getBlock() == use->getOwner()->getBlock() &&
        other.getOwner()->isBeforeInBlock(use->getOwner()))
      use = &other;
  Operation *first = use->getOwner();
  if (isBundled(first) && isa<graph::ConcatOp>(first))
    return consumerOf(behindBundle(*use));
  if (isMoving(first))
    return consumerOf(first->getResult(0));
  if (isa<func::ReturnOp>(first))
    return {"the caller", describeLocation(first->getLoc())};
  if (isa<graph::BranchYieldOp, ManualYieldOp>(first)) {
    Operation *parent = first->getParentOp();
    Value given = parent->getResult(use->getOperandNumber());
    return given.use_empty() ? endOf(parent, opText(parent)) : consumerOf(given);
  }
  if (first->hasTrait<OpTrait::IsTerminator>())
    return {"the next iteration", describeLocation(first->getLoc())};
  return endOf(first, opText(first));
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
      if (isa<ManualComputationOp>(op))
        return "what a program of one rank yields";
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
  if (takesPart(collective))
    for (auto [i, dim] : llvm::enumerate(before.dims))
      if (!dim.axes.empty() && globalShape(cast<RankedTensorType>(input.getType()))[i] !=
                                   globalShape(cast<RankedTensorType>(collective.getArrived().getType()))[i])
        return names.name(input, int(i));
  return "no dimension";
}

/// Before what lays a bundle's operands side by side: the values that were bundled. A piece of another bundle
/// is what became it.
static void findBundled(Value value, SmallVectorImpl<Value> &values) {
  Operation *op = value.getDefiningOp();
  if (auto piece = dyn_cast_or_null<graph::SliceOp>(op); piece && isBundled(op))
    return findBundled(beforeBundle(piece), values);
  if (!isBundled(op)) // a stage before it is bundled, too
    return values.push_back(value);
  for (Value operand : op->getOperands())
    findBundled(operand, values);
}

/// Behind what cuts a bundle's result: what became of the values that were bundled.
static void findUnbundled(Value value, SmallVectorImpl<Value> &values) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (isBundled(use.getOwner()))
      uses.push_back(&use);
  if (uses.empty())
    return values.push_back(value);
  for (OpOperand *use : llvm::reverse(uses)) // they come last first
    findUnbundled(isa<graph::ConcatOp>(use->getOwner()) ? behindBundle(*use) : use->getOwner()->getResult(0),
                  values);
}

/// The ends of all values, each said once.
static Endpoint joinEnds(ArrayRef<Value> values, llvm::function_ref<Endpoint(Value)> endOf) {
  Endpoint joined;
  SmallVector<std::string> seen;
  for (Value value : values) {
    Endpoint end = endOf(value);
    joined.identity = seen.empty() || joined.identity == end.identity ? end.identity : nullptr;
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
    findBundled(op.getMoved(), sources);
    findUnbundled(op.getArrived(), results);
  }
  c.producer = joinEnds(sources, [&](Value value) { return producerOf(value); });
  c.consumer = takesPart(op) ? endOf(op, opText(op))
                             : joinEnds(results, [&](Value value) { return consumerOf(value); });
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

} // namespace tessera
