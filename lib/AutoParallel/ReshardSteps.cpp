//===- ReshardSteps.cpp - Moves of digits as steps with axes --------------===//
#include "ReshardState.h"

#include "tessera/Analysis/Sharding/GroupedSends.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace tessera;
using namespace tessera::reshard;

namespace {

/// Turns moves of digits into steps with axes.
class StepBuilder {
public:
  StepBuilder(const Problem &problem, PartialKind kind, ReshardPlan &plan)
      : problem(problem), kind(kind), plan(plan) {}

  void build(std::vector<Move> moves) {
    State before = problem.start;
    simplify(before, moves);
    for (Move &move : moves) {
      if (move.kind == StepKind::GroupedSend) { // the search took estimates
        Sharding from = plainSharding(toStrided(problem, before)),
                 to = plainSharding(toStrided(problem, move.after));
        move.received = mostReceived(*problem.mesh, problem.shape, from, to);
        move.sent = mostSent(*problem.mesh, problem.shape, from, to);
      }
      ReshardStep step;
      step.kind = move.kind;
      step.received = move.received;
      step.messages = move.messages;
      step.sent = move.sent;
      step.moves = axisMoves(before, move);
      step.layout = toStrided(problem, move.after);
      step.layout.partialKind = kind;
      step.result = plainSharding(step.layout);
      plan.received += move.received;
      plan.steps.push_back(std::move(step));
      before = move.after;
    }
  }

private:
  /// Joins neighbours that are one collective: slices or gathers of one dimension; reduce_scatter and the
  /// gather that undoes its scattering.
  void simplify(const State &start, std::vector<Move> &moves) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i + 1 < moves.size() && !changed; ++i) {
        const State &before = i ? moves[i - 1].after : start;
        Move joined = {moves[i].kind, moves[i + 1].after, moves[i].received + moves[i + 1].received};
        bool same = moves[i].kind == moves[i + 1].kind &&
                    (moves[i].kind == StepKind::AllSlice || moves[i].kind == StepKind::AllGather ||
                     moves[i].kind == StepKind::ReduceScatter) &&
                    isOneStep(before, joined);
        if (!same && moves[i].kind == StepKind::ReduceScatter && moves[i + 1].kind == StepKind::AllGather) {
          joined.kind = StepKind::AllReduce;
          same = isAllReduce(before, joined.after);
        }
        if (!same)
          continue;
        moves[i] = joined;
        moves.erase(moves.begin() + i + 1);
        changed = true;
      }
    }
  }

  bool isOneStep(const State &before, const Move &joined) const {
    auto axes = axisMoves(before, joined);
    if (axes.size() != 1)
      return false;
    // All that comes or goes stands at the minor end, unless strides are allowed.
    if (problem.options.strided)
      return true;
    return toStrided(problem, joined.after).isPlain();
  }

  bool isAllReduce(const State &before, const State &after) const {
    for (auto [a, b] : llvm::zip(before, after))
      if (a != b && !(a.dim == DigitUse::kPartial && b.dim == DigitUse::kUnused))
        return false;
    return true;
  }

  llvm::SmallVector<AxisMove, 1> axisMoves(const State &before, const Move &move) const {
    llvm::SmallVector<AxisMove, 1> result;
    if (move.kind == StepKind::CollectivePermute)
      return result;
    if (move.kind == StepKind::GroupedSend) {
      result.push_back({sendAxes(*problem.mesh, problem.shape, plainSharding(toStrided(problem, before)),
                                 plainSharding(toStrided(problem, move.after)))});
      return result;
    }
    struct Moved {
      int from, to;
      int64_t order;
      int digit;
    };
    llvm::SmallVector<Moved, 8> moved;
    for (int i = 0; i < int(before.size()); ++i) {
      const DigitUse &a = before[i], &b = move.after[i];
      if (a == b)
        continue;
      // Group order: as the axes stand in the dimension they leave or come to.
      int64_t order = b.split() ? b.pre : a.split() ? a.pre : i;
      moved.push_back({a.split() ? a.dim : -1, b.split() ? b.dim : -1, order, i});
    }
    llvm::sort(moved, [](const Moved &a, const Moved &b) {
      return std::tie(a.from, a.to, a.order, a.digit) < std::tie(b.from, b.to, b.order, b.digit);
    });
    for (const Moved &m : moved) {
      if (result.empty() || result.back().from != m.from || result.back().to != m.to)
        result.push_back({{}, m.from, m.to});
      result.back().axes.push_back(problem.digits[m.digit]);
    }
    for (AxisMove &axisMove : result)
      mergeAdjacent(axisMove.axes);
    return result;
  }

  Sharding plainSharding(const StridedSharding &layout) const {
    Sharding result(problem.rank());
    for (auto [d, dim] : llvm::enumerate(layout.dims))
      for (const AxisRef &axis : dim)
        if (axis.axis >= 0)
          result.dims[d].axes.push_back(axis);
    result.partial = layout.partial;
    result.partialKind = layout.partial.empty() ? PartialKind::None : kind;
    return result;
  }

  const Problem &problem;
  PartialKind kind;
  ReshardPlan &plan;
};

} // namespace

void reshard::appendSteps(const Problem &problem, PartialKind kind, std::vector<Move> moves,
                          ReshardPlan &plan) {
  StepBuilder(problem, kind, plan).build(std::move(moves));
}
