//===- LoopLayouts.cpp - How what loops carry and hand on lies ------------===//
#include "Reshard/LoopLayouts.h"
#include "Explain.h"
#include "Loops.h"
#include "Reshard/HandedOn.h"

#include "tessera/Support/TypeSizes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
class LoopLayouts {
public:
  LoopLayouts(DataFlowOpInterface maker, const ShardingAttributes &written, ReshardCosts &costs)
      : maker(maker), loops({{maker}}), written(written), costs(costs) {}

  void run() {
    findStacks();
    for (const PricedLoop &loop : loops)
      findCarried(loop.loop);
    search();
    const std::vector<Sharding> found = layouts();
    tryMovedAxes();
    const bool isOther = layouts() != found;
    if (!isAnyCarriedMoved() || isLessAsPlaced())
      return explainAll();
    if (isOther) // it may be less without
      writeAll(found);
    if (isAnyCarriedMoved() && isLessAsPlaced())
      return explainAll();
    // What bodies do with hints alone is not what they do in the end: stacks alone, then.
    carried.clear();
    search();
    explainAll();
  }

private:
  /// A loop as it is written.
  struct PricedLoop {
    DataFlowOpInterface loop;
    double time = 0;      ///< of all iterations
    double free = 0;      ///< about the least: if nothing that is handed on cost anything
    bool touched = false; ///< written otherwise since it was priced
  };

  static constexpr double kLittle = 0.01;
  static constexpr size_t kMostOthers = 4, kMostMoved = 6;

  /// From what is written, to what takes least.
  void search() {
    if (stacks.empty() && carried.empty())
      return;
    before = least = priceAll();
    if (!std::isfinite(before))
      return;
    // Below that nothing leads.
    bound = freely() * (1 + kLittle);
    // Loops run in one way or another as a whole: first all as they are made, or as they are read; then all
    // of one shape alike.
    for (bool made : {true, false})
      tryAll([&](const HandedOn &value) -> const Sharding * {
        return value.others.empty() ? nullptr : made ? &value.others.front() : &value.others.back();
      });
    Layouts alike;
    forEach([&](const HandedOn &value) {
      for (const Sharding &other : value.others)
        addNew(alike, value, other);
    });
    for (const auto &[shape, sharding] : alike)
      tryAll([&, &shape = shape, &sharding = sharding](const HandedOn &value) {
        auto isNoMore = [&] { return elementsOf(shape, sharding) <= elementsOf(shape, value.first); };
        return value.shape == shape && isNoMore() ? &sharding : nullptr;
      });
    for (Stack &stack : stacks)
      tryOne(stack);
    for (Carried &value : carried)
      tryOne(value);
  }

  /// What loops carry, all of one shape alike, with one axis on another dimension: no body that is free to
  /// has it so, but pieces of the one may be gathered for less than pieces of the other. Only where few can
  /// move.
  void tryMovedAxes() {
    for (const auto &[shape, lies] : unaskedLayouts(carried))
      if (const std::vector<Sharding> moved = withOneMoved(shape, lies); moved.size() <= kMostMoved)
        for (const Sharding &other : moved)
          tryAll([&, &shape = shape, &lies = lies](const HandedOn &value) {
            const bool isOne =
                llvm::any_of(carried, [&](const Carried &one) { return &one == &value && !one.isWished(); });
            return isOne && value.shape == shape && value.now.samePlacement(lies) ? &other : nullptr;
          });
  }

  bool isAnyCarriedMoved() const { return llvm::any_of(carried, std::mem_fn(&Carried::isChanged)); }

  /// Of all values that are handed on.
  std::vector<Sharding> layouts(Sharding HandedOn::*which = &HandedOn::now) {
    std::vector<Sharding> result;
    forEach([&](const HandedOn &value) { result.push_back(value.*which); });
    return result;
  }

  template <typename Visit> void forEach(Visit visit) {
    for (Stack &stack : stacks)
      visit(stack);
    for (Carried &value : carried)
      visit(value);
  }

