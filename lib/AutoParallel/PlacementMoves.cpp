//===- PlacementMoves.cpp - Axes as no hint says them ---------------------===//
#include "PlacementMoves.h"

#include "AxisLists.h"
#include "MoveGroups.h"
#include "NumberedOption.h"
#include "ProgramOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <set>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// So many assignments are all tried.
static constexpr double kAllAssignments = 700;
/// The part of all time that a group must pay to be tried.
static constexpr double kMuch = 0.01;
static constexpr double kNothing = 1e-9;
static constexpr size_t kMostAxes = 8;
/// Of axes: one has a byte, and a dimension has at most kMostAxes.
static constexpr size_t kMostNumbers = 255;

namespace {

/// Of each dimension: axes of the group, by index, major to minor.
using Assignment = std::vector<llvm::SmallVector<int, 4>>;

class MoveSearch {
public:
  MoveSearch(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
             llvm::ArrayRef<const PlacementDecision *> chosen, ReshardCosts &costs)
      : program(program), ends(ends), chosen(chosen), costs(costs), left(kMostMoves),
        touched(program.values.size(), 0) {
    for (const ProgramValue &value : program.values) {
      tensors.push_back(costs.numberOf(value.shape, value.elementBytes, value.chosen));
      given.push_back(costs.numberOf(value.sharding));
    }
    for (const ValueEnds &valueEnds : ends) {
      auto &list = always.emplace_back();
      for (const Sharding *sharding : valueEnds.outside)
        list.push_back(costs.numberOf(*sharding));
    }
    for (const PlacementDecision *option : chosen)
      now.push_back(&kept.emplace_back(*option, costs, option));
  }

  /// Whether the plan takes less now.
  bool run() {
    llvm::SmallVector<int, 32> all(program.ops.size()), everything(program.values.size());
    std::iota(all.begin(), all.end(), 0);
    std::iota(everything.begin(), everything.end(), 0);
    const double whole = timeOf(all, everything);
    if (!std::isfinite(whole))
      return false;
    std::vector<std::pair<double, int>> order;
    for (int op : all)
      if (double spare = mayGain(op); spare > kMuch * whole)
        order.push_back({-spare, op});
    llvm::sort(order);
    std::vector<MoveGroup> groups;
    std::set<llvm::SmallVector<int, 16>> known;
    for (auto &[spare, op] : order)
      for (auto &ops : groupsAround(program, ends, op))
        if (known.insert(ops).second)
          groups.push_back(makeGroup(program, ends, ops, chosen));
    bool better = false;
    for (bool again = true; again && left > 0;) {
      again = false;
      for (const MoveGroup &group : groups)
        again |= left > 0 && improve(group);
      better |= again;
    }
    return better;
  }

  std::vector<PlacementDecision> plan() const {
    std::vector<PlacementDecision> result;
    for (const NumberedOption *option : now)
      result.push_back(option->decision(costs));
    return result;
  }

private:
  //===--- What the plan takes ----------------------------------------------===//

  /// The number of the sharding that a value is made in.
  int numberMade(int value) const {
    const ValueEnds &e = ends[size_t(value)];
    return e.producer < 0 ? given[size_t(value)] : now[size_t(e.producer)]->results[size_t(e.result)];
  }

  const Sharding &madeOf(int value) const { return costs.sharding(numberMade(value)); }

  bool isSum(int value) const { return !madeOf(value).partial.empty(); }

  /// Calls `visit` with the sharding that is made of a value and each that is needed of it, as numbers.
  template <typename Visit> void forEachNeed(int value, Visit visit) const {
    const int from = numberMade(value);
    llvm::SmallVector<int, 8> seen;
    auto need = [&](int to) {
      if (to != from && !llvm::is_contained(seen, to)) {
        seen.push_back(to);
        visit(from, to);
      }
    };
    for (auto &[op, operand] : ends[size_t(value)].readers)
      need(now[size_t(op)]->operands[size_t(operand)]);
    for (int to : always[size_t(value)])
      need(to);
  }

  double timeOf(int value) const {
    double time = 0;
    forEachNeed(value, [&](int from, int to) { time += costs.known(tensors[size_t(value)], from, to).time; });
    return time;
  }

  double timeOf(llvm::ArrayRef<int> ops, llvm::ArrayRef<int> values) const {
    double time = 0;
    for (int op : ops)
      time += now[size_t(op)]->workTime;
    for (int value : values)
      time += timeOf(value);
    return time;
  }

  /// Has the reshards of these values planned.
  void lookUp(llvm::ArrayRef<int> values) {
    for (int value : values)
      forEachNeed(value, [&](int from, int to) {
        const ProgramValue &info = program.values[size_t(value)];
        costs.reshard(info.shape, info.elementBytes, costs.sharding(from), costs.sharding(to), info.chosen);
      });
  }

