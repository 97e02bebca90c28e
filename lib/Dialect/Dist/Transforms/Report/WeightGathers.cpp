//===- WeightGathers.cpp - How often stored weights are gathered ----------===//
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "Explain.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Exec/IR/HeldWords.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTREPORTWEIGHTSPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

BlockArgument dist::storedWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || op->getNumRegions() != 0)
      return {};
    value = op->getOperand(0);
  }
  auto arg = cast<BlockArgument>(value);
  Operation *parent = arg.getOwner()->getParentOp();
  if (!parent)
    return {};
  if (isa<func::FuncOp>(parent))
    return graph::argumentKind(arg) == graph::Kind::Parameter ? arg : BlockArgument();
  if (auto flow = dyn_cast<DataFlowOpInterface>(parent))
    for (const StackEdge &edge : flow.getStackEdges())
      if (llvm::is_contained(edge.slices, value))
        return storedWeight(edge.stack);
  return {};
}

bool dist::movesWholeRows(CollectiveOpInterface op) {
  ShardingAttr from = getShardingAttr(op.getMoved().getType()),
               to = getShardingAttr(op.getArrived().getType());
  return !op.reduces() && op.getStepKind() != StepKind::Contribute && from && to && !from.getDims().empty() &&
         from.getDims().back() == to.getDims().back();
}

/// Whether a value is a cache in blocks, a layer of one, or what ranks have moved of it.
static bool isOfCacheInBlocks(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->hasAttr(graph::kHeldAttr)) // what it writes is rounded to them
      return true;
    auto moves = dyn_cast<CollectiveOpInterface>(op);
    if (!isa<graph::LayerSliceOp>(op) && !(moves && movesWholeRows(moves)))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

std::optional<double> dist::cachedElementBytes(Value value) {
  if (!isOfCacheInBlocks(value))
    return std::nullopt;
  return double(graph::kCacheBlockBytes) / double(graph::kCacheBlock);
}

/// Whether an op takes a part of `value`, or of a layer of it, in whatever layout: no blocks are cut so.
static bool isReadInPart(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto send = dyn_cast<GroupedSendOp>(op); send && send.getAt())
      return true;
    if (auto flow = dyn_cast<DataFlowOpInterface>(op)) {
      for (const StackEdge &edge : flow.getStackEdges())
        if (!edge.collected && edge.stack == use.get() && llvm::any_of(edge.slices, isReadInPart))
          return true;
      return false;
    }
    if (op->getNumRegions() || op->getNumResults() != 1)
      return false;
    if (isa<DistDialect>(op->getDialect()) || isa<graph::NameOp>(op))
      return isReadInPart(op->getResult(0));
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    return ruled && !ruled.getShardingRule().windows.empty();
  });
}

