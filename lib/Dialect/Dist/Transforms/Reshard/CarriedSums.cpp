//===- CarriedSums.cpp - Sums that stay open through loops ----------------===//
#include "Reshard/CarriedSums.h"
#include "Explain.h"

#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Support/TypeSizes.h"

#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <optional>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class LoopChooser {
public:
  LoopChooser(DataFlowOpInterface flow, const ShardingAttributes &written, ReshardCosts &costs)
      : flow(flow), written(written), costs(costs), edges(flow.getDataFlowEdges()),
        facts{[this](Value value) { return this->written.of(value); },
              [this](OpResult result) { return this->written.of(result); },
              [this](Operation *op) { return this->written.outsideNeeds(op); }} {}

  void run() {
    for (size_t e = 0; e < edges.size(); ++e)
      for (PartialKind kind : {PartialKind::Sum, PartialKind::Max})
        if (staysOpen(edges[e], kind))
          choose(e, kind);
    for (const StackEdge &stack : flow.getStackEdges())
      if (stack.collected)
        for (PartialKind kind : {PartialKind::Sum, PartialKind::Max})
          chooseReturned(stack, kind);
  }

private:
  template <typename Visit> bool allBlocks(Visit visit) {
    for (Region &region : flow->getRegions())
      for (Block &block : region)
        if (!visit(block))
          return false;
    return true;
  }

  /// What the body makes of the carried value reaches the next iteration through linear ops, and nobody else
  /// reads it.
  bool staysOpen(const DataFlowEdge &edge, PartialKind kind) {
    return allBlocks([&](Block &block) {
      llvm::SmallPtrSet<Value, 8> open;
      for (Value value : edge.values)
        if (auto arg = dyn_cast<BlockArgument>(value); arg && arg.getOwner() == &block)
          open.insert(value);
      for (Operation &op : block)
        if (!handOn(op, edge, kind, open))
          return false;
      return llvm::all_of(open, [&](Value value) {
        return llvm::all_of(value.getUsers(), [&](Operation *user) { return user->getBlock() == &block; });
      });
    });
  }

  bool handOn(Operation &op, const DataFlowEdge &edge, PartialKind kind, llvm::SmallPtrSet<Value, 8> &open) {
    SmallVector<int, 2> read;
    for (OpOperand &operand : op.getOpOperands())
      if (open.contains(operand.get()))
        read.push_back(int(operand.getOperandNumber()));
    if (read.empty())
      return true;
    if (op.hasTrait<OpTrait::IsTerminator>())
      return read.size() == 1 && llvm::is_contained(edge.values, op.getOperand(unsigned(read.front())));
    if (auto inner = dyn_cast<DataFlowOpInterface>(op)) {
      for (const StackEdge &stack : inner.getStackEdges())
        if (open.contains(stack.stack))
          return false;
      for (const DataFlowEdge &innerEdge : inner.getDataFlowEdges())
        if (llvm::any_of(innerEdge.values, [&](Value value) { return open.contains(value); }))
          for (Value value : innerEdge.values)
            if (value.getDefiningOp() == &op)
              open.insert(value);
      return true;
    }
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    if (!ruled)
      return false;
    ShardingRule rule = ruled.getShardingRule();
    for (const auto &group : kind == PartialKind::Sum ? rule.linear : rule.maxLinear)
      if (llvm::all_of(read, [&](int operand) { return llvm::is_contained(group, operand); })) {
        open.insert(op.result_begin(), op.result_end());
        return true;
      }
    return false;
  }

  /// Sums that one of `values`, which the bodies hand out, could be.
  std::vector<AxisList> sumsMade(ArrayRef<Value> values, PartialKind kind) {
    std::vector<AxisList> sums;
    allBlocks([&](Block &block) {
      for (auto &[value, sharding] : possibleSums(block, facts, costs))
        if (llvm::is_contained(values, value) && sharding.partialKind == kind && sums.size() < kMaxSums &&
            !llvm::is_contained(sums, sharding.partial))
          sums.push_back(sharding.partial);
      return true;
    });
    return sums;
  }

  void choose(size_t e, PartialKind kind) {
    Sharding before = written.ofEdges(flow)[e];
    if (!before.partial.empty())
      return;
    std::vector<AxisList> sums = sumsMade(edges[e].values, kind);
    if (sums.empty())
      return;
    Sharding best = before;
    double reduced = time(e, before, before), least = reduced;
    for (const AxisList &axes : sums) {
      Sharding open = before;
      for (DimSharding &dim : open.dims) {
        auto *first = llvm::find_if(dim.axes, [&](const AxisRef &axis) {
          return llvm::any_of(axes, [&](const AxisRef &other) { return axis.overlaps(other); });
        });
        dim.axes.erase(first, dim.axes.end());
      }
      open.partial = axes;
      open.partialKind = kind;
      if (double needed = time(e, open, before); needed < least) {
        least = needed;
        best = open;
      }
    }
    written.write(flow, edges[e], best);
    if (best.partial.empty())
      return;
    explain(flow->getLoc(), "carried",
            llvm::formatv("{0} carries value #{1} as {2} ({3:F3} us with what is around it; summed up in "
                          "each iteration {4:F3} us)",
                          flow->getName().stripDialect(), e, toString(best, costs.mesh), least * 1e6,
                          reduced * 1e6));
  }

  /// A stack that the loop returns: one reduction of all its layers in place of one in each iteration. Only
  /// over axes that do not split it, or what the loop fills would be larger than what is wanted of it.
  void chooseReturned(const StackEdge &stack, PartialKind kind) {
    Sharding closed = written.of(stack.stack), best = closed;
    if (!closed.partial.empty())
      return;
    DataFlowEdge place{{stack.stack}};
    AxisList used = closed.usedAxes();
    std::vector<AxisList> sums;
    for (AxisList &sum : sumsMade(stack.slices, kind)) {
      llvm::erase_if(sum, [&](const AxisRef &axis) {
        return llvm::any_of(used, [&](const AxisRef &other) { return axis.overlaps(other); });
      });
      if (!sum.empty() && !llvm::is_contained(sums, sum))
        sums.push_back(std::move(sum));
    }
    if (sums.empty())
      return;
    double reduced = known ? *known : bodiesTime(), least = reduced, bodies = reduced;
    for (const AxisList &axes : sums) {
      Sharding open = closed;
      open.partial = axes;
      open.partialKind = kind;
      written.write(flow, place, open);
      double inside = bodiesTime();
      if (double needed = inside + reshardTime(stack.stack, open, closed); needed < least * (1 - 1e-9)) {
        least = needed;
        bodies = inside;
        best = open;
      }
    }
    written.write(flow, place, best);
    known = bodies;
    if (!best.partial.empty())
      explain(flow->getLoc(), "carried",
              llvm::formatv("{0} returns result #{1} as {2} ({3:F3} us with its reduction; reduced in each "
                            "iteration {4:F3} us)",
                            flow->getName().stripDialect(), cast<OpResult>(stack.stack).getResultNumber(),
                            toString(best, costs.mesh), least * 1e6, reduced * 1e6));
  }

  double reshardTime(Value value, const Sharding &from, const Sharding &to) {
    auto type = cast<RankedTensorType>(value.getType());
    auto &cost = costs.reshard(type.getShape(), double(elementBytes(type)), from, to);
    return cost.possible ? cost.time : std::numeric_limits<double>::infinity();
  }

  /// Of all iterations, as it is written.
  double bodiesTime() {
    double total = 0;
    for (Region &region : flow->getRegions())
      for (Block &block : region)
        total += double(flow.getExecutions(region.getRegionNumber())) * priceBlock(block, facts, costs);
    return total;
  }

  /// Of one execution of the loop with edge `e` so, from the initial value to a result that lies as `wanted`.
  double time(size_t e, const Sharding &sharding, const Sharding &wanted) {
    written.write(flow, edges[e], sharding);
    double total = bodiesTime() + reshardTime(edges[e].values.front(), sharding, wanted);
    for (Value value : edges[e].values) // the initial value
      if (!ShardingAttributes::isPlaceOf(flow, value) && value.getParentBlock() == flow->getBlock() &&
          !isNeutral(value, sharding.partialKind))
        total += reshardTime(value, written.of(value), sharding);
    return total;
  }

  /// Neutral elements are made as a partial value.
  static bool isNeutral(Value value, PartialKind kind) {
    auto ruled = value.getDefiningOp<ShardingRuleOpInterface>();
    return kind != PartialKind::None && ruled && ruled.getShardingRule().neutral == kind;
  }

  static constexpr size_t kMaxSums = 4;
  DataFlowOpInterface flow;
  const ShardingAttributes &written;
  ReshardCosts &costs;
  SmallVector<DataFlowEdge> edges;
  BlockFacts facts;
  std::optional<double> known; ///< bodiesTime, as the loop is written after the last stack
};
} // namespace

void tessera::dist::keepCarriedSums(func::FuncOp function, const ShardingAttributes &written,
                                    ReshardCosts &costs) {
  function.walk([&](DataFlowOpInterface flow) {
    if (flow->hasAttr(kShardingsAttr) && flow->hasAttr(kBlockShardingsAttr)) // else nobody propagated
      LoopChooser(flow, written, costs).run();
  });
}