  void explainAll() const {
    auto say = [&](DataFlowOpInterface loop, StringRef kind, std::string what, const Sharding &now,
                   const Sharding &first) {
      explain(loop->getLoc(), kind,
              llvm::formatv("{0} {1} as {2}, not {3}: with the loops that read it {4:F3} us, not {5:F3} us",
                            loop->getName().stripDialect(), what, toString(now, costs.mesh),
                            toString(first, costs.mesh), least * 1e6, before * 1e6));
    };
    auto ofAll = [](Sharding layer) {
      layer.dims.insert(layer.dims.begin(), DimSharding());
      return layer;
    };
    for (const Stack &stack : stacks)
      if (stack.isChanged())
        say(maker, "stack",
            llvm::formatv("returns result #{0}", cast<OpResult>(stack.made.stack).getResultNumber()),
            ofAll(stack.now), ofAll(stack.first));
    for (const Carried &value : carried)
      if (value.isChanged())
        say(value.loop, "carried", llvm::formatv("carries value #{0}", value.number), value.now, value.first);
  }

  void findStacks() {
    for (const StackEdge &edge : maker.getStackEdges()) {
      if (!edge.collected)
        continue;
      Sharding now = written.of(edge.stack);
      bool isOnlyRead = !edge.stack.use_empty() && now.partial.empty();
      now.dims.erase(now.dims.begin());
      auto shape = cast<RankedTensorType>(edge.stack.getType()).getShape().drop_front();
      Stack stack{{llvm::to_vector(shape), now, now}, edge};
      for (Operation *user : edge.stack.getUsers()) {
        auto reader = dyn_cast<DataFlowOpInterface>(user);
        isOnlyRead &= reader && user->getBlock() == maker->getBlock() && user->hasAttr(kBlockShardingsAttr);
        if (!isOnlyRead)
          break;
        int reads = 0;
        for (const StackEdge &read : reader.getStackEdges())
          if (!read.collected && read.stack == edge.stack) {
            stack.reads.push_back({reader, read});
            ++reads;
          }
        isOnlyRead &= reads == llvm::count(user->getOperands(), edge.stack);
      }
      if (!isOnlyRead)
        continue;
      for (auto &[reader, read] : stack.reads)
        if (!find(reader))
          loops.push_back({reader});
      stacks.push_back(std::move(stack));
    }
  }

  /// Sums are another matter (keepCarriedSums).
  void findCarried(DataFlowOpInterface loop) {
    if (!isLoop(loop))
      return;
    std::vector<Sharding> shardings = written.ofEdges(loop);
    for (auto [i, edge] : llvm::enumerate(loop.getDataFlowEdges())) {
      auto type = cast<RankedTensorType>(edge.values.front().getType());
      if (type.getRank() > 0 && shardings[i].partial.empty())
        carried.push_back({{llvm::to_vector(type.getShape()), shardings[i], shardings[i]}, loop, edge, i});
    }
  }

  //===--- Prices -----------------------------------------------------------===//

  BlockFacts facts() const {
    return {[this](Value value) { return written.of(value); },
            [this](OpResult result) { return written.of(result); },
            [this](Operation *op) { return written.outsideNeeds(op); }};
  }

  /// Of all iterations of `loop`; of no use from `below` seconds on, and then infinite.
  BlockPrice priceOf(DataFlowOpInterface loop, const BlockFacts &facts, BlockDecisions &decided,
                     bool widen = false, double below = std::numeric_limits<double>::infinity()) const {
    BlockPrice total;
    for (Region &region : loop->getRegions())
      for (Block &block : region) {
        if (!(total.time < below))
          return {std::numeric_limits<double>::infinity(), 0};
        const double times = double(loop.getExecutions(region.getRegionNumber()));
        BlockPrice price = priceBlock(block, facts, costs, widen, &decided, (below - total.time) / times);
        total.time += times * price.time;
        total.sent += times * price.sent;
      }
    return total;
  }