  /// What the op's reshards take, and the part of its work that other ranks repeat.
  double mayGain(int op) const {
    const ProgramOp &info = program.ops[size_t(op)];
    double time = 0, ranks = 1, elements = 1;
    for (const auto *list : {&info.operands, &info.results})
      for (int value : *list)
        time += timeOf(value);
    for (const MeshAxis &axis : costs.mesh.axes)
      ranks *= double(axis.size);
    for (const Factor &factor : info.rule.factors)
      elements *= double(std::max<int64_t>(1, factor.size));
    double least = workTime(costs.machine, info.type, info.flops, info.bytes, 1 / std::min(ranks, elements));
    return time + std::max(0.0, now[size_t(op)]->workTime - least);
  }

  //===--- Assignments ------------------------------------------------------===//

  /// The op of the group with the axes of `assignment`; a sum that an operand comes as stays open where
  /// `open` and the op is linear in it. None if no sharding says it.
  const NumberedOption *optionOf(const MoveGroup &group, size_t i, const Assignment &assignment, bool open) {
    const int op = group.ops[i];
    const ProgramOp &info = program.ops[size_t(op)];
    key.assign({op, open});
    for (int dimension : group.dimensions[i]) {
      key.push_back(0); // axes by number, which begin at 1, a byte for each
      if (dimension >= 0)
        for (int axis : assignment[size_t(dimension)])
          key.back() = (key.back() << 8) | int64_t(axisNumbers[size_t(axis)]);
    }
    for (int operand : info.operands)
      if (open && isSum(operand))
        key.append({operand, numberMade(operand)});
    auto [it, isNew] = known.try_emplace(key, nullptr);
    if (isNew) {
      llvm::SmallVector<AxisList, 8> axes(group.dimensions[i].size());
      for (auto [list, dimension] : llvm::zip(axes, group.dimensions[i]))
        if (dimension >= 0) {
          for (int axis : assignment[size_t(dimension)])
            list.push_back(group.axes[size_t(axis)]);
          mergeAdjacent(list);
        }
      it->second = makeOption(info, axes, open);
    }
    return it->second;
  }

  const NumberedOption *makeOption(const ProgramOp &op, llvm::ArrayRef<AxisList> axes, bool open) {
    PartialKind kind = PartialKind::None;
    auto reduced = reducedAxes(op.rule, axes, kind);
    auto option = reduced ? optionAnywhere(program, op, costs, axes) : std::nullopt;
    if (!option)
      return nullptr;
    AxisList sums = *reduced;
    if (open)
      keepOpen(op, [&](int value) -> const Sharding & { return madeOf(value); }, *option, sums, kind);
    leaveOpen(*option, sums, kind);
    return &kept.emplace_back(*option, costs);
  }

  /// Runs op `i` of the group so; whether it can.
  bool takeOne(const MoveGroup &group, size_t i, const Assignment &assignment, bool open) {
    const NumberedOption *option = optionOf(group, i, assignment, open);
    if (option)
      now[size_t(group.ops[i])] = option;
    return option;
  }

  /// A plan of the group, and what it takes: others differ in little from it.
  struct Base {
    Assignment assignment;
    std::vector<const NumberedOption *> options; ///< of the group's ops; empty: not known, or impossible
    std::vector<double> times;                   ///< of values of the program that the group has
    double time = 0;
  };

  /// Runs the group's ops so; its seconds, infinite where an op cannot. Ops whose axes are those of `base`,
  /// and that read no sum that is another, run as they do there.
  double take(const MoveGroup &group, const Assignment &assignment, bool open, const Base *base = nullptr) {
    left -= int64_t(group.ops.size());
    if (!base || base->options.empty()) {
      for (size_t i = 0; i < group.ops.size(); ++i)
        if (!takeOne(group, i, assignment, open))
          return kInfinity;
      return timeOf(group.ops, group.values);
    }
    llvm::SmallBitVector moved(unsigned(assignment.size()));
    for (size_t d = 0; d < assignment.size(); ++d)
      moved[unsigned(d)] = assignment[d] != base->assignment[d];
    for (auto [op, option] : llvm::zip(group.ops, base->options))
      now[size_t(op)] = option;
    double time = base->time;
    ++plans;
    for (size_t i = 0; i < group.ops.size(); ++i) {
      const int op = group.ops[i];
      const ProgramOp &info = program.ops[size_t(op)];
      if (llvm::none_of(group.dimensions[i], [&](int d) { return d >= 0 && moved[unsigned(d)]; }) &&
          !(open && llvm::any_of(info.operands, [&](int value) { return touched[size_t(value)] == plans; })))
        continue;
      if (!takeOne(group, i, assignment, open))
        return kInfinity;
      const NumberedOption *option = now[size_t(op)];
      if (option == base->options[i])
        continue;
      time += option->workTime - base->options[i]->workTime;
      for (const auto *list : {&info.operands, &info.results})
        for (int value : *list)
          touched[size_t(value)] = plans;
    }
    for (int value : group.values)
      if (touched[size_t(value)] == plans)
        time += timeOf(value) - base->times[size_t(value)];
    return time;
  }

