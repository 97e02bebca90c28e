//===- LoopLayouts.cpp - How what loops carry and hand on lies ------------===//
#include "Reshard/LoopLayouts.h"
#include "Explain.h"
#include "Loops.h"
#include "Reshard/HandedOn.h"
#include "Reshard/PricedLoops.h"

#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
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
      : maker(maker), loops(written, costs), written(written), costs(costs) {
    loops.add(maker);
  }

  void run() {
    findStacks();
    for (DataFlowOpInterface loop : loops.loops())
      findCarried(loop);
    if (!carried.empty()) // it comes from the block around, and goes there
      loops.add(*maker->getBlock());
    search();
    const std::vector<Sharding> first = layouts(&HandedOn::first), found = layouts();
    const BlockPrice foundAt = least;
    tryMovedAxes();
    if (!isLess(least, foundAt, 1)) { // not by hints alone: no reason to place bodies
      writeAll(found);
      least = foundAt;
    }
    const std::vector<Sharding> moved = layouts();
    if (!isAnyCarriedMoved())
      return explainAll();
    // What bodies do with hints alone is not what they do in the end. Where pieces that no body would choose
    // take more messages they must be much less than what bodies chose.
    BlockPrice now = loops.priceWidely(/*every=*/true);
    if (moved != found) {
      const BlockPrice other = now;
      writeAll(found);
      now = loops.priceWidely(/*every=*/false);
      if (isLess(other, now, other.messages > now.messages ? kMuchLess : 1)) {
        writeAll(moved);
        now = other;
      } else {
        least = foundAt;
      }
    }
    if (!isAnyCarriedMoved()) // stacks are laid by hints
      return explainAll();
    const std::vector<Sharding> chosen = layouts();
    writeAll(first);
    const BlockPrice otherwise = loops.priceWidely(/*every=*/false);
    if (isLess(now, otherwise, 1)) {
      writeAll(chosen);
      least = now;
      before = otherwise;
      return explainAll();
    }
    carried.clear(); // stacks alone, then
    loops.removeLast();
    search();
    explainAll();
  }