  /// The time of all loops, each of which is priced as it is written.
  double priceAll() {
    decisions.clear();
    double total = allEndsTime();
    for (PricedLoop &loop : loops) {
      total += loop.time = priceOf(loop.loop, facts(), decisions).time;
      loop.touched = false;
    }
    return total;
  }

  double allEndsTime() const {
    double total = 0;
    for (const Carried &value : carried)
      total += endsTime(value);
    return total;
  }

  /// At most: on the way into the loop, from where it is written to lie before, and out of it.
  double endsTime(const Carried &value) const {
    double total = 0;
    auto add = [&](Value moved, const Sharding &from, const Sharding &to) {
      auto type = cast<RankedTensorType>(moved.getType());
      auto &cost = costs.reshard(type.getShape(), double(elementBytes(type)), from, to);
      total += cost.possible ? cost.time : std::numeric_limits<double>::infinity();
    };
    Operation *loop = value.loop;
    for (Value end : value.edge.values)
      if (llvm::is_contained(loop->getOperands(), end))
        add(end, written.of(end), value.now);
      else if (end.getDefiningOp() == loop && !end.use_empty())
        add(end, value.now, value.first);
    return total;
  }

  /// What the loops take if nothing that is handed on costs anything: bodies leave it as they have it, and
  /// are given whole values, of which anything is a slice. How the values lie then is what is worth a try.
  double freely() {
    BlockFacts free = facts();
    free.needs = [this](Operation *op) {
      auto needs = written.outsideNeeds(op);
      if (!needs || !op->hasTrait<OpTrait::IsTerminator>())
        return needs;
      for (const Stack &stack : stacks)
        for (Value slice : stack.made.slices)
          if (op->getParentOp() == maker && llvm::is_contained(op->getOperands(), slice))
            drop(llvm::reverse(*needs), slice, *needs);
      for (const Carried &value : carried)
        for (Value yielded : value.edge.values)
          if (!llvm::is_contained(value.edge.places, yielded) && op->getParentOp() == value.loop &&
              llvm::is_contained(op->getOperands(), yielded))
            drop(*needs, yielded, *needs);
      return needs;
    };
    free.known = [this](Value value) {
      bool isGiven = llvm::any_of(stacks,
                                  [&](const Stack &stack) {
                                    return llvm::any_of(stack.reads, [&](const auto &read) {
                                      return llvm::is_contained(read.second.slices, value);
                                    });
                                  }) ||
                     llvm::any_of(carried, [&](const Carried &one) {
                       return isa<BlockArgument>(value) && llvm::is_contained(one.edge.places, value);
                     });
      return isGiven ? Sharding(cast<RankedTensorType>(value.getType()).getRank()) : written.of(value);
    };
    BlockDecisions decided;
    double total = 0;
    for (PricedLoop &loop : loops) {
      const double time = priceOf(loop.loop, free, decided).time;
      total += time;
      loop.free = time * (1 - kLittle); // other facts, other options
    }
    for (Stack &stack : stacks) {
      offer(stack, madeAs(stack.made.slices.front(), decided));
      for (OpOperand &use : stack.reads.front().second.slices.front().getUses())
        offerRead(stack, use, decided);
    }
    for (Carried &value : carried)
      for (Value end : value.edge.values) {
        const bool isPlace = llvm::is_contained(value.edge.places, end);
        if (!isPlace && isa<OpResult>(end) && end.getParentBlock() != value.loop->getBlock())
          offer(value, madeAs(end, decided));
        if (isPlace && isa<BlockArgument>(end))
          for (OpOperand &use : end.getUses())
            offerRead(value, use, decided);
      }
    return total;
  }

  template <typename Range> static void drop(Range &&inOrder, Value value, ValueNeeds &needs) {
    for (auto &need : inOrder)
      if (need.first == value) {
        needs.erase(needs.begin() + (&need - needs.data()));
        return;
      }
  }

