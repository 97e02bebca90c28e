//===- StackLayouts.cpp - How what loops hand to loops lies ---------------===//
#include "Reshard/StackLayouts.h"
#include "Explain.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
/// A stack that one loop returns and others read, and nobody else.
struct HandedOn {
  StackEdge made;
  SmallVector<std::pair<DataFlowOpInterface, StackEdge>, 2> reads;
  Sharding now; ///< of the stack, as it is written
  std::vector<Sharding> others;
};

class StackLayouts {
public:
  StackLayouts(DataFlowOpInterface maker, const ShardingAttributes &written, ReshardCosts &costs)
      : maker(maker), written(written), costs(costs) {}

  void run() {
    findStacks();
    if (stacks.empty())
      return;
    const double before = price();
    if (!std::isfinite(before))
      return;
    // Below that nothing leads.
    const double bound = freely() * (1 + kLittle);
    double least = before;
    // Loops run in one way or another as a whole: first all stacks as one of them would have them.
    for (size_t way : {0, 1})
      if (least > bound)
        tryAll(way, least);
    for (HandedOn &stack : stacks)
      for (const Sharding &other : stack.others)
        if (least > bound && isMoved(stack))
          tryOne(stack, other, least);
    for (const HandedOn &stack : stacks)
      if (Sharding was = first.at(stack.made.stack); !was.samePlacement(stack.now))
        explain(maker->getLoc(), "stack",
                llvm::formatv(
                    "{0} returns result #{1} as {2}, not {3}: with the loops that read it {4:F3} us, "
                    "not {5:F3} us",
                    maker->getName().stripDialect(), cast<OpResult>(stack.made.stack).getResultNumber(),
                    toString(stack.now, costs.mesh), toString(was, costs.mesh), least * 1e6, before * 1e6));
  }

private:
  static constexpr double kLittle = 0.01;

  void findStacks() {
    for (const StackEdge &edge : maker.getStackEdges()) {
      if (!edge.collected)
        continue;
      HandedOn stack{edge, {}, written.of(edge.stack), {}};
      bool isOnlyRead = !edge.stack.use_empty() && stack.now.partial.empty();
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
        if (!llvm::is_contained(readers, reader))
          readers.push_back(reader);
      first.insert({edge.stack, stack.now});
      stacks.push_back(std::move(stack));
    }
  }

  BlockFacts facts() const {
    return {[this](Value value) { return written.of(value); },
            [this](OpResult result) { return written.of(result); },
            [this](Operation *op) { return written.outsideNeeds(op); }};
  }

  double priceOf(DataFlowOpInterface loop, const BlockFacts &facts,
                 BlockDecisions *decisions = nullptr) const {
    double total = 0;
    for (Region &region : loop->getRegions())
      for (Block &block : region)
        total += double(loop.getExecutions(region.getRegionNumber())) *
                 priceBlock(block, facts, costs, /*widen=*/false, decisions).time;
    return total;
  }

  double price() {
    decisions.clear();
    double total = priceOf(maker, facts(), &decisions);
    for (DataFlowOpInterface reader : readers)
      total += priceOf(reader, facts(), &decisions);
    return total;
  }

  /// Whether a layer of it is moved, as loops were priced last: it is made or read in another way than it
  /// lies.
  bool isMoved(const HandedOn &stack) const {
    Sharding lies = stack.now;
    lies.dims.erase(lies.dims.begin());
    auto isOther = [&](const Sharding &sharding) { return !sharding.samePlacement(lies); };
    for (Value slice : stack.made.slices) {
      auto result = dyn_cast<OpResult>(slice);
      auto made = result ? decisions.find(result.getOwner()) : decisions.end();
      if (isOther(made == decisions.end() ? written.of(slice)
                                          : made->second.results[result.getResultNumber()]))
        return true;
    }
    for (auto &[reader, edge] : stack.reads)
      for (Value slice : edge.slices)
        for (OpOperand &use : slice.getUses())
          if (auto read = decisions.find(use.getOwner());
              read != decisions.end() && isOther(read->second.operands[use.getOperandNumber()]))
            return true;
    return false;
  }