  Base baseOf(const MoveGroup &group, const Assignment &assignment, bool open) {
    Base base{assignment};
    std::vector<const NumberedOption *> before = now;
    const int64_t moves = left;
    base.time = take(group, assignment, open);
    left = moves;
    if (std::isfinite(base.time)) {
      for (int op : group.ops)
        base.options.push_back(now[size_t(op)]);
      base.times.resize(program.values.size());
      for (int value : group.values)
        base.times[size_t(value)] = timeOf(value);
    }
    now = std::move(before);
    return base;
  }

  struct Found {
    double time = kInfinity;
    Assignment assignment;
    bool open = true;
  };

  /// Both with sums left open and with sums closed. `to`: the best so far; `bases`: closed, open, or none.
  void tryOut(const MoveGroup &group, const Assignment &assignment, Found &to,
              llvm::ArrayRef<Base> bases = {}) {
    for (auto [size, list] : llvm::zip(group.sizes, assignment)) {
      int64_t shards = 1;
      for (int axis : list)
        shards *= group.axes[size_t(axis)].size;
      if (shards > size)
        return;
    }
    beforeGroup.clear();
    for (int op : group.ops)
      beforeGroup.push_back(now[size_t(op)]);
    for (bool open : {true, false}) {
      double time = take(group, assignment, open, bases.empty() ? nullptr : &bases[open]);
      if (time < to.time * (1 - kNothing))
        to = {time, assignment, open};
      bool sums = open && llvm::any_of(group.values, [&](int value) { return isSum(value); });
      for (auto [op, option] : llvm::zip(group.ops, beforeGroup))
        now[size_t(op)] = option;
      if (!sums || left <= 0)
        break;
    }
  }

  /// Assignments of axes `next` and later to at most one dimension each, in every order.
  void tryAll(const MoveGroup &group, size_t next, Assignment &assignment, Found &to) {
    if (next == group.axes.size())
      return tryOut(group, assignment, to);
    tryAll(group, next + 1, assignment, to);
    for (auto &list : assignment)
      for (size_t at = 0; at <= list.size(); ++at) {
        list.insert(list.begin() + ptrdiff_t(at), int(next));
        tryAll(group, next + 1, assignment, to);
        list.erase(list.begin() + ptrdiff_t(at));
      }
  }

  /// One axis at a time is taken away, or put somewhere in a dimension and taken from those of its ops, for
  /// as long as time becomes less.
  void descend(const MoveGroup &group, Found &to) {
    while (left > 0) {
      Found best = to;
      const Base bases[] = {baseOf(group, to.assignment, /*open=*/false),
                            baseOf(group, to.assignment, /*open=*/true)};
      auto attempt = [&](const Assignment &assignment) { tryOut(group, assignment, best, bases); };
      for (int axis = 0; axis < int(group.axes.size()); ++axis)
        for (size_t d = 0; d < group.sizes.size() && left > 0; ++d) {
          Assignment without = to.assignment;
          bool had = llvm::is_contained(without[d], axis);
          llvm::erase(without[d], axis);
          if (had)
            attempt(without);
          for (const auto &dimensions : group.dimensions)
            if (llvm::is_contained(dimensions, int(d)))
              for (int other : dimensions)
                if (other >= 0)
                  llvm::erase(without[size_t(other)], axis);
          for (size_t at = 0; at <= without[d].size(); ++at) {
            Assignment with = without;
            with[d].insert(with[d].begin() + ptrdiff_t(at), axis);
            if (with != to.assignment)
              attempt(with);
          }
        }
      if (best.time >= to.time * (1 - kNothing) && std::isfinite(to.time))
        return;
      if (!std::isfinite(best.time))
        return;
      to = std::move(best);
    }
  }

