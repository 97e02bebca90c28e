//===- Hierarchy.cpp - Collectives within nodes and between them ----------===//
#include "tessera/AutoParallel/Hierarchy.h"

#include "tessera/AutoParallel/ReshardCollectives.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace tessera;

namespace {
using DimLayout = llvm::SmallVector<AxisRef, 4>;
using Steps = std::vector<ReshardStep>;

/// Axes of a list that stay on nodes, and those between nodes, each in the list's order.
struct Tiers {
  AxisList within, between;
};

class Stager {
public:
  Stager(const Machine &machine, const Mesh &mesh, llvm::ArrayRef<int64_t> shape, double elementBytes)
      : machine(machine), mesh(mesh), shape(shape), elementBytes(elementBytes) {}

  /// The fastest of `step` and its stages.
  Steps fastest(const StridedSharding &before, const ReshardStep &step) const {
    Steps best = {step};
    if (step.moves.size() != 1)
      return best;
    const Tiers tiers = tiersOf(step.moves.front().axes);
    if (tiers.within.empty() || tiers.between.empty())
      return best;
    double least = timeOf(best);
    for (Steps &stages : stagesOf(before, step, tiers)) {
      stages.back().result = step.result;
      if (double time = timeOf(stages); time < least) {
        least = time;
        best = std::move(stages);
      }
    }
    return best;
  }

private:
  Tiers tiersOf(const AxisList &axes) const {
    Tiers tiers;
    for (const AxisRef &axis : axes) {
      auto [minor, major] = machine.cutAtNodes(mesh, axis);
      if (minor.size > 1)
        tiers.within.push_back(minor);
      if (major.size > 1)
        tiers.between.push_back(major);
    }
    mergeAdjacent(tiers.within);
    mergeAdjacent(tiers.between);
    return tiers;
  }

  std::vector<Steps> stagesOf(const StridedSharding &before, const ReshardStep &step,
                              const Tiers &tiers) const {
    const AxisMove &move = step.moves.front();
    switch (step.kind) {
    case StepKind::AllGather: {
      if (!divides(before, move.from))
        return {};
      StridedSharding middle = before;
      middle.dims[size_t(move.from)] = without(middle.dims[size_t(move.from)], tiers.between);
      return {{stage(step.kind, tiers.between, move, middle, grown(before, tiers.between)),
               stage(step.kind, tiers.within, move, step.layout, grown(middle, tiers.within))}};
    }
    case StepKind::ReduceScatter: {
      if (!divides(step.layout, move.to))
        return {};
      StridedSharding middle = reduced(before, tiers.within);
      middle.dims[size_t(move.to)] = without(step.layout.dims[size_t(move.to)], tiers.between);
      return {{stage(step.kind, tiers.within, move, middle, grown(middle, tiers.within)),
               stage(step.kind, tiers.between, move, step.layout, grown(step.layout, tiers.between))}};
    }
    case StepKind::AllReduce:
      return stagesOfReduce(before, step, tiers);
    default:
      return {};
    }
  }

  std::vector<Steps> stagesOfReduce(const StridedSharding &before, const ReshardStep &step,
                                    const Tiers &tiers) const {
    const AxisMove whole = step.moves.front();
    const StridedSharding once = reduced(before, tiers.within);
    std::vector<Steps> ways = {
        {stage(step.kind, tiers.within, whole, once, bothWays(once, tiers.within)),
         stage(step.kind, tiers.between, whole, step.layout, bothWays(once, tiers.between))}};
    for (int d = 0; d < int(shape.size()); ++d) {
      StridedSharding pieces = once;
      pieces.dims[size_t(d)].append(tiers.within.begin(), tiers.within.end());
      mergeAdjacent(pieces.dims[size_t(d)]);
      if (!divides(pieces, d))
        continue;
      StridedSharding sums = reduced(pieces, tiers.between);
      ways.push_back(
          {stage(StepKind::ReduceScatter, tiers.within, {{}, -1, d}, pieces, grown(pieces, tiers.within)),
           stage(step.kind, tiers.between, whole, sums, bothWays(pieces, tiers.between)),
           stage(StepKind::AllGather, tiers.within, {{}, d, -1}, step.layout, grown(sums, tiers.within))});
      break;
    }
    return ways;
  }

