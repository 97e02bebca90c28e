//===- AllAssignments.cpp - The best of all assignments of axes -----------===//
#include "AllAssignments.h"

#include "AxisLists.h"
#include "HeldExpansion.h"
#include "ProgramOptions.h"

#include "tessera/AutoParallel/SearchWork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNothing = 1e-9;
static constexpr size_t kMostAxes = 6;
/// Of programs with at most kFewAssignments, and of others (OfMany).
static constexpr double kFewAssignments = 1 << 22;
/// Assignments of single ops, added up: each is made an option.
static constexpr double kMostListed = 1 << 14, kMostListedOfMany = 2100;
/// Options that are tried behind others, in all.
static constexpr int64_t kMostSteps = 1 << 21, kMostStepsOfMany = 1 << 19;

namespace {

/// An option, with the numbers that its values' tables know its shardings by.
struct Choice {
  PlacementDecision option;
  llvm::SmallVector<int, 4> operands, results;
  /// Seconds of a plan with it that are this op's alone: its work, and reshards from what is given and to
  /// what is needed outside.
  double least = 0;
  double order = 0; ///< `least` as it was when lists were sorted
};

/// Seconds of reshards of one value.
class ValueTimes {
public:
  ValueTimes(const ProgramValue &value, ReshardCosts &costs)
      : value(value), costs(costs), tensor(costs.numberOf(value.shape, value.elementBytes, value.chosen)) {}

  int made(const Sharding &sharding) { return numberOf(sharding, sources); }
  int needed(const Sharding &sharding) {
    int number = numberOf(sharding, targets);
    if (number == int(expansions.size()))
      expansions.push_back(expansionTime(value, sharding, costs.machine));
    return number;
  }
  /// As it is known.
  double at(int from, int to) {
    double &time = entry(from, to);
    if (time < 0)
      time = costs.known(tensor, sources[size_t(from)], targets[size_t(to)]).time + expansions[size_t(to)];
    return time;
  }
  /// As its plan says.
  double planned(int from, const Sharding &made, int to, const Sharding &needed) {
    auto &cost = costs.reshard(value.shape, value.elementBytes, made, needed, value.chosen);
    return entry(from, to) = cost.possible ? cost.time + expansions[size_t(to)] : kInfinity;
  }

private:
  int numberOf(const Sharding &sharding, std::vector<int> &list) {
    int number = costs.numberOf(sharding);
    auto known = llvm::find(list, number);
    if (known != list.end())
      return int(known - list.begin());
    list.push_back(number);
    return int(list.size()) - 1;
  }
  double &entry(int from, int to) {
    rows.resize(sources.size());
    std::vector<double> &row = rows[size_t(from)];
    row.resize(targets.size(), -1);
    return row[size_t(to)];
  }

  const ProgramValue &value;
  ReshardCosts &costs;
  const int tensor;
  std::vector<int> sources, targets; ///< numbers of ReshardCosts
  std::vector<double> expansions;    ///< of targets
  std::vector<std::vector<double>> rows;
};

/// Axes that something lies over, and `others`, cut so that none overlap.
AxisList axesOf(const PlacementProgram &program, const AxisList &others) {
  AxisList used = others;
  auto take = [&](const Sharding &sharding) {
    for (const AxisRef &axis : sharding.usedAxes())
      used.push_back(axis);
  };
  for (const ProgramValue &value : program.values)
    take(value.sharding);
  for (const ProgramUse &use : program.uses)
    take(use.sharding);
  return cutAlike(used);
}

class Search {
public:
  Search(const PlacementProgram &program, const std::vector<ValueEnds> &ends, ReshardCosts &costs,
         AxisList axes)
      : program(program), ends(ends), costs(costs), axes(std::move(axes)) {
    for (auto [value, valueEnds] : llvm::zip(program.values, ends)) {
      ValueTimes &valueTimes = times.emplace_back(value, costs);
      auto &list = always.emplace_back();
      for (const Sharding *sharding : valueEnds.outside)
        if (int number = valueTimes.needed(*sharding); !llvm::is_contained(list, number))
          list.push_back(number);
      made.push_back(valueEnds.producer < 0 ? valueTimes.made(value.sharding) : -1);
      mayBeSum.push_back(valueEnds.producer < 0 && value.sharding.partialKind == PartialKind::Sum);
      mayBeMax.push_back(valueEnds.producer < 0 && value.sharding.partialKind == PartialKind::Max);
    }
    needs = always;
  }

