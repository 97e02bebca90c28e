//===- PaddingCost.cpp - What sizes that do not divide cost ---------------===//
#include "tessera/Dialect/Dist/Transforms/PaddingCost.h"

#include "Explain.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/CacheBytes.h"
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>
#include <set>

namespace tessera::dist {
#define GEN_PASS_DEF_DISTREPORTPADDINGPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class Counter {
public:
  Counter(ModuleOp module, const Mesh &mesh, const DimNames &names)
      : module(module), mesh(mesh), names(names) {}

  PaddingCost run() {
    std::set<StringRef> counted; // weights and states are the same in all functions
    for (auto function : module.getOps<func::FuncOp>()) {
      for (BlockArgument arg : function.getArguments())
        addArgument(function, arg, counted);
      FunctionFlops &flops = cost.functions[function.getName().str()];
      std::map<size_t, double> padded; // by dimension
      function.walk([&](Operation *op) { addOp(op, flops, padded); });
      auto most = llvm::max_element(padded, [](const auto &a, const auto &b) { return a.second < b.second; });
      if (most != padded.end() && most->second > 0)
        flops.most = headline(cost.dims[most->first]);
    }
    for (auto [i, dim] : llvm::enumerate(cost.dims))
      for (const Names *names : {&makers[i], &seen[i]})
        if (dim.values.empty())
          dim.values = *names;
    llvm::sort(cost.dims, [](const PaddedDim &a, const PaddedDim &b) {
      return std::tuple(-a.share.flops, -a.share.weightBytes - a.share.stateBytes, a.name, a.size,
                        a.axesText) < std::tuple(-b.share.flops, -b.share.weightBytes - b.share.stateBytes,
                                                 b.name, b.size, b.axesText);
    });
    return std::move(cost);
  }

private:
  /// Which entries of the list `value` pads, and which part of it is padding of each.
  SmallVector<std::pair<size_t, double>> paddingOf(Value value) {
    SmallVector<std::pair<size_t, double>> found;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    ShardingAttr attr = type ? getShardingAttr(type) : ShardingAttr();
    if (!attr)
      return found;
    Sharding sharding = attr.toSharding(mesh);
    SmallVector<int64_t> global = globalShape(type);
    for (int d = 0; d < type.getRank(); ++d) {
      int64_t padded = type.getDimSize(d) * sharding.shards(d);
      if (padded != global[d])
        found.push_back({entry(value, d, sharding.dims[d].axes, global[d], padded),
                         double(padded - global[d]) / double(padded)});
    }
    return found;
  }

