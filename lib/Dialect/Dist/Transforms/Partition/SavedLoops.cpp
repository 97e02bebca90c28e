//===- SavedLoops.cpp - What loops save, under a limit --------------------===//
#include "tessera/Dialect/Dist/Transforms/SavedLoops.h"

#include "Explain.h"
#include "Partition/SavedPair.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/Transforms/Recompute.h"
#include "tessera/Support/TypeSizes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace tessera::dist {
#define GEN_PASS_DEF_DISTCHOOSESAVEDPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;

namespace tessera::dist {

/// The times of all ops together, in the unit of SavedProblem: what is compared is not smaller than 1.
static constexpr double kTimeUnits = 1 << 30;

class SavedLoops::Impl {
public:
  Impl(ModuleOp module, SavedFreedom freedom) : machine(machineOf(module)), freedom(freedom) {
    if (MeshOp op = getMesh(module))
      mesh = op.getMesh().toMesh();
    module.walk<WalkOrder::PreOrder>([&](graph::RepeatOp loop) {
      if (std::optional<SavedPair> pair = SavedPair::find(loop))
        pairs.push_back(std::move(*pair));
    });
    for (auto [i, pair] : llvm::enumerate(pairs))
      add(pair, unsigned(i));
    double all = 0;
    for (double one : times)
      all += one;
    for (auto [op, time] : llvm::zip_equal(problem.ops, times))
      op.time = time > 0 ? std::max<int64_t>(1, std::llround(time / all * kTimeUnits)) : 0;
    frontier.emplace(problem);
  }

  double secondsOf(Operation *op) const;
  double seconds(const SavedChoice &choice) const {
    double sum = 0;
    for (auto [again, time] : llvm::zip_equal(choice.again, times))
      sum += again ? time : 0;
    return sum;
  }
  void apply(const SavedChoice &choice);

  std::optional<SavedFrontier> frontier;
  double secondsNow = 0; ///< of what backward makes again as it is

private:
  SavedProblem problem;
  void add(SavedPair &pair, unsigned number);
  int64_t bytesOf(SavedPair &pair, Value value) const;
  void report(const SavedPair &pair, unsigned number, const SavedChoice &choice) const;

  Mesh mesh;
  Machine machine;
  SavedFreedom freedom;
  std::vector<SavedPair> pairs;
  struct Known {
    unsigned pair;
    Value value;
  };
  std::vector<Known> values; ///< those of the problem
  std::vector<double> times; ///< seconds of its ops, all layers of all runs
};

/// Of running once. What is done to elements alone becomes part of the kernels that read it and counts
/// nothing, as with --recompute=none.
double SavedLoops::Impl::secondsOf(Operation *op) const {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return collective.communicates() ? collectiveTime(machine, mesh, collective) : 0;
  if (auto loop = dyn_cast<graph::RepeatOp>(op)) {
    double sum = 0;
    for (unsigned body = 0; body < loop.getBodies().size(); ++body)
      for (Operation &inner : loop.getBody(body))
        sum += double(loop.getExecutions(body)) * secondsOf(&inner);
    return sum;
  }
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost || graph::isCheapTwice(op))
    return 0;
  OpCost work = cost.getCost();
  return workTime(machine, op, work);
}

int64_t SavedLoops::Impl::bytesOf(SavedPair &pair, Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  bool isSavedNow = pair.isSavedNow(value);
  if (pair.isGiven(value) || (freedom == SavedFreedom::Gathers && isSavedNow))
    return 0;
  // Whether a term of a sum may be kept is placement's to say.
  ShardingAttr sharding = getShardingAttr(type);
  bool isTerm = sharding && !sharding.getPartial().empty();
  if (!isSavedNow && (isTerm || (freedom == SavedFreedom::Gathers && !pair.isGathered(value))))
    return SavedProblem::never;
  return int64_t(pair.forward.getCount()) * std::max<int64_t>(1, arrayBytes(type));
}