  bool isSmall() {
    if (axes.size() > kMostAxes)
      return false;
    double product = 1, sum = 0;
    for (const ProgramOp &op : program.ops) {
      size_t factors = 0;
      for (size_t f = 0; f < op.rule.factors.size(); ++f)
        factors += mayShard(op, f);
      const double assignments = countAssignments(axes.size(), factors);
      product *= assignments;
      sum += assignments;
      if (product > kMostAssignments || sum > kMostListed)
        return false;
    }
    if (product <= kFewAssignments)
      return true;
    mostSteps = kMostStepsOfMany;
    return sum <= kMostListedOfMany;
  }

  AllAssignments run(const std::vector<std::vector<PlacementDecision>> &options, double upper) {
    best.time = upper;
    for (auto [i, op, list] : llvm::enumerate(program.ops, options)) {
      auto &choices = lists.emplace_back();
      known.clear();
      for (const PlacementDecision &option : list)
        add(int(i), option);
      chosen.assign(op.rule.factors.size(), AxisList());
      assign(int(i), 0);
      for (auto &[key, choice] : known)
        choices.push_back(choice);
      noteSums(op);
    }
    if (keepGood()) {
      now.assign(program.ops.size(), nullptr);
      best.complete = true;
      visit(0, given());
    }
    searchWork().tableEntries += steps;
    return std::move(best);
  }

private:
  //===--- Options ----------------------------------------------------------===//

  static bool mayShard(const ProgramOp &op, size_t f) {
    const Factor &factor = op.rule.factors[f];
    bool whole = factor.kind == FactorKind::NeedReplication &&
                 !(op.decomposition && llvm::is_contained(op.decomposition->factors, int(f)));
    return !whole && factor.size > 1;
  }

  /// Axes `next` and later on at most one factor each, in every order.
  void assign(int op, size_t next) {
    const ProgramOp &info = program.ops[size_t(op)];
    if (next == axes.size())
      return addAssignment(op, info);
    assign(op, next + 1);
    for (auto [f, list] : llvm::enumerate(chosen))
      if (mayShard(info, f) && axesSize(list) * axes[next].size <= info.rule.factors[f].size)
        for (size_t at = 0; at <= list.size(); ++at) {
          list.insert(list.begin() + ptrdiff_t(at), axes[next]);
          assign(op, next + 1);
          list.erase(list.begin() + ptrdiff_t(at));
        }
  }

  /// What is chosen, with every sum over other axes that a group of operands could come as.
  void addAssignment(int i, const ProgramOp &op) {
    llvm::SmallVector<AxisList, 8> lists(chosen.begin(), chosen.end());
    AxisList used, decomposed;
    for (auto [f, list] : llvm::enumerate(lists)) {
      used.append(list.begin(), list.end());
      if (op.decomposition && llvm::is_contained(op.decomposition->factors, int(f)))
        decomposed.append(list.begin(), list.end());
      mergeAdjacent(list);
    }
    PartialKind kind = PartialKind::None;
    auto reduced = reducedAxes(op.rule, lists, kind);
    auto option = reduced ? optionAnywhere(program, op, costs, lists) : std::nullopt;
    if (!option)
      return;
    if (!decomposed.empty())
      return forEachDecomposed(op, *option, decomposed,
                               [&](PlacementDecision variant) { add(i, std::move(variant)); });
    auto addOpen = [&](PlacementDecision variant, AxisList sums, PartialKind sumsKind) {
      leaveOpen(variant, std::move(sums), sumsKind);
      add(i, std::move(variant));
    };
    addOpen(*option, *reduced, kind);
    for (PartialKind wanted : {PartialKind::Sum, PartialKind::Max})
      for (const auto &group : wanted == PartialKind::Sum ? op.rule.linear : op.rule.maxLinear) {
        const auto &mayBe = wanted == PartialKind::Sum ? mayBeSum : mayBeMax;
        if ((kind != PartialKind::None && kind != wanted) ||
            llvm::none_of(group, [&](int operand) { return mayBe[size_t(op.operands[size_t(operand)])]; }))
          continue;
        for (unsigned set = 1; set < 1u << axes.size(); ++set) {
          AxisList open;
          for (auto [a, axis] : llvm::enumerate(axes))
            if (set & 1u << a)
              open.push_back(axis);
          if (overlap(open, used))
            continue;
          mergeAdjacent(open);
          PlacementDecision kept = *option;
          for (int operand : group) {
            kept.operands[size_t(operand)].partial = open;
            kept.operands[size_t(operand)].partialKind = wanted;
          }
          AxisList all = *reduced;
          all.append(open.begin(), open.end());
          addOpen(std::move(kept), std::move(all), wanted);
        }
      }
  }

