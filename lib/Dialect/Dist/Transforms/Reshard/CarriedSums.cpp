//===- CarriedSums.cpp - Sums that stay open through loops ----------------===//
#include "Reshard/CarriedSums.h"
#include "Explain.h"
#include "Loops.h"
#include "Reshard/LoopPrices.h"

#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/TypeSizes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class LoopChooser {
public:
  LoopChooser(DataFlowOpInterface flow, const ShardingAttributes &written, ReshardCosts &costs,
              LoopPrices &prices)
      : flow(flow), written(written), costs(costs), prices(prices), edges(flow.getDataFlowEdges()),
        pins(edges.size()) {}

  void run() {
    for (PartialKind kind : {PartialKind::Sum, PartialKind::Max}) {
      SmallVector<size_t> mayOpen;
      for (size_t e = 0; e < edges.size(); ++e)
        if (staysOpen(e, kind))
          mayOpen.push_back(e);
      openTogether(mayOpen, kind);
      for (size_t e : mayOpen)
        choose(e, kind);
    }
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
  bool staysOpen(size_t e, PartialKind kind) {
    pins[e].clear();
    const DataFlowEdge &edge = edges[e];
    return allBlocks([&](Block &block) {
      llvm::SmallPtrSet<Value, 8> open;
      for (Value value : edge.places)
        if (auto arg = dyn_cast<BlockArgument>(value); arg && arg.getOwner() == &block)
          open.insert(value);
      for (Operation &op : block)
        if (!handOn(op, e, kind, open))
          return false;
      return llvm::all_of(open, [&](Value value) {
        return llvm::all_of(value.getUsers(), [&](Operation *user) { return user->getBlock() == &block; });
      });
    });
  }

  bool handOn(Operation &op, size_t e, PartialKind kind, llvm::SmallPtrSet<Value, 8> &open) {
    SmallVector<int, 2> read;
    for (OpOperand &operand : op.getOpOperands())
      if (open.contains(operand.get()))
        read.push_back(int(operand.getOperandNumber()));
    if (read.empty())
      return true;
    if (op.hasTrait<OpTrait::IsTerminator>())
      return read.size() == 1 && read.front() == int(e);
    if (auto inner = dyn_cast<DataFlowOpInterface>(op)) {
      for (const StackEdge &stack : inner.getStackEdges())
        if (open.contains(stack.stack))
          return false;
      for (const DataFlowEdge &innerEdge : inner.getDataFlowEdges())
        if (llvm::any_of(innerEdge.values, [&](Value value) { return open.contains(value); }))
          for (Value place : innerEdge.places)
            if (isa<OpResult>(place))
              open.insert(place);
      return true;
    }
    // A pin says over which axes dimensions lie; a sum over others may stay open. One without axes asks for
    // the whole.
    if (auto pin = dyn_cast<ConstraintOp>(op)) {
      Sharding asked = written.of(cast<OpResult>(pin.getResult()));
      if (asked.usedAxes().empty())
        return false;
      pins[e].push_back({pin, std::move(asked)});
      open.insert(pin.getResult());
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

  /// Sums that one of `values`, which the bodies of `loop` hand out, could be.
  std::vector<AxisList> sumsMade(Operation *loop, ArrayRef<Value> values, PartialKind kind) {
    auto [it, unknown] = made.try_emplace(loop);
    if (unknown)
      for (Region &region : loop->getRegions())
        for (Block &block : region)
          llvm::append_range(it->second, possibleSums(block, prices.allFacts(), costs));
    std::vector<AxisList> sums;
    for (auto &[value, sharding] : it->second)
      if (llvm::is_contained(values, value) && sharding.partialKind == kind && sums.size() < kMaxSums &&
          !llvm::is_contained(sums, sharding.partial))
        sums.push_back(sharding.partial);
    return sums;
  }

  static bool overlapsAny(const AxisRef &axis, ArrayRef<AxisRef> others) {
    return llvm::any_of(others, [&](const AxisRef &other) { return axis.overlaps(other); });
  }

  /// `axes` without those that a pin of edge `e` has put on a dimension.
  AxisList withoutPinned(size_t e, AxisList axes) const {
    for (auto &[pin, sharding] : pins[e]) {
      AxisList used = sharding.usedAxes();
      llvm::erase_if(axes, [&](const AxisRef &axis) { return overlapsAny(axis, used); });
    }
    return axes;
  }

  /// `sharding` as a sum over `axes` (they split it no longer, nor does what is minor) and over its own.
  static Sharding opened(Sharding sharding, const AxisList &axes, PartialKind kind) {
    for (DimSharding &dim : sharding.dims)
      dim.axes.erase(llvm::find_if(dim.axes, [&](const AxisRef &axis) { return overlapsAny(axis, axes); }),
                     dim.axes.end());
    AxisList partial = axes;
    for (const AxisRef &axis : sharding.partial)
      if (!overlapsAny(axis, axes))
        partial.push_back(axis);
    llvm::sort(partial); // in the mesh's order, as those that ops make
    mergeAdjacent(partial);
    sharding.partial = std::move(partial);
    sharding.partialKind = kind;
    return sharding;
  }

  /// Writes edge `e`, and at its pins the sum that it is.
  void write(size_t e, const Sharding &sharding) {
    written.write(flow, edges[e].places, sharding);
    for (auto &[pin, closed] : pins[e]) {
      Sharding open = closed;
      open.partial = sharding.partial;
      open.partialKind = sharding.partialKind;
      written.write(pin, open);
    }
  }

  //===--- Values that open together ----------------------------------------===//

  /// A stack that a loop in a body returns, on its way into what is carried.
  struct Feeder {
    DataFlowOpInterface loop;
    StackEdge stack;
    Sharding closed;
  };

  /// Stacks, not open in the other way, that reach `value` through ops that are linear in all that they read.
  void findFeeders(Value value, PartialKind kind, std::vector<Feeder> &found) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getParentOp() != flow.getOperation())
      return;
    if (auto loop = dyn_cast<DataFlowOpInterface>(op)) {
      if (loop->hasAttr(kShardingsAttr) && loop->hasAttr(kBlockShardingsAttr))
        for (const StackEdge &stack : loop.getStackEdges())
          if (Sharding closed = written.of(value); stack.collected && stack.stack == value &&
                                                   (closed.partial.empty() || closed.partialKind == kind))
            found.push_back({loop, stack, std::move(closed)});
      return;
    }
    if (auto pin = dyn_cast<ConstraintOp>(op))
      return findFeeders(pin.getInput(), kind, found);
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    if (!ruled)
      return;
    ShardingRule rule = ruled.getShardingRule();
    for (const auto &group : kind == PartialKind::Sum ? rule.linear : rule.maxLinear)
      if (group.size() == op->getNumOperands()) {
        for (Value operand : op->getOperands())
          findFeeders(operand, kind, found);
        return;
      }
  }

  /// Gradients that a micro-batch adds to are stacks that its loop over layers returns. Apart, neither loop
  /// gains by leaving them open: the stack would be reduced behind the inner loop in place of in it, and what
  /// the outer one carries would be a sum of sums that are reduced already. And what one of them is decides
  /// how the ops run that make the others. So all that may be a sum over the same axes opens at once, with
  /// the stacks that flow into it, if that takes less time than what is written.
  void openTogether(ArrayRef<size_t> mayOpen, PartialKind kind) {
    struct Member {
      size_t e;
      Sharding closed;
      std::vector<Feeder> feeders;
      std::vector<AxisList> sums;
    };
    std::vector<Member> members;
    std::vector<AxisList> candidates;
    bool feeds = false;
    for (size_t e : mayOpen) {
      Member member{e, written.ofEdges(flow)[e], {}, sumsMade(flow, edges[e].values, kind)};
      if (!member.closed.partial.empty())
        continue;
      for (Value value : edges[e].values)
        findFeeders(value, kind, member.feeders);
      for (const Feeder &feeder : member.feeders)
        llvm::append_range(member.sums, sumsMade(feeder.loop, feeder.stack.slices, kind));
      for (AxisList &sum : member.sums)
        if ((sum = withoutPinned(e, std::move(sum))); !sum.empty() && !llvm::is_contained(candidates, sum))
          candidates.push_back(sum);
      feeds |= !member.feeders.empty();
      members.push_back(std::move(member));
    }
    if (!feeds || candidates.empty())
      return;
    // The places of a value as the sum over `axes` says; null: as they were.
    auto writeOne = [&](const Member &member, const AxisList *axes) {
      AxisList open = axes && llvm::is_contained(member.sums, *axes) ? *axes : AxisList();
      write(member.e, open.empty() ? member.closed : opened(member.closed, open, kind));
      for (const Feeder &feeder : member.feeders)
        written.write(feeder.loop, {feeder.stack.stack},
                      open.empty() ? feeder.closed : opened(feeder.closed, open, kind));
    };
    auto writeAll = [&](const AxisList *axes) {
      for (const Member &member : members)
        writeOne(member, axes);
    };
    // The loop, and those that return stacks; each with how often it runs in one run of the other.
    SmallVector<LoopPrices::LoopTimes, 4> loops = {{flow, 1}};
    for (const Member &member : members)
      for (const Feeder &feeder : member.feeders)
        if (llvm::none_of(loops, [&](const auto &known) { return known.first == feeder.loop; }))
          loops.push_back(
              {feeder.loop, double(flow.getExecutions(feeder.loop->getParentRegion()->getRegionNumber()))});
    auto allEndsTime = [&] {
      std::vector<Sharding> now = written.ofEdges(flow);
      double total = 0;
      for (const Member &member : members)
        total += endsTime(member.e, now[member.e], member.closed);
      return total;
    };
    // With what happens in the loops that return stacks, or without.
    auto loopsOf = [&](bool inside) { return ArrayRef(loops).take_front(inside ? loops.size() : 1); };
    auto priceAll = [&](bool inside) {
      BlockPrice total = {allEndsTime(), 0};
      total.sent = total.time;
      for (auto [loop, times] : loopsOf(inside)) {
        BlockPrice price = prices.price(loop);
        total.time += times * price.time;
        total.sent += times * price.sent;
      }
      return total;
    };
    auto mayBeLess = [&](double most, bool inside) {
      return prices.mayBeLess(loopsOf(inside), allEndsTime(), most);
    };
    const double closed = priceAll(/*inside=*/true).time;
    const AxisList *best = nullptr;
    double least = closed;
    for (const AxisList &axes : candidates) {
      writeAll(&axes);
      const double most = least * (1 - 1e-9);
      if (!mayBeLess(most, /*inside=*/true))
        continue;
      if (double needed = priceAll(/*inside=*/true).time; needed < most) {
        least = needed;
        best = &axes;
      }
    }
    writeAll(best);
    if (!best)
      return;
    // What is made in the bodies themselves may be better closed (rows of an embedding, of few tokens): if
    // less is sent, too.
    BlockPrice outside = priceAll(/*inside=*/false);
    for (const Member &member : members) {
      if (!member.feeders.empty() || !llvm::is_contained(member.sums, *best))
        continue;
      writeOne(member, nullptr);
      const double most = outside.time * (1 - 1e-9);
      BlockPrice needed = outside;
      if (mayBeLess(most, /*inside=*/false))
        needed = priceAll(/*inside=*/false);
      if (needed.time < most && needed.sent < outside.sent * (1 - 1e-9)) {
        least -= outside.time - needed.time;
        outside = needed;
      } else {
        writeOne(member, best);
      }
    }
    for (const Member &member : members)
      if (!written.ofEdges(flow)[member.e].partial.empty())
        explain(flow->getLoc(), "carried",
                llvm::formatv("{0} carries value #{1} as {2}, with the others over the same axes and the "
                              "stacks that flow into them ({3:F3} us with what is around it; summed up in "
                              "each iteration {4:F3} us)",
                              flow->getName().stripDialect(), member.e,
                              toString(written.ofEdges(flow)[member.e], costs.mesh), least * 1e6,
                              closed * 1e6));
  }

  //===--- One value --------------------------------------------------------===//

  void choose(size_t e, PartialKind kind) {
    Sharding before = written.ofEdges(flow)[e];
    if (!before.partial.empty())
      return;
    std::vector<AxisList> sums;
    for (AxisList &sum : sumsMade(flow, edges[e].values, kind))
      if ((sum = withoutPinned(e, std::move(sum))); !sum.empty() && !llvm::is_contained(sums, sum))
        sums.push_back(std::move(sum));
    if (sums.empty())
      return;
    Sharding best = before;
    const double closed = endsTime(e, before, before), reduced = prices.price(flow).time + closed;
    double least = reduced;
    for (const AxisList &axes : sums) {
      Sharding open = opened(before, axes, kind);
      // An inner loop may carry it open as it is, and the body then opens it on the way in.
      double way = allExecutions() * reshardTime(edges[e].values.front(), before, open);
      double outside = endsTime(e, open, before) - closed - way;
      if (!isWorthALook(edges[e].values.front(), open, before, outside, least))
        continue;
      write(e, open);
      if (double needed = priceIfBelow(endsTime(e, open, before), least); needed < least) {
        least = needed;
        best = open;
      }
    }
    write(e, best);
    if (best.partial.empty())
      return;
    explain(flow->getLoc(), "carried",
            llvm::formatv("{0} carries value #{1} as {2} ({3:F3} us with what is around it; summed up in "
                          "each iteration {4:F3} us)",
                          flow->getName().stripDialect(), e, toString(best, costs.mesh), least * 1e6,
                          reduced * 1e6));
  }

  /// It goes to another stage of a pipeline, slice by slice: there is no place for what is done to all of
  /// them.
  static bool isSent(Value stack) {
    return llvm::any_of(stack.getUses(), [](OpOperand &use) {
      auto function = dyn_cast<func::FuncOp>(use.getOwner()->getParentOp());
      if (!function || !use.getOwner()->hasTrait<OpTrait::ReturnLike>())
        return false;
      auto gives = function.getResultAttrOfType<graph::GivesAttr>(use.getOperandNumber(), graph::kGivesAttr);
      return gives &&
             (gives.getValue() == graph::Gives::Sent || gives.getValue() == graph::Gives::SentGradient);
    });
  }

  /// A stack that the loop returns: one reduction of all its layers in place of one in each iteration. Only
  /// over axes that do not split it, or what the loop fills would be larger than what is wanted of it.
  void chooseReturned(const StackEdge &stack, PartialKind kind) {
    Sharding closed = written.of(stack.stack), best = closed;
    if (!closed.partial.empty() || isSent(stack.stack))
      return;
    AxisList used = closed.usedAxes();
    std::vector<AxisList> sums;
    for (AxisList &sum : sumsMade(flow, stack.slices, kind)) {
      llvm::erase_if(sum, [&](const AxisRef &axis) { return overlapsAny(axis, used); });
      if (!sum.empty() && !llvm::is_contained(sums, sum))
        sums.push_back(std::move(sum));
    }
    if (sums.empty())
      return;
    const double reduced = prices.price(flow).time;
    double least = reduced;
    for (const AxisList &axes : sums) {
      Sharding open = closed;
      open.partial = axes;
      open.partialKind = kind;
      auto ofLayer = [](Sharding stack) {
        stack.dims.erase(stack.dims.begin());
        return stack;
      };
      if (!isWorthALook(stack.slices.front(), ofLayer(open), ofLayer(closed),
                        reductionTime(stack.stack, open, closed), least))
        continue;
      written.write(flow, {stack.stack}, open);
      const double most = least * (1 - 1e-9);
      if (double needed = priceIfBelow(reductionTime(stack.stack, open, closed), most); needed < most) {
        least = needed;
        best = open;
      }
    }
    written.write(flow, {stack.stack}, best);
    if (!best.partial.empty())
      explain(flow->getLoc(), "carried",
              llvm::formatv("{0} returns result #{1} as {2} ({3:F3} us with its reduction; reduced in each "
                            "iteration {4:F3} us)",
                            flow->getName().stripDialect(), cast<OpResult>(stack.stack).getResultNumber(),
                            toString(best, costs.mesh), least * 1e6, reduced * 1e6));
  }

  /// What a result of the loop takes to be summed up: as its only reader gives it, if that hands sums on and
  /// makes them smaller (a sum in float32 that is rounded).
  double reductionTime(Value value, const Sharding &from, const Sharding &to) {
    Operation *reader = value.hasOneUse() ? *value.user_begin() : nullptr;
    auto ruled = dyn_cast_or_null<ShardingRuleOpInterface>(reader);
    if (ruled && reader->getNumOperands() == 1 && reader->getNumResults() == 1 &&
        !ruled.getShardingRule().linear.empty()) {
      auto has = cast<RankedTensorType>(value.getType()),
           gives = cast<RankedTensorType>(reader->getResult(0).getType());
      if (has.getShape() == gives.getShape() && elementBytes(gives) < elementBytes(has))
        value = reader->getResult(0);
    }
    return reshardTime(value, from, to);
  }

  double reshardTime(Value value, const Sharding &from, const Sharding &to) {
    auto type = cast<RankedTensorType>(value.getType());
    auto &cost = costs.reshard(type.getShape(), double(elementBytes(type)), from, to);
    return cost.possible ? cost.time : std::numeric_limits<double>::infinity();
  }

  /// Bodies that leave `value` open could just as well sum it up at their ends: that is the most that can be
  /// saved in them for the time that is then spent `outside`. Whether it is no mere nothing of all, `least`.
  bool isWorthALook(Value value, const Sharding &open, const Sharding &closed, double outside, double least) {
    return !std::isfinite(least) ||
           allExecutions() * reshardTime(value, open, closed) - outside > kNotWorthASearch * least;
  }

  double allExecutions() {
    double times = 0;
    for (Region &region : flow->getRegions())
      times += double(flow.getExecutions(region.getRegionNumber()));
    return times;
  }

  /// Of all iterations, as it is written, and `outside`; infinite where a first look shows no less than
  /// `below`.
  double priceIfBelow(double outside, double below) {
    return std::isfinite(prices.timeBelow(flow, below - outside)) ? prices.price(flow).time + outside
                                                                  : std::numeric_limits<double>::infinity();
  }

  /// What edge `e` takes before the loop, as `sharding`, and behind it, where it shall lie as `wanted`.
  double endsTime(size_t e, const Sharding &sharding, const Sharding &wanted) {
    Value result = edges[e].values.front();
    for (Value value : edges[e].values)
      if (value.getDefiningOp() == flow.getOperation())
        result = value;
    double total = reductionTime(result, sharding, wanted);
    for (Value value : edges[e].values) // the initial value
      if (llvm::is_contained(flow->getOperands(), value) && !isNeutral(value, sharding.partialKind))
        total += reshardTime(value, written.of(value), sharding);
    return total;
  }

  /// Neutral elements are made as a partial value.
  static bool isNeutral(Value value, PartialKind kind) {
    auto ruled = value.getDefiningOp<ShardingRuleOpInterface>();
    return kind != PartialKind::None && ruled && ruled.getShardingRule().neutral == kind;
  }

  static constexpr size_t kMaxSums = 4;
  /// What is worth no search, of all time.
  static constexpr double kNotWorthASearch = 1e-5;
  DataFlowOpInterface flow;
  const ShardingAttributes &written;
  ReshardCosts &costs;
  LoopPrices &prices;
  SmallVector<DataFlowEdge> edges;
  /// Of each edge: annotations on the way of what it carries, and what they say.
  std::vector<std::vector<std::pair<ConstraintOp, Sharding>>> pins;
  DenseMap<Operation *, std::vector<std::pair<Value, Sharding>>> made; ///< sums that bodies of loops could
};
} // namespace

void tessera::dist::keepCarriedSums(func::FuncOp function, const ShardingAttributes &written,
                                    RegionCosts &costs) {
  LoopPrices prices(written, costs);
  function.walk([&](DataFlowOpInterface flow) {
    if (isLoop(flow) && flow->hasAttr(kShardingsAttr) &&
        flow->hasAttr(kBlockShardingsAttr)) // else nobody propagated
      LoopChooser(flow, written, costs.in(*flow->getBlock()), prices).run();
  });
}