  /// What the loops take if stacks cost nothing: the maker hands out what it has, and readers are given whole
  /// values, of which anything is a slice. How the values lie then is what is worth a try.
  double freely() {
    BlockFacts free = facts();
    free.needs = [this](Operation *op) {
      auto needs = written.outsideNeeds(op);
      if (needs && op->getParentOp() == maker && op->hasTrait<OpTrait::IsTerminator>())
        for (const HandedOn &stack : stacks)
          for (Value slice : stack.made.slices)
            if (llvm::is_contained(op->getOperands(), slice))
              dropLast(*needs, slice);
      return needs;
    };
    BlockDecisions made, read;
    double total = priceOf(maker, free, &made);
    free = facts();
    free.known = [this](Value value) {
      for (const HandedOn &stack : stacks)
        for (auto &[reader, edge] : stack.reads)
          if (llvm::is_contained(edge.slices, value))
            return Sharding(cast<RankedTensorType>(value.getType()).getRank());
      return written.of(value);
    };
    for (DataFlowOpInterface reader : readers)
      total += priceOf(reader, free, &read);
    for (HandedOn &stack : stacks) {
      Value slice = stack.made.slices.front();
      auto result = dyn_cast<OpResult>(slice);
      auto op = result ? made.find(result.getOwner()) : made.end();
      offer(stack, op == made.end() ? written.of(slice) : op->second.results[result.getResultNumber()]);
      for (OpOperand &use : stack.reads.front().second.slices.front().getUses())
        if (auto reader = read.find(use.getOwner()); reader != read.end())
          offer(stack, reader->second.operands[use.getOperandNumber()]);
    }
    return total;
  }

  static void dropLast(ValueNeeds &needs, Value value) {
    for (size_t i = needs.size(); i-- > 0;)
      if (needs[i].first == value) {
        needs.erase(needs.begin() + ptrdiff_t(i));
        return;
      }
  }

  /// The stack with layers that lie as `slice`, if a rank holds no more of it than now.
  void offer(HandedOn &stack, const Sharding &slice) const {
    Sharding other = stack.now;
    other.dims.assign(1, stack.now.dims.front());
    for (const DimSharding &dim : slice.dims)
      other.dims.emplace_back().axes = dim.axes;
    auto shape = cast<RankedTensorType>(stack.made.stack.getType()).getShape();
    auto elements = [&](const Sharding &sharding) {
      int64_t count = 1;
      for (int64_t size : sharding.localShape(shape))
        count *= size;
      return count;
    };
    if (other.dims.size() == stack.now.dims.size() && elements(other) <= elements(stack.now) &&
        llvm::none_of(stack.others, [&](const Sharding &known) { return known.samePlacement(other); }))
      stack.others.push_back(std::move(other));
  }

  /// At the stack, and at the slices that bodies read.
  void write(HandedOn &stack, const Sharding &sharding) const {
    written.write(maker, DataFlowEdge{{stack.made.stack}}, sharding);
    Sharding slice = sharding;
    slice.dims.erase(slice.dims.begin());
    for (auto &[reader, read] : stack.reads)
      written.write(reader, DataFlowEdge{read.slices}, slice);
    stack.now = sharding;
  }

  /// Keeps what `change` writes if the loops then take less than `least`, which becomes less.
  void keepIfLess(llvm::function_ref<void()> change, double &least) {
    std::vector<Sharding> before;
    for (const HandedOn &stack : stacks)
      before.push_back(stack.now);
    BlockDecisions known = decisions;
    change();
    if (double needed = price(); needed < least * (1 - 1e-9)) {
      least = needed;
      return;
    }
    for (auto [stack, sharding] : llvm::zip_equal(stacks, before))
      if (!stack.now.samePlacement(sharding))
        write(stack, sharding);
    decisions = std::move(known);
  }

  void tryAll(size_t way, double &least) {
    keepIfLess(
        [&] {
          for (HandedOn &stack : stacks)
            if (!stack.others.empty())
              write(stack, way == 0 ? stack.others.front() : stack.others.back());
        },
        least);
  }

  void tryOne(HandedOn &stack, const Sharding &other, double &least) {
    if (!stack.now.samePlacement(other))
      keepIfLess([&] { write(stack, other); }, least);
  }

  DataFlowOpInterface maker;
  const ShardingAttributes &written;
  ReshardCosts &costs;
  std::vector<HandedOn> stacks;
  SmallVector<DataFlowOpInterface> readers;
  llvm::DenseMap<Value, Sharding> first; ///< as propagation has them
  BlockDecisions decisions;              ///< of the loops, as they are written
};
} // namespace

void tessera::dist::layStacks(func::FuncOp function, const ShardingAttributes &written, ReshardCosts &costs) {
  function.walk([&](DataFlowOpInterface flow) {
    if (flow->hasAttr(kShardingsAttr) && flow->hasAttr(kBlockShardingsAttr)) // else nobody propagated
      StackLayouts(flow, written, costs).run();
  });
}