/// A parameter is held in one way, whichever function reads it.
static bool isReadInPart(func::FuncOp function, StringAttr name) {
  for (auto other : function->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (BlockArgument argument : other.getArguments())
      if (other.getArgAttr(argument.getArgNumber(), graph::kNameAttr) == name && isReadInPart(argument))
        return true;
  return false;
}

double dist::gatheredElementBytes(Value value) {
  if (std::optional<double> cached = cachedElementBytes(value))
    return *cached;
  auto plain = double(elementBytes(value.getType()));
  BlockArgument weight = storedWeight(value);
  auto function = weight ? dyn_cast<func::FuncOp>(weight.getOwner()->getParentOp()) : func::FuncOp();
  auto name = function ? function.getArgAttrOfType<StringAttr>(weight.getArgNumber(), graph::kNameAttr)
                       : StringAttr();
  auto parameter =
      name ? SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(function, name) : graph::ParameterOp();
  std::optional<double> inBlocks = parameter ? exec::blockElementBytes(parameter) : std::nullopt;
  return inBlocks && !isReadInPart(function, name) ? *inBlocks : plain;
}

double dist::heldBytes(Value value) {
  return double(arrayBytes(value.getType())) * gatheredElementBytes(value) /
         double(elementBytes(value.getType()));
}

int64_t dist::bytesSent(CollectiveOpInterface op, const Mesh &mesh) {
  int64_t bytes = op.getBytesSent(mesh);
  bool asHeld = op.getStepKind() == StepKind::AllGather ||
                (movesWholeRows(op) && cachedElementBytes(op.getMoved()).has_value());
  return !asHeld ? bytes
                 : int64_t(double(bytes) * gatheredElementBytes(op.getMoved()) /
                           double(elementBytes(op.getMoved().getType())));
}

namespace {
/// The gathers of one weight that are not themselves of a gathered one.
struct Gathers {
  SmallVector<AllGatherOp> first;
  AxisList axes;
};

std::string textOf(const Gathers &gathers, const Mesh &mesh) {
  std::string axes;
  for (const AxisRef &axis : gathers.axes)
    axes += (axes.empty() ? "" : ", ") + toString(axis, mesh);
  int64_t bytes = 0, layers = 1;
  llvm::SmallPtrSet<Operation *, 4> loops;
  for (AllGatherOp gather : gathers.first) {
    Value whole = gather.getResult();
    while (whole.hasOneUse() && isa<AllGatherOp>(*whole.user_begin()))
      whole = whole.user_begin()->getResult(0);
    bytes = std::max(bytes, int64_t(double(cast<ShapedType>(whole.getType()).getNumElements()) *
                                    gatheredElementBytes(gather.getInput())));
    layers = std::max(layers, graph::executionsOf(gather));
    if (auto loop = gather->getParentOfType<DataFlowOpInterface>())
      loops.insert(loop);
  }
  size_t times = gathers.first.size();
  std::string count = times == 1 ? "once" : times == 2 ? "twice" : std::to_string(times) + " times";
  std::string text = llvm::formatv("gathered over {{{0}} {1}", axes, count);
  if (layers == 1)
    return text + llvm::formatv(": the whole, {0} bytes, is held until its last use", bytes).str();
  text += llvm::formatv(", in {0} of {1} iterations: one layer is held at a time, {2} bytes",
                        loops.size() == 1 ? "a loop" : "loops", layers, bytes);
  if (loops.size() > 1)
    text += llvm::formatv("; all layers, kept from one loop to the next, would be {0}", bytes * layers);
  return text;
}
} // namespace

std::vector<GatheredWeight> tessera::dist::gatheredWeights(ModuleOp module, const Mesh &mesh) {
  llvm::MapVector<BlockArgument, Gathers> found;
  module.walk<WalkOrder::PreOrder>([&](AllGatherOp gather) {
    BlockArgument weight = storedWeight(gather.getInput());
    if (!weight)
      return;
    Gathers &gathers = found[weight];
    for (const AxisRef &axis : fromAxesAttr(gather.getAxes(), mesh))
      if (!llvm::is_contained(gathers.axes, axis))
        gathers.axes.push_back(axis);
    if (!gather.getInput().getDefiningOp<AllGatherOp>())
      gathers.first.push_back(gather);
  });
  std::vector<GatheredWeight> result;
  for (auto &[weight, gathers] : found)
    result.push_back({weight, int(gathers.first.size()), textOf(gathers, mesh)});
  return result;
}

namespace {
struct ReportWeightsPass : public tessera::dist::impl::DistReportWeightsPassBase<ReportWeightsPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    MeshOp meshOp = dist::getMesh(getOperation());
    if (!meshOp || !getContext().getRemarkEngine())
      return;
    for (const GatheredWeight &gathered : gatheredWeights(getOperation(), meshOp.getMesh().toMesh())) {
      auto function = cast<func::FuncOp>(gathered.weight.getOwner()->getParentOp());
      auto name = function.getArgAttrOfType<StringAttr>(gathered.weight.getArgNumber(), graph::kNameAttr);
      explain(gathered.weight.getLoc(), "weight",
              (name ? name.getValue().str() : "weight #" + std::to_string(gathered.weight.getArgNumber())) +
                  " in @" + function.getSymName().str() + ": " + gathered.text);
    }
  }
};
} // namespace