  /// Of options that are alike outside the one with less work stays.
  void add(int i, PlacementDecision option) {
    const ProgramOp &op = program.ops[size_t(i)];
    Choice choice;
    for (auto [value, sharding] : llvm::zip(op.operands, option.operands))
      choice.operands.push_back(times[size_t(value)].needed(sharding));
    for (auto [value, sharding] : llvm::zip(op.results, option.results))
      choice.results.push_back(times[size_t(value)].made(sharding));
    std::vector<int> key(choice.operands.begin(), choice.operands.end());
    key.insert(key.end(), choice.results.begin(), choice.results.end());
    key.push_back(option.unpriced);
    auto [it, isNew] = known.try_emplace(std::move(key), nullptr);
    if (!isNew && it->second->option.workTime <= option.workTime)
      return;
    choice.option = std::move(option);
    choice.least = choice.order = leastOf(i, choice);
    if (isNew)
      it->second = &kept.emplace_back(std::move(choice));
    else
      *it->second = std::move(choice);
  }

  /// A value that is given is brought to what its first reader needs, whoever else reads it.
  bool isFirst(int op, size_t operand) const {
    int value = program.ops[size_t(op)].operands[operand];
    const ValueEnds &valueEnds = ends[size_t(value)];
    return valueEnds.producer < 0 && valueEnds.readers.front() == std::make_pair(op, int(operand));
  }

  double leastOf(int i, const Choice &choice) {
    const ProgramOp &op = program.ops[size_t(i)];
    double time = choice.option.workTime;
    for (auto [o, value, to] : llvm::enumerate(op.operands, choice.operands))
      if (isFirst(i, o) && !llvm::is_contained(always[size_t(value)], to))
        time += times[size_t(value)].at(made[size_t(value)], to);
    for (auto [value, from] : llvm::zip(op.results, choice.results))
      for (int to : always[size_t(value)])
        time += times[size_t(value)].at(from, to);
    return time;
  }

  /// Whether the op's results may be partial, in some plan.
  void noteSums(const ProgramOp &op) {
    auto reduces = [&](PartialKind kind) {
      return llvm::any_of(op.rule.factors, [&](const Factor &factor) {
        return factor.kind == FactorKind::Reduction && factor.combine == kind;
      });
    };
    auto passes = [&](const auto &groups, const std::vector<bool> &mayBe) {
      return llvm::any_of(groups, [&](const auto &group) {
        return llvm::any_of(group, [&](int operand) { return mayBe[size_t(op.operands[size_t(operand)])]; });
      });
    };
    bool sum = reduces(PartialKind::Sum) || passes(op.rule.linear, mayBeSum) ||
               (op.decomposition && !openResults(*op.decomposition).empty());
    bool max = reduces(PartialKind::Max) || passes(op.rule.maxLinear, mayBeMax);
    for (int result : op.results) {
      mayBeSum[size_t(result)] = sum;
      mayBeMax[size_t(result)] = max;
    }
  }

  //===--- Search -----------------------------------------------------------===//

  /// Values that are given and handed out.
  double given() {
    double time = 0;
    for (auto [v, valueEnds] : llvm::enumerate(ends))
      if (valueEnds.producer < 0)
        for (int to : always[v])
          time += times[v].at(made[v], to);
    return time;
  }

  bool isGood(double time) const { return time < best.time * (1 - kNothing); }

  /// Leaves options that a better plan could have, cheap ones first. Whether there is one for each op.
  bool keepGood() {
    rest.assign(lists.size() + 1, 0);
    for (size_t i = lists.size(); i-- > 0;) {
      double least = kInfinity;
      for (const Choice *choice : lists[i])
        least = std::min(least, choice->least);
      rest[i] = rest[i + 1] + least;
    }
    for (auto [i, list] : llvm::enumerate(lists)) {
      double others = given() + rest.front() - (rest[i] - rest[i + 1]);
      llvm::erase_if(list, [&](const Choice *choice) { return !isGood(others + choice->least); });
      llvm::sort(list, [](const Choice *a, const Choice *b) {
        return std::tie(a->least, a->operands, a->results) < std::tie(b->least, b->operands, b->results);
      });
    }
    bool any = llvm::none_of(lists, [](const auto &list) { return list.empty(); });
    best.complete = !any; // nothing is better
    return any;
  }