  Sharding madeAs(Value value, const BlockDecisions &by) const {
    auto result = dyn_cast<OpResult>(value);
    auto op = result ? by.find(result.getOwner()) : by.end();
    return op == by.end() ? written.of(value) : op->second.results[result.getResultNumber()];
  }

  void offerRead(HandedOn &value, OpOperand &use, const BlockDecisions &by) const {
    if (auto reader = by.find(use.getOwner()); reader != by.end())
      offer(value, reader->second.operands[use.getOperandNumber()]);
  }

  /// If a rank holds no more of it than now.
  static void offer(HandedOn &value, const Sharding &as) {
    Sharding other(int64_t(as.dims.size())); // not a sum
    for (auto [dim, of] : llvm::zip(other.dims, as.dims))
      dim.axes = of.axes;
    auto isKnown = [&](const Sharding &known) { return known.samePlacement(other); };
    if (!isKnown(value.now) && elementsOf(value.shape, other) <= elementsOf(value.shape, value.now) &&
        value.others.size() < kMostOthers && llvm::none_of(value.others, isKnown))
      value.others.push_back(other);
  }

  //===--- Changes ----------------------------------------------------------===//

  PricedLoop *find(DataFlowOpInterface loop) {
    auto it = llvm::find_if(loops, [&](const PricedLoop &priced) { return priced.loop == loop; });
    return it == loops.end() ? nullptr : it;
  }
  void touch(DataFlowOpInterface loop) { find(loop)->touched = true; }

  /// At the stack, and at the slices that bodies read.
  void write(Stack &stack, const Sharding &layer) {
    Sharding whole = written.of(stack.made.stack);
    whole.dims.resize(1);
    whole.dims.append(layer.dims.begin(), layer.dims.end());
    written.write(maker, {stack.made.stack}, whole);
    touch(maker);
    for (auto &[reader, read] : stack.reads) {
      written.write(reader, read.slices, layer);
      touch(reader);
    }
    stack.now = layer;
  }
  void write(Carried &value, const Sharding &sharding) {
    written.write(value.loop, value.edge.places, sharding);
    touch(value.loop);
    for (Value end : value.edge.values) // bodies may read results of loops before them
      for (Operation *user : end.getUsers())
        for (PricedLoop &loop : loops)
          loop.touched |= loop.loop->isProperAncestor(user);
    value.now = sharding;
  }

  /// Whether one of `made` is made, or one of `read` read, in another way than `lies`, as the loops were
  /// priced last.
  bool isMoved(ValueRange made, ValueRange read, const Sharding &lies) const {
    auto isOther = [&](const Sharding &sharding) { return !sharding.samePlacement(lies); };
    if (llvm::any_of(made, [&](Value value) { return isOther(madeAs(value, decisions)); }))
      return true;
    for (Value value : read)
      for (OpOperand &use : value.getUses())
        if (auto reader = decisions.find(use.getOwner());
            reader != decisions.end() && isOther(reader->second.operands[use.getOperandNumber()]))
          return true;
    return false;
  }
  bool isMoved(const Stack &stack) const {
    return llvm::any_of(stack.reads, [&](const auto &read) {
      return isMoved(stack.made.slices, read.second.slices, stack.now);
    });
  }
  bool isMoved(const Carried &value) const {
    SmallVector<Value> made, read;
    for (Value end : value.edge.values)
      if (end.getParentBlock() != value.loop->getBlock()) // inside of the loop
        (llvm::is_contained(value.edge.places, end) ? read : made).push_back(end);
    return isMoved(made, read, value.now);
  }

  /// Keeps what `change` writes if the loops then take less than `least`, which becomes less.
  void keepIfLess(llvm::function_ref<void()> change) {
    const std::vector<Sharding> was = layouts();
    change();
    if (!isLess())
      writeAll(was);
    for (PricedLoop &loop : loops)
      loop.touched = false;
  }