private:
  static constexpr double kLittle = 0.01, kNothing = PricedLoops::kNothing, kMuchLess = 0.9;
  static constexpr size_t kMostOthers = 4, kMostMoved = 6;
  /// Prices grow with the number of axes: on few more is tried.
  static constexpr size_t kFewAxes = 3, kMostOnFew = 9;
  static constexpr int kRoundsOnFew = 2;

  /// From what is written, to what takes least.
  void search() {
    if (stacks.empty() && carried.empty())
      return;
    before = least = loops.priceAll();
    if (!std::isfinite(before.time))
      return;
    // Below that nothing leads; nor is much to be won near it, unless much less is sent there.
    const BlockPrice free = freely();
    bound = free.time * (1 + (free.sent < before.sent * kMuchLess ? kNothing : kLittle));
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

  /// What loops carry, all of one shape alike, with one axis on another dimension, or with axes that it does
  /// not lie over: no body that is free to has it so, but pieces of the one may be gathered for less than
  /// pieces of the other. Only where few can move; and if less is sent so, as work alone is no reason.
  void tryMovedAxes() {
    // Ops are offered what lies so only where something does: what is free bounds none of it.
    bound = 0;
    loops.forgetFree();
    for (int round = 0; round < (areFewAxes() ? kRoundsOnFew : 1); ++round) {
      const double before = least.time;
      for (const auto &[shape, lies] : unaskedLayouts(carried)) {
        tryFew(shape, lies, withOneMoved(shape, lies));
        tryFew(shape, lies, withAxesAdded(shape, lies, freeAxes(costs)), /*areAdded=*/true);
      }
      if (least.time == before)
        return;
    }
  }

  bool areFewAxes() const { return freeAxes(costs).size() <= kFewAxes; }

  /// Has what is carried as `lies` says lie in each of a few `others`, alone and with the stacks of it.
  void tryFew(ArrayRef<int64_t> shape, const Sharding &lies, ArrayRef<Sharding> others,
              bool areAdded = false) {
    auto isAlike = [&](const HandedOn &value) {
      return ArrayRef(value.shape) == shape && value.now.samePlacement(lies);
    };
    SmallVector<const Carried *, 4> ends;
    SmallVector<const HandedOn *, 8> all;
    for (const Carried &value : carried)
      if (!value.isWished() && isAlike(value) && !(areAdded && value.isZeroAtFirst()))
        ends.push_back(&value);
    all.append(ends.begin(), ends.end());
    for (const Stack &stack : stacks)
      if (isAlike(stack))
        all.push_back(&stack);
    if (ends.empty() || (!areFewAxes() && others.size() > kMostMoved))
      return;
    // Where they come from and go to may cost more than is to be saved; axes that are added are of use in the
    // loop alone.
    auto isHopeless = [&](const Sharding &other, const Carried *value) {
      return fixedTime(*value, other) >= (areAdded && value->isGiven() ? kNothing : 1) * least.sent;
    };
    for (const Sharding &other : others.take_front(kMostOnFew)) {
      if (llvm::any_of(ends, [&](const Carried *value) { return isHopeless(other, value); }))
        continue;
      auto have = [&](ArrayRef<const HandedOn *> some) {
        tryAll([&](const HandedOn &value) { return llvm::is_contained(some, &value) ? &other : nullptr; },
               /*alsoSent=*/true);
      };
      have(SmallVector<const HandedOn *, 8>(ends.begin(), ends.end()));
      if (all.size() > ends.size())
        have(all);
    }
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
              llvm::formatv("{0} {1} as {2}, not {3}: with all that read it {4:F3} us, not {5:F3} us, in {6}",
                            loop->getName().stripDialect(), what, toString(now, costs.mesh),
                            toString(first, costs.mesh), least.time * 1e6, before.time * 1e6,
                            loop->getParentOfType<func::FuncOp>().getName()));
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
        if (!loops.has(reader))
          loops.add(reader);
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

  /// Seconds that ends take at least if it is carried so: from what is given to what the caller wants.
  double fixedTime(const Carried &value, const Sharding &as) const {
    double total = 0;
    auto add = [&](Value moved, const Sharding &from, const Sharding &to) {
      auto type = cast<RankedTensorType>(moved.getType());
      const double bytes = cachedElementBytes(moved).value_or(double(elementBytes(type)));
      const ReshardCosts::Cost &cost = costs.reshard(type.getShape(), bytes, from, to);
      total += cost.possible ? cost.time : std::numeric_limits<double>::infinity();
    };
    for (Value end : value.edge.values)
      if (value.isGiven(end)) {
        add(end, written.of(end), as);
      } else if (end.getDefiningOp() == value.loop) {
        std::vector<Sharding> wanted; // each is made once
        for (Operation *user : end.getUsers())
          if (auto needs =
                  user->hasTrait<OpTrait::IsTerminator>() ? written.outsideNeeds(user) : std::nullopt)
            for (auto &[needed, sharding] : *needs)
              if (needed == end && !llvm::is_contained(wanted, sharding))
                wanted.push_back(sharding);
        for (const Sharding &sharding : wanted)
          add(end, as, sharding);
      }
    return total;
  }

  /// What the loops take if nothing that is handed on costs anything: bodies leave it as they have it, and
  /// are given whole values, of which anything is a slice. How the values lie then is what is worth a try.
  BlockPrice freely() {
    BlockFacts free = loops.facts();
    free.needs = [this](Operation *op) {
      auto needs = written.outsideNeeds(op);
      if (!needs)
        return needs;
      for (const Stack &stack : stacks)
        for (Value slice : stack.made.slices)
          if (op->hasTrait<OpTrait::IsTerminator>() && op->getParentOp() == maker &&
              llvm::is_contained(op->getOperands(), slice))
            drop(llvm::reverse(*needs), slice, *needs);
      for (const Carried &value : carried)
        for (Value end : value.edge.values)
          if (value.isGivenBy(*op, end))
            drop(*needs, end, *needs);
      return needs;
    };
    free.wanted = [this](OpResult result) {
      const bool isResult = llvm::any_of(carried, [&](const Carried &one) {
        return result.getOwner() == one.loop && llvm::is_contained(one.edge.values, result);
      });
      return isResult ? Sharding(cast<RankedTensorType>(result.getType()).getRank()) : written.of(result);
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
    const BlockPrice total = loops.priceFreely(free, decided);
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

  /// At the stack, and at the slices that bodies read.
  void write(Stack &stack, const Sharding &layer) {
    Sharding whole = written.of(stack.made.stack);
    whole.dims.resize(1);
    whole.dims.append(layer.dims.begin(), layer.dims.end());
    written.write(maker, {stack.made.stack}, whole);
    loops.touch(maker);
    for (auto &[reader, read] : stack.reads) {
      written.write(reader, read.slices, layer);
      loops.touch(reader);
    }
    stack.now = layer;
  }
  void write(Carried &value, const Sharding &sharding) {
    written.write(value.loop, value.edge.places, sharding);
    loops.touch(value.loop);
    for (Value end : value.edge.values) // bodies may read results of loops before them
      for (Operation *user : end.getUsers())
        loops.touchAround(*user);
    value.now = sharding;
  }

  /// Whether one of `made` is made, or one of `read` read, in another way than `lies`, as the loops were
  /// priced last.
  bool isMoved(ValueRange made, ValueRange read, const Sharding &lies) const {
    auto isOther = [&](const Sharding &sharding) { return !sharding.samePlacement(lies); };
    if (llvm::any_of(made, [&](Value value) { return isOther(madeAs(value, loops.decisions())); }))
      return true;
    for (Value value : read)
      for (OpOperand &use : value.getUses())
        if (auto reader = loops.decisions().find(use.getOwner());
            reader != loops.decisions().end() && isOther(reader->second.operands[use.getOperandNumber()]))
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
  void keepIfLess(llvm::function_ref<void()> change, bool alsoSent = false) {
    const std::vector<Sharding> was = layouts();
    change();
    if (!loops.isLess(least, alsoSent))
      writeAll(was);
    loops.forgetTouched();
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
  template <typename As> void tryAll(As as, bool alsoSent = false) {
    std::vector<Sharding> to;
    bool isOther = false;
    forEach([&](const HandedOn &value) {
      const Sharding *other = as(value);
      to.push_back(other ? *other : value.now);
      isOther |= !to.back().samePlacement(value.now);
    });
    if (isOther && least.time > bound)
      keepIfLess([&] { writeAll(to); }, alsoSent);
  }

  template <typename Value> void tryOne(Value &value) {
    for (const Sharding &other : value.others)
      if (least.time > bound && !value.now.samePlacement(other) && isMoved(value))
        keepIfLess([&] { write(value, other); });
  }

  /// Whether it takes less time, and sends a hundredth less; and of one of both at most this part.
  static bool isLess(const BlockPrice &now, const BlockPrice &otherwise, double part) {
    return now.time < otherwise.time * (1 - kNothing) && PricedLoops::sendsLess(now, otherwise) &&
           now.sent < otherwise.sent * (1 - kLittle) &&
           (now.time <= otherwise.time * part || now.sent <= otherwise.sent * part);
  }

  DataFlowOpInterface maker;
  PricedLoops loops; ///< it, those that read its stacks, and the block around if anything is carried
  const ShardingAttributes &written;
  ReshardCosts &costs;
  std::vector<Stack> stacks;
  std::vector<Carried> carried;
  BlockPrice before, least;
  double bound = 0; ///< seconds
};
} // namespace

void tessera::dist::layLoops(func::FuncOp function, const ShardingAttributes &written, RegionCosts &costs) {
  function.walk([&](DataFlowOpInterface flow) {
    if (flow->hasAttr(kShardingsAttr) && flow->hasAttr(kBlockShardingsAttr)) // else nobody propagated
      LoopLayouts(flow, written, costs.in(*flow->getBlock())).run();
  });
}