  /// A dimension that nobody has named is one of its value; of equal ones of several values the first's.
  std::string nameOf(Value value, int dim) const {
    std::string name = names.name(value, dim);
    ArrayRef<StringRef> known = names.names(value);
    if (!known.empty() && !known[size_t(dim)].empty())
      return name;
    value = behindViews(value);
    Operation *maker = value.getDefiningOp();
    StringRef called = maker ? graph::callName(maker->getLoc()) : StringRef();
    if (auto arg = dyn_cast<BlockArgument>(value))
      if (auto function = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()))
        if (auto given = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr))
          called = given;
    if (called.empty() && !maker)
      maker = value.getParentBlock()->getParentOp();
    return name + " of " + (called.empty() ? graph::knownAs(maker) : called).str();
  }

  size_t entry(Value value, int dim, const AxisList &axes, int64_t size, int64_t padded) {
    std::string name = names.name(value, dim);
    std::string axesText =
        llvm::join(llvm::map_range(axes, [&](const AxisRef &axis) { return toString(axis, mesh); }), "+");
    auto [at, isNew] = index.insert({{name, axesText, size}, cost.dims.size()});
    if (isNew)
      cost.dims.push_back({nameOf(value, dim), axes, axesText, size, padded, {}, {}});
    return at->second;
  }

  void addArgument(func::FuncOp function, BlockArgument arg, std::set<StringRef> &counted) {
    auto nameAttr = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
    StringRef name = nameAttr ? nameAttr.getValue() : StringRef();
    std::optional<graph::Kind> kind = graph::argumentKind(arg);
    if (!isa<RankedTensorType>(arg.getType()) || (!name.empty() && !counted.insert(name).second))
      return;
    double PaddingShare::*held = kind == graph::Kind::Parameter ? &PaddingShare::weightBytes
                                 : kind == graph::Kind::State   ? &PaddingShare::stateBytes
                                                                : nullptr;
    double bytes = kind == graph::Kind::State ? double(graph::stateBytes(arg)) : heldBytes(arg);
    if (held)
      cost.total.*held += bytes;
    for (auto [i, part] : paddingOf(arg)) {
      if (held)
        cost.dims[i].share.*held += part * bytes;
      cost.dims[i].values.push_back(name.empty() ? "argument " + std::to_string(arg.getArgNumber())
                                                 : name.str());
    }
  }

  void addOp(Operation *op, FunctionFlops &function, std::map<size_t, double> &ofFunction) {
    if (op->getNumRegions() || !isa<CostOpInterface>(op))
      return;
    double times = double(graph::executionsOf(op));
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    double sent = collective ? times * double(bytesSent(collective, mesh)) : 0;
    double flops = times * cast<CostOpInterface>(op).getCost().flops;
    cost.total.sentBytes += sent;
    cost.total.flops += flops;
    for (Value result : op->getResults()) {
      double written = times * tensorBytes(result.getType());
      cost.total.activationBytes += written;
      for (auto [i, part] : paddingOf(result)) {
        cost.dims[i].share.activationBytes += part * written;
        add(graph::isView(op) ? seen[i] : makers[i], nameOfMaker(result));
      }
    }
    // What any side pads is computed on, and sent, whatever other values the op has; only grouped sends leave
    // it out.
    double padded = collective && collective.getStepKind() == StepKind::GroupedSend ? 0 : sent;
    std::map<size_t, double> parts;
    for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value value : values)
        for (auto [i, part] : paddingOf(value)) {
          parts[i] = part;
          add(seen[i], nameOfMaker(value));
        }
    double useful = flops;
    for (auto [i, part] : parts) {
      cost.dims[i].share.sentBytes += part * padded;
      cost.dims[i].share.flops += part * flops;
      ofFunction[i] += part * flops;
      useful *= 1 - part;
    }
    function.all += flops;
    function.padding += flops - useful;
  }

  using Names = std::vector<std::string>;
  static void add(Names &names, std::string name) {
    if (!llvm::is_contained(names, name))
      names.push_back(std::move(name));
  }
  static Value behindViews(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!graph::isView(op))
        break;
      value = op->getOperand(0);
    }
    return value;
  }
  /// The op, or what a loop hands in is called.
  static std::string nameOfMaker(Value value) {
    value = behindViews(value);
    if (Operation *op = value.getDefiningOp())
      return graph::knownAs(op).str();
    StringRef name = graph::valueName(value);
    return (name.empty() ? graph::knownAs(value.getParentBlock()->getParentOp()) : name).str();
  }

  ModuleOp module;
  const Mesh &mesh;
  const DimNames &names;
  PaddingCost cost;
  std::map<std::tuple<std::string, std::string, int64_t>, size_t> index;
  std::map<size_t, Names> makers;
  std::map<size_t, Names> seen; ///< of values that are views, or come from around the op's block
};
} // namespace

PaddingCost tessera::dist::paddingCost(ModuleOp module, const Mesh &mesh, const DimNames &names) {
  return Counter(module, mesh, names).run();
}

std::string tessera::dist::headline(const PaddedDim &dim) {
  return llvm::formatv("{0} over {1}: from {2} to {3}, {4} a rank ({5:F1} % padding)", dim.name, dim.axesText,
                       dim.size, dim.padded, dim.padded / axesSize(dim.axes),
                       100 * double(dim.padded - dim.size) / double(dim.padded));
}

std::vector<std::string> tessera::dist::shares(const PaddedDim &dim, const PaddingShare &total) {
  std::vector<std::string> texts;
  auto add = [&](double padding, double all, StringRef what) {
    if (padding > 0)
      texts.push_back(
          llvm::formatv("{0:F0} of {1:F0} {2} ({3:F1} %)", padding, all, what, 100 * padding / all));
  };
  add(dim.share.weightBytes, total.weightBytes, "weight bytes");
  add(dim.share.stateBytes, total.stateBytes, "state bytes");
  add(dim.share.activationBytes, total.activationBytes, "activation bytes written");
  add(dim.share.sentBytes, total.sentBytes, "collective bytes");
  add(dim.share.flops, total.flops, "FLOPs");
  return texts;
}

namespace {
struct ReportPaddingPass : public tessera::dist::impl::DistReportPaddingPassBase<ReportPaddingPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    MeshOp meshOp = dist::getMesh(getOperation());
    if (!meshOp)
      return;
    Mesh mesh = meshOp.getMesh().toMesh();
    DimNames names(getOperation());
    names.nameOperands(getOperation());
    PaddingCost cost = paddingCost(getOperation(), mesh, names);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (FunctionFlops flops = cost.functions[function.getName().str()]; flops.padding > 0)
        function->setAttr(
            kPaddingFlopsAttr,
            DenseI64ArrayAttr::get(&getContext(), {std::llround(flops.padding), std::llround(flops.all)}));
    if (!getContext().getRemarkEngine())
      return;
    for (const PaddedDim &dim : cost.dims) {
      std::vector<std::string> costs = shares(dim, cost.total);
      if (costs.empty())
        explain(getOperation().getLoc(), "padding",
                headline(dim) + "; of inputs only, which costs nothing more");
      else
        explainMissed(getOperation().getLoc(), "padding",
                      headline(dim) + "; of each rank's " + llvm::join(costs, ", ") + " are padding");
    }
  }
};
} // namespace