void SavedLoops::Impl::add(SavedPair &pair, unsigned number) {
  llvm::DenseMap<Value, int> numbers;
  auto addValue = [&](Value value, int maker) {
    if (!isa<RankedTensorType>(value.getType()))
      return;
    numbers[value] = int(values.size());
    values.push_back({number, value});
    problem.values.push_back({bytesOf(pair, value), maker});
  };
  for (Value argument : pair.body().getArguments())
    addValue(argument, -1);
  for (Operation &op : pair.body().without_terminator()) {
    if (!isMemoryEffectFree(&op)) {
      for (Value result : op.getResults())
        addValue(result, -1);
      continue;
    }
    SavedProblem::Op again;
    for (Value read : graph::readBy(&op))
      if (auto known = numbers.find(read); known != numbers.end())
        again.reads.push_back(known->second);
    problem.ops.push_back(std::move(again));
    times.push_back(double(graph::executionsOf(&op)) * secondsOf(&op));
    for (Value result : op.getResults())
      addValue(result, int(problem.ops.size()) - 1);
  }
  for (Operation *op : pair.madeAgain())
    secondsNow += double(graph::executionsOf(op)) * secondsOf(op);
  for (Value value : pair.needed)
    problem.needed.push_back(numbers.at(value));
}

void SavedLoops::Impl::report(const SavedPair &pair, unsigned number, const SavedChoice &choice) const {
  SmallVector<std::string> saved, again;
  int64_t bytes = 0;
  for (auto [i, known] : llvm::enumerate(values)) {
    auto [its, maker] = problem.values[i];
    if (known.pair != number)
      continue;
    if (choice.saved[i]) {
      saved.push_back((pair.isGathered(known.value) ? "gathered " : "") + pair.nameOf(known.value));
      bytes += its / int64_t(graph::RepeatOp(pair.forward).getCount());
    } else if (maker >= 0 && choice.again[size_t(maker)] && times[size_t(maker)] > 0) {
      again.push_back((pair.isGathered(known.value) ? "gathered " : "") + pair.nameOf(known.value));
    }
  }
  auto list = [](ArrayRef<std::string> names) { return names.empty() ? "nothing" : llvm::join(names, ", "); };
  explain(
      pair.forward->getLoc(), "memory",
      llvm::formatv("backward of the loop over {0} layers reads {1} bytes a layer that forward saves: {2}; "
                    "made again: {3}",
                    graph::RepeatOp(pair.forward).getCount(), bytes, list(saved), list(again))
          .str());
}

void SavedLoops::Impl::apply(const SavedChoice &choice) {
  for (auto [number, pair] : llvm::enumerate(pairs)) {
    llvm::SetVector<Value> saved;
    for (auto [i, known] : llvm::enumerate(values))
      if (known.pair == number &&
          (choice.saved[i] || (freedom == SavedFreedom::Gathers && pair.isSavedNow(known.value))))
        saved.insert(known.value);
    report(pair, unsigned(number), choice);
    pair.rewrite(saved);
  }
}

SavedLoops::SavedLoops(ModuleOp module, SavedFreedom freedom)
    : impl(std::make_unique<Impl>(module, freedom)) {}
SavedLoops::~SavedLoops() = default;

const SavedFrontier &SavedLoops::frontier() const { return *impl->frontier; }
double SavedLoops::secondsNow() const { return impl->secondsNow; }
double SavedLoops::seconds(const SavedChoice &choice) const { return impl->seconds(choice); }
void SavedLoops::apply(const SavedChoice &choice) { impl->apply(choice); }

namespace {

struct ChooseSavedPass : dist::impl::DistChooseSavedPassBase<ChooseSavedPass> {
  using Base::Base;

  void runOnOperation() override {
    SavedLoops loops(getOperation(), keep ? SavedFreedom::Gathers : SavedFreedom::All);
    std::optional<size_t> point = loops.frontier().within(bytes);
    if (!point) {
      getOperation().emitError() << "loops cannot save so little (bytes=" << int64_t(bytes) << "): at least "
                                 << loops.frontier().points().front().bytes << " bytes are needed";
      return signalPassFailure();
    }
    loops.apply(loops.frontier().choice(*point));
  }
};

} // namespace
} // namespace tessera::dist