  /// Prices the loops that are written otherwise, one by one, for as long as all of them may still take less
  /// than `least`.
  bool isLess() {
    double total = allEndsTime();
    for (const PricedLoop &loop : loops)
      total += loop.touched ? loop.free : loop.time;
    const double most = least * (1 - 1e-9);
    BlockDecisions decided;
    SmallVector<double, 4> times;
    for (const PricedLoop &loop : loops) {
      times.push_back(loop.time);
      if (!loop.touched)
        continue;
      if (total >= most)
        return false;
      total -= loop.free;
      total += times.back() = priceOf(loop.loop, facts(), decided, /*widen=*/false, most - total).time;
    }
    if (!(total < most))
      return false;
    least = total;
    for (auto [loop, time] : llvm::zip(loops, times))
      loop.time = time;
    for (auto &[op, decision] : decided)
      decisions[op] = std::move(decision);
    return true;
  }

  void writeAll(ArrayRef<Sharding> shardings) {
    size_t next = 0;
    auto writeOne = [&](auto &value) {
      if (const Sharding &sharding = shardings[next++]; !value.now.samePlacement(sharding))
        write(value, sharding);
    };
    for (Stack &stack : stacks)
      writeOne(stack);
    for (Carried &value : carried)
      writeOne(value);
  }

  /// All that `as` gives another layout.
  template <typename As> void tryAll(As as) {
    std::vector<Sharding> to;
    bool isOther = false;
    forEach([&](const HandedOn &value) {
      const Sharding *other = as(value);
      to.push_back(other ? *other : value.now);
      isOther |= !to.back().samePlacement(value.now);
    });
    if (isOther && least > bound)
      keepIfLess([&] { writeAll(to); });
  }

  template <typename Value> void tryOne(Value &value) {
    for (const Sharding &other : value.others)
      if (least > bound && !value.now.samePlacement(other) && isMoved(value))
        keepIfLess([&] { write(value, other); });
  }

  /// Whether the bodies also take less where they are offered more than hints, as when they are placed; and
  /// send a hundredth less. If not, all lies as at first.
  bool isLessAsPlaced() {
    const std::vector<Sharding> chosen = layouts();
    const std::vector<Sharding> first = layouts(&HandedOn::first);
    SmallVector<BlockPrice, 4> prices(loops.size());
    auto priceWidely = [&](bool all) {
      const double ends = allEndsTime();
      BlockPrice total = {ends, ends};
      for (auto [loop, price] : llvm::zip(loops, prices)) {
        BlockDecisions decided;
        if (all || loop.touched)
          price = priceOf(loop.loop, facts(), decided, /*widen=*/true);
        loop.touched = false;
        total.time += price.time;
        total.sent += price.sent;
      }
      return total;
    };
    const BlockPrice after = priceWidely(/*all=*/true);
    writeAll(first);
    const BlockPrice otherwise = priceWidely(/*all=*/false);
    if (after.time >= otherwise.time * (1 - 1e-9) || after.sent >= otherwise.sent * (1 - kLittle))
      return false;
    writeAll(chosen);
    least = after.time;
    before = otherwise.time;
    return true;
  }

  DataFlowOpInterface maker;
  SmallVector<PricedLoop, 4> loops; ///< it, and those that read its stacks
  const ShardingAttributes &written;
  ReshardCosts &costs;
  std::vector<Stack> stacks;
  std::vector<Carried> carried;
  BlockDecisions decisions; ///< of the loops, as they are written
  double before = 0, least = 0, bound = 0;
};
} // namespace

void tessera::dist::layLoops(func::FuncOp function, const ShardingAttributes &written, RegionCosts &costs) {
  function.walk([&](DataFlowOpInterface flow) {
    if (flow->hasAttr(kShardingsAttr) && flow->hasAttr(kBlockShardingsAttr)) // else nobody propagated
      LoopLayouts(flow, written, costs.in(*flow->getBlock())).run();
  });
}