  /// One stage over `axes`, from and to where `like` goes.
  ReshardStep stage(StepKind kind, const AxisList &axes, const AxisMove &like, const StridedSharding &after,
                    double received) const {
    ReshardStep step;
    step.kind = kind;
    step.moves.push_back({axes, like.from, like.to});
    step.layout = after;
    step.received = received;
    step.result = Sharding(int64_t(shape.size()));
    for (auto [dim, layout] : llvm::zip_equal(step.result.dims, after.dims))
      llvm::copy_if(layout, std::back_inserter(dim.axes), [](const AxisRef &axis) { return axis.axis >= 0; });
    step.result.partial = after.partial;
    step.result.partialKind = after.partial.empty() ? PartialKind::None : after.partialKind;
    return step;
  }

  static int64_t shardsOf(const DimLayout &layout, bool countUnsplit) {
    int64_t shards = 1;
    for (const AxisRef &axis : layout)
      shards *= axis.axis < 0 && !countUnsplit ? 1 : axis.size;
    return shards;
  }
  bool divides(const StridedSharding &sharding, int dim) const {
    return shape[size_t(dim)] % shardsOf(sharding.dims[size_t(dim)], /*countUnsplit=*/true) == 0;
  }
  double localSize(const StridedSharding &sharding) const {
    double size = 1;
    for (auto [n, layout] : llvm::zip_equal(shape, sharding.dims)) {
      int64_t shards = shardsOf(layout, /*countUnsplit=*/false);
      size *= double((n + shards - 1) / shards);
    }
    return size;
  }
  /// What a rank receives that has one of as many pieces, and gets the others or their terms.
  double grown(const StridedSharding &piece, const AxisList &axes) const {
    return localSize(piece) * double(axesSize(axes) - 1);
  }
  double bothWays(const StridedSharding &sums, const AxisList &axes) const {
    const auto group = double(axesSize(axes));
    return 2 * localSize(sums) * (group - 1) / group;
  }

  static StridedSharding reduced(StridedSharding sharding, const AxisList &axes) {
    sharding.partial = axesWithout(sharding.partial, axes);
    mergeAdjacent(sharding.partial);
    return sharding;
  }

  /// The dimension with digits `gone` unsplit.
  static DimLayout without(const DimLayout &layout, const AxisList &gone) {
    DimLayout left;
    auto add = [&](const AxisRef &digit) {
      if (digit.axis < 0 && !left.empty() && left.back().axis < 0)
        left.back().size *= digit.size;
      else if (digit.size > 1)
        left.push_back(digit);
    };
    for (AxisRef axis : layout) {
      // Major to minor, as they lie in the axis.
      AxisList inside;
      llvm::copy_if(gone, std::back_inserter(inside),
                    [&](const AxisRef &digit) { return digit.overlaps(axis); });
      llvm::sort(inside);
      for (const AxisRef &digit : inside) {
        add({axis.axis, axis.pre, digit.pre / axis.pre});
        add({-1, 1, digit.size});
        axis = {axis.axis, digit.pre * digit.size, axis.pre * axis.size / (digit.pre * digit.size)};
      }
      add(axis);
    }
    while (!left.empty() && left.back().axis < 0)
      left.pop_back();
    mergeAdjacent(left);
    return left;
  }

  double timeOf(const Steps &steps) const {
    double time = 0;
    for (const ReshardStep &step : steps)
      time += stepTime(machine, mesh, step, elementBytes);
    return time;
  }

  const Machine &machine;
  const Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  double elementBytes;
};

/// Without axes of size 1, as plans know it.
StridedSharding startOf(const Sharding &from) {
  StridedSharding start = toStridedSharding(from);
  auto strip = [](auto &axes) {
    llvm::erase_if(axes, [](const AxisRef &axis) { return axis.size == 1; });
    mergeAdjacent(axes);
  };
  for (DimLayout &dim : start.dims)
    strip(dim);
  strip(start.partial);
  return start;
}
} // namespace

ReshardPlan tessera::stageAtNodes(const Machine &machine, const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                                  double elementBytes, const Sharding &from, ReshardPlan plan) {
  if (machine.ranksPerNode == 0 || elementBytes != std::floor(elementBytes) || llvm::is_contained(shape, 0))
    return plan;
  const Stager stager(machine, mesh, shape, elementBytes);
  ReshardPlan staged;
  StridedSharding before = startOf(from);
  for (const ReshardStep &step : plan.steps) {
    for (ReshardStep &stage : stager.fastest(before, step)) {
      staged.received += stage.received;
      staged.steps.push_back(std::move(stage));
    }
    before = step.layout;
  }
  if (staged.steps.size() == plan.steps.size() || !asCollectives(shape, from, staged))
    return plan;
  return staged;
}
