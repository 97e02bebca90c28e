//===- SpmdTensors.cpp - Tensors of rung spmd, and why they lie so --------===//
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/CacheBytes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mlir;
using namespace tessera::dist;

namespace tessera {

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

std::string sameOnAllRanks(const MeshAxis &axis, const std::string &why, int64_t bytes,
                           llvm::ArrayRef<int64_t> shape) {
  std::string text = "every rank along " + axis.name + " holds the same: " + why;
  // Its longest dimension could be spread, in whole elements.
  const int64_t longest = shape.empty() ? 0 : *std::max_element(shape.begin(), shape.end());
  if (longest < 2)
    return text;
  const int64_t piece = (longest + axis.size - 1) / axis.size;
  return text + "; spread over it, " + std::to_string(bytes) + " bytes would be " +
         std::to_string(int64_t(std::ceil(double(bytes) * double(piece) / double(longest))));
}

/// "factor hidden"; where nobody has named it, a dimension that it stands in.
std::string SpmdFacts::factorText(ShardingRuleOpInterface op, const ShardingRule &rule, int factor) const {
  std::string name = names.factorName(op, rule, factor);
  return StringRef(name).contains("dimension ") ? name : "factor " + name;
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
  if (auto manual = op->getParentOfType<ManualComputationOp>()) // every rank has its own
    llvm::append_range(used, manual.getManualAxes(meshOfModule));
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
    reasons.push_back(sameOnAllRanks(axis, why, arrayBytes(value.getType()),
                                     globalShape(cast<RankedTensorType>(value.getType()))));
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