  /// What the plan has; the op with most work decides, and no axis stands twice in an op.
  Assignment assignmentNow(const MoveGroup &group) const {
    Assignment result(group.sizes.size());
    std::vector<bool> known(group.sizes.size(), false);
    std::vector<std::pair<double, int>> order; // the one with most work first
    for (auto [i, op] : llvm::enumerate(group.ops))
      order.push_back({-program.ops[size_t(op)].flops, int(i)});
    llvm::sort(order);
    for (auto &[work, i] : order)
      for (auto [list, dimension] :
           llvm::zip(now[size_t(group.ops[size_t(i)])]->factorAxes, group.dimensions[size_t(i)])) {
        if (dimension < 0 || known[size_t(dimension)])
          continue;
        known[size_t(dimension)] = true;
        for (const AxisRef &axis : list)
          for (auto [a, piece] : llvm::enumerate(group.axes))
            if (piece.overlaps(axis) && mayHave(group, result, dimension, int(a)))
              result[size_t(dimension)].push_back(int(a));
      }
    return result;
  }

  static bool mayHave(const MoveGroup &group, const Assignment &assignment, int dimension, int axis) {
    return llvm::none_of(group.dimensions, [&](const auto &dimensions) {
      return llvm::is_contained(dimensions, dimension) && llvm::any_of(dimensions, [&](int other) {
               return other >= 0 && llvm::is_contained(assignment[size_t(other)], axis);
             });
    });
  }

  /// Whether the plan takes less now. Reshards count as their floors until the best assignment takes them:
  /// then they are planned, until the best of the rest is no better than the best that is planned.
  bool improve(const MoveGroup &group) {
    if (group.axes.empty() || group.axes.size() > kMostAxes || group.sizes.empty())
      return false;
    number(group);
    std::vector<const NumberedOption *> before = now, known;
    const double most = timeOf(group.ops, group.values);
    double least = most;
    for (int round = 0; round < kMostRounds && left > 0; ++round) {
      Found best = search(group);
      if (!std::isfinite(best.time) || best.time >= least * (1 - kNothing))
        break;
      take(group, best.assignment, best.open);
      lookUp(group.values);
      if (double time = timeOf(group.ops, group.values); time < least * (1 - kNothing)) {
        least = time;
        known = now;
      }
      now = before;
    }
    if (!known.empty())
      now = std::move(known);
    return least < most;
  }

  /// The best of all assignments where they are few, else two that single moves do not improve.
  Found search(const MoveGroup &group) {
    Found best;
    Assignment assignment(group.sizes.size());
    if (countAssignments(group.axes.size(), group.sizes.size()) <= kAllAssignments) {
      tryAll(group, 0, assignment, best);
      if (std::isfinite(best.time))
        descend(group, best); // an axis may stand twice in a group, in different ops
      return best;
    }
    for (const Assignment &start : {assignmentNow(group), assignment}) {
      Found other;
      tryOut(group, start, other);
      if (other.assignment.empty())
        other.assignment = start;
      descend(group, other);
      if (other.time < best.time * (1 - kNothing))
        best = std::move(other);
    }
    return best;
  }

  /// Numbers of the group's axes for `key`, the same in all groups.
  void number(const MoveGroup &group) {
    if (axesKnown.size() + group.axes.size() > kMostNumbers) {
      axesKnown.clear();
      known.clear();
    }
    axisNumbers.clear();
    for (const AxisRef &axis : group.axes) {
      auto it = llvm::find(axesKnown, axis);
      axisNumbers.push_back(int(it - axesKnown.begin()) + 1);
      if (it == axesKnown.end())
        axesKnown.push_back(axis);
    }
  }

  static constexpr int kMostRounds = 12;

  const PlacementProgram &program;
  const std::vector<ValueEnds> &ends;
  const llvm::ArrayRef<const PlacementDecision *> chosen;
  ReshardCosts &costs;
  int64_t left;                                  ///< assignments that may be tried, once an op
  std::vector<int> tensors;                      ///< of values: numbers
  std::vector<int> given;                        ///< of values: their sharding where no op makes them
  std::vector<llvm::SmallVector<int, 2>> always; ///< of values: what outside needs
  std::deque<NumberedOption> kept;
  std::vector<const NumberedOption *> now;         ///< of each op
  std::vector<const NumberedOption *> beforeGroup; ///< of a group's ops
  std::vector<int> touched; ///< of values: the last plan that differed there from the one it was compared to
  int plans = 0;            ///< that were compared
  std::vector<AxisRef> axesKnown;
  llvm::SmallVector<int, 8> axisNumbers; ///< of the group that is tried
  llvm::SmallVector<int64_t, 24> key;
  std::unordered_map<llvm::SmallVector<int64_t, 24>, const NumberedOption *, NumbersHash> known;
};
} // namespace

std::vector<PlacementDecision> tessera::improvedPlan(const PlacementProgram &program,
                                                     const std::vector<ValueEnds> &ends,
                                                     llvm::ArrayRef<const PlacementDecision *> chosen,
                                                     ReshardCosts &costs) {
  MoveSearch search(program, ends, chosen, costs);
  return search.run() ? search.plan() : std::vector<PlacementDecision>();
}