  /// `time`: of what is decided, ops before `i`.
  void visit(size_t i, double time) {
    if (i == lists.size())
      return finish();
    const ProgramOp &op = program.ops[i];
    for (Choice *choice : lists[i]) {
      if (!isGood(time + choice->order + rest[i + 1]) || !best.complete)
        return;
      if (++steps > mostSteps) {
        best.complete = false;
        return;
      }
      double sum = time + choice->least;
      size_t noted = 0; // operands
      for (auto [o, value, to] : llvm::enumerate(op.operands, choice->operands)) {
        auto &list = needs[size_t(value)];
        if (!isFirst(int(i), o) && !llvm::is_contained(list, to))
          sum += times[size_t(value)].at(made[size_t(value)], to);
        list.push_back(to);
        ++noted;
        if (!isGood(sum + rest[i + 1]))
          break;
      }
      if (isGood(sum + rest[i + 1])) {
        for (auto [value, from] : llvm::zip(op.results, choice->results))
          made[size_t(value)] = from;
        now[i] = choice;
        visit(i + 1, sum);
      }
      for (int value : llvm::ArrayRef(op.operands).take_front(noted))
        needs[size_t(value)].pop_back();
    }
  }

  /// All ops are decided: what it takes with everything planned.
  void finish() {
    double time = 0;
    for (auto [i, op] : llvm::enumerate(program.ops)) {
      Choice &choice = *now[i];
      if (choice.option.unpriced) {
        double before = choice.option.workTime;
        priceDecomposed(op, choice.option, costs);
        choice.least += choice.option.workTime - before;
      }
      time += choice.option.workTime;
    }
    for (auto [v, valueEnds] : llvm::enumerate(ends)) {
      const Sharding &from = valueEnds.producer < 0
                                 ? program.values[v].sharding
                                 : now[size_t(valueEnds.producer)]->option.results[size_t(valueEnds.result)];
      llvm::SmallVector<int, 8> seen;
      auto need = [&, v = v](int to, const Sharding &sharding) {
        if (llvm::is_contained(seen, to))
          return;
        seen.push_back(to);
        if (!from.samePlacement(sharding))
          time += times[v].planned(made[v], from, to, sharding);
      };
      for (const Sharding *sharding : valueEnds.outside)
        need(times[v].needed(*sharding), *sharding);
      for (auto &[op, operand] : valueEnds.readers)
        need(now[size_t(op)]->operands[size_t(operand)], now[size_t(op)]->option.operands[size_t(operand)]);
    }
    if (!isGood(time))
      return;
    best.time = time;
    best.plan.clear();
    for (const Choice *choice : now)
      best.plan.push_back(choice->option);
  }

  const PlacementProgram &program;
  const std::vector<ValueEnds> &ends;
  ReshardCosts &costs;
  const AxisList axes;
  std::deque<ValueTimes> times;
  std::vector<llvm::SmallVector<int, 2>> always; ///< of values: what outside needs
  std::vector<bool> mayBeSum, mayBeMax;          ///< of values
  std::deque<Choice> kept;
  std::map<std::vector<int>, Choice *> known; ///< of the op at hand
  llvm::SmallVector<AxisList, 8> chosen;      ///< of its factors
  std::vector<std::vector<Choice *>> lists;   ///< of ops
  std::vector<double> rest;                   ///< least seconds of an op and those behind it
  std::vector<int> made;                      ///< of values
  std::vector<llvm::SmallVector<int, 2>> needs;
  std::vector<Choice *> now;
  int64_t steps = 0, mostSteps = kMostSteps;
  AllAssignments best;
};
} // namespace

AllAssignments tessera::searchAllAssignments(const PlacementProgram &program,
                                             const std::vector<ValueEnds> &ends,
                                             const std::vector<std::vector<PlacementDecision>> &options,
                                             double time, ReshardCosts &costs, const AxisList &idle) {
  AxisList axes = axesOf(program, idle);
  if (!idle.empty() && axes.size() == axesOf(program, {}).size())
    return {false, time, {}};
  Search search(program, ends, costs, std::move(axes));
  if (!search.isSmall())
    return {false, time, {}};
  return search.run(options, time);
}
