//===- ProgramPlacement.cpp - Shardings of a whole block at once ----------===//
#include "HeldExpansion.h"
#include "PlacementMoves.h"
#include "ProgramOptions.h"
#include "ValueEnds.h"

#include "tessera/AutoParallel/MinSum.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <deque>
#include <functional>
#include <limits>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Entries of tables in the first search.
static constexpr int64_t kSmallTable = 1 << 12;
/// Sums that a search with larger tables adds up at once. Where it is exact it may take more.
static constexpr double kMostSums = 1 << 24;
/// Times that ops are offered more; a second one has not found anything yet.
static constexpr int kMostRounds = 1;
/// The part of what is sent that must be saved for it: such plans take more messages, and gathered weights
/// take memory.
static constexpr double kWorthwhile = 0.1;
/// A plan that does not send so much less must take this part of all time, and may send so many times as
/// much, or take half of it: where ranks repeat work.
static constexpr double kMuchLess = 0.75, kHardlyMore = 1.5, kHalf = 0.5;

namespace {

/// Adds `sharding` to `list` unless its placement is there; its index.
int indexOf(std::vector<Sharding> &list, const Sharding &sharding) {
  for (auto [i, known] : llvm::enumerate(list))
    if (known.samePlacement(sharding))
      return int(i);
  list.push_back(sharding);
  return int(list.size()) - 1;
}

/// The tables of one value: reshards from what is produced to what is needed. A reshard costs its floor until
/// somebody wants to know better.
class ValueTables {
public:
  ValueTables(const ProgramValue &value, const ValueEnds &ends,
              const std::vector<std::vector<PlacementDecision>> &options, ReshardCosts &costs,
              MinSum &problem)
      : value(value), ends(ends), costs(costs), problem(problem) {
    if (ends.readers.empty() && ends.outside.empty())
      return;
    // Distinct shardings on either side; which one an option makes or needs.
    Numbers sources, targets;
    if (ends.producer < 0) {
      madeBy.push_back(add(made, sources, value.sharding));
    } else {
      for (const PlacementDecision &option : options[ends.producer])
        madeBy.push_back(add(made, sources, option.results[ends.result]));
    }
    for (auto &[op, operand] : ends.readers) {
      auto &indices = neededBy.emplace_back();
      for (const PlacementDecision &option : options[op])
        indices.push_back(add(needed, targets, option.operands[operand]));
    }
    for (const Sharding *sharding : ends.outside)
      always.push_back(add(needed, targets, *sharding));
    int tensor = costs.numberOf(value.shape, value.elementBytes, value.chosen);
    times.reserve(sources.size() * targets.size());
    for (int from : sources)
      for (auto [to, sharding] : llvm::zip_equal(targets, needed)) {
        times.push_back(costs.known(tensor, from, to));
        times.back().time += expansionTime(value, *sharding, costs.machine);
      }
    if (ends.readers.size() + ends.outside.size() == 1)
      addDirect();
    else
      addCopies();
  }

  /// Looks up what the reshards take that happen if every op runs with the option that `chosen` says. Whether
  /// a table changed.
  bool lookUp(llvm::ArrayRef<int> chosen) {
    if (needed.empty())
      return false;
    size_t m = size_t(ends.producer >= 0 ? madeBy[chosen[ends.producer]] : madeBy.front());
    bool changed = false;
    auto look = [&](int n) {
      ReshardCosts::Known &known = times[m * needed.size() + size_t(n)];
      if (known.exact)
        return;
      double before = known.time;
      const Sharding &to = *needed[size_t(n)];
      auto &cost = costs.reshard(value.shape, value.elementBytes, *made[m], to, value.chosen);
      known = {cost.possible ? cost.time + expansionTime(value, to, costs.machine) : kInfinity, true};
      changed |= known.time != before;
    };
    for (auto [reader, indices] : llvm::zip(ends.readers, neededBy))
      look(indices[chosen[reader.first]]);
    for (int n : always)
      look(n);
    if (changed)
      for (auto &[table, content] : timed)
        problem.changeTable(table, content());
    return changed;
  }

private:
  using Numbers = llvm::SmallVector<int, 32>; ///< of shardings (ReshardCosts::numberOf)

  /// The index of `sharding`, which is added where it is not known.
  int add(std::vector<const Sharding *> &list, Numbers &numbers, const Sharding &sharding) const {
    int number = costs.numberOf(sharding);
    auto known = llvm::find(numbers, number);
    if (known == numbers.end()) {
      numbers.push_back(number);
      list.push_back(&sharding);
      return int(list.size()) - 1;
    }
    return int(known - numbers.begin());
  }

  double time(int m, int n) const { return times[size_t(m) * needed.size() + size_t(n)].time; }

  /// A table whose content changes with times.
  void addTimed(std::vector<int> variables, std::function<std::vector<double>()> content) {
    int table = problem.addTable(std::move(variables), content());
    timed.push_back({table, std::move(content)});
  }

  void addDirect() {
    std::vector<int> variables;
    if (ends.producer >= 0)
      variables.push_back(ends.producer);
    if (!ends.readers.empty())
      variables.push_back(ends.readers.front().first);
    addTimed(std::move(variables), [this] {
      std::vector<double> table;
      for (int m : madeBy)
        for (int n : ends.readers.empty() ? always : neededBy.front())
          table.push_back(time(m, n));
      return table;
    });
  }

  using CopySet = llvm::SmallVector<int, 4>;

  /// Several readers: variables say which shardings of the value are made; each once, whoever reads it. One
  /// variable for the set of them where there are few sets, else one for each sharding.
  void addCopies() {
    size_t atOnce = ends.readers.size() + ends.outside.size();
    if (auto sets = allSets(atOnce))
      return addSets(*sets);
    for (int n = 0; n < int(needed.size()); ++n)
      addSets({CopySet(), CopySet{n}}, n);
  }

  /// All sets of at most `most` shardings; none if they are too many.
  std::optional<std::vector<CopySet>> allSets(size_t most) const {
    std::vector<CopySet> sets = {CopySet()};
    for (size_t i = 0; i < sets.size(); ++i) {
      if (sets[i].size() == most)
        continue;
      for (int n = sets[i].empty() ? 0 : sets[i].back() + 1; n < int(needed.size()); ++n) {
        sets.push_back(sets[i]);
        sets.back().push_back(n);
        if (sets.size() > kMaxSets)
          return std::nullopt;
      }
    }
    return sets;
  }

  /// `index` is not in the set of a variable that is about all shardings, or just about `only`.
  static bool lacks(int only, llvm::ArrayRef<int> set, int index) {
    return (only < 0 || only == index) && !llvm::is_contained(set, index);
  }

  /// A variable that says which of `sets` is made. `only`: the variable is about that sharding alone.
  void addSets(const std::vector<CopySet> &sets, int only = -1) {
    int variable = problem.addVariable(int(sets.size()));
    auto costOf = [this, only](int m, llvm::ArrayRef<int> set) {
      double cost = 0;
      for (int index : set)
        cost += time(m, index);
      for (int index : always)
        if (lacks(only, set, index))
          cost = kInfinity;
      return cost;
    };
    std::vector<int> variables = {variable};
    if (ends.producer >= 0)
      variables.insert(variables.begin(), ends.producer);
    addTimed(std::move(variables), [this, sets, costOf] {
      std::vector<double> table;
      for (int m : madeBy)
        for (const CopySet &set : sets)
          table.push_back(costOf(m, set));
      return table;
    });
    for (auto [reader, indices] : llvm::zip(ends.readers, neededBy)) {
      std::vector<double> readable;
      for (int index : indices)
        for (const CopySet &set : sets)
          readable.push_back(lacks(only, set, index) ? kInfinity : 0);
      problem.addTable({reader.first, variable}, std::move(readable));
    }
  }

  static constexpr size_t kMaxSets = 400;
  const ProgramValue &value;
  const ValueEnds &ends;
  ReshardCosts &costs;
  MinSum &problem;
  std::vector<const Sharding *> made, needed; ///< of options, and of whoever fixes them
  std::vector<int> madeBy, always;
  std::vector<std::vector<int>> neededBy;
  std::vector<ReshardCosts::Known> times;
  std::vector<std::pair<int, std::function<std::vector<double>()>>>
      timed; ///< tables with times in them, and how they are made
};

/// The choice among the options that ops have.
class Search {
public:
  Search(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
         std::vector<std::vector<PlacementDecision>> &options, ReshardCosts &costs)
      : program(program), options(options), costs(costs) {
    for (const auto &list : options)
      works.push_back(problem.addTable({problem.addVariable(int(list.size()))}, workOf(list)));
    for (auto [value, valueEnds] : llvm::zip(program.values, ends))
      tables.emplace_back(value, valueEnds, options, costs, problem);
  }

  /// Looks for what takes less than `upper`; whether there is something. At first with small tables; what is
  /// no better than a choice found goes, and where that proves nothing, larger tables do.
  bool run(double upper, int64_t largestTable) {
    int64_t small = std::min<int64_t>(largestTable, kSmallTable);
    if (std::isfinite(upper))
      bound = problem.prune(upper);
    for (double before = kInfinity; !proven(upper);) {
      choose(small);
      if (proven(upper) || !std::isfinite(best.cost))
        break;
      if (best.cost >= before * (1 - kNothing)) {
        int64_t large = largestTable;
        for (; large > small; large /= 4)
          if (auto effort = problem.effort(large, 2 * large); effort.exact || effort.sums <= kMostSums)
            break;
        choose(large, 2 * large);
        break;
      }
      before = best.cost;
      bound = std::max(bound, problem.prune(std::min(upper, best.cost)));
    }
    bound = std::min(bound, upper);
    return !best.values.empty() && (best.cost < upper * (1 - kNothing) || !std::isfinite(upper));
  }

  MinSum::Solution best;
  double bound = 0;

private:
  static constexpr double kNothing = 1e-9;

  bool proven(double upper) const {
    double least = best.values.empty() ? upper : std::min(upper, best.cost);
    return std::isfinite(least) && bound >= least * (1 - kNothing);
  }

  static std::vector<double> workOf(llvm::ArrayRef<PlacementDecision> list) {
    std::vector<double> work;
    for (const PlacementDecision &option : list)
      work.push_back(option.workTime);
    return work;
  }

  /// Most reshards that could be are far from what is best: their floor shows it, and no plan is searched for
  /// them. Where the best choice takes reshards of which only the floor is known, they are looked up and the
  /// choice is made again, until it holds. So are those inside an op.
  void choose(int64_t largestTable, int64_t largestExact = 0) {
    MinSum::Solution solution;
    for (bool changed = true; changed;) {
      solution = problem.solve(largestTable, largestExact);
      changed = false;
      for (auto [i, list] : llvm::enumerate(options))
        if (PlacementDecision &option = list[solution.values[i]]; option.unpriced) {
          priceDecomposed(program.ops[i], option, costs);
          problem.changeTable(works[i], workOf(list));
          changed = true;
        }
      for (ValueTables &value : tables)
        changed |= value.lookUp(solution.values);
      solution.cost = problem.costOf(solution.values);
      // Without exact search a choice on the way may be better than the last.
      if (best.values.empty() || solution.cost < best.cost * (1 - 1e-12))
        best = solution;
    }
    if (solution.cost <= best.cost * (1 + 1e-12))
      best = solution;
    bound = std::max(bound, std::min(solution.lowerBound, best.cost));
  }

  const PlacementProgram &program;
  std::vector<std::vector<PlacementDecision>> &options;
  ReshardCosts &costs;
  MinSum problem;
  std::vector<int> works;         ///< tables
  std::deque<ValueTables> tables; ///< they stay where they are
};

/// Calls `visit` with the seconds of each reshard that happens, its value and the ops that read the result.
template <typename Visit>
void forEachReshard(const PlacementProgram &program, const std::vector<ValueEnds> &allEnds,
                    llvm::ArrayRef<const PlacementDecision *> chosen, ReshardCosts &costs, Visit visit) {
  for (auto [value, ends] : llvm::zip(program.values, allEnds)) {
    const Sharding &made = ends.producer < 0 ? value.sharding : chosen[ends.producer]->results[ends.result];
    std::vector<Sharding> needed;
    std::vector<llvm::SmallVector<int, 4>> readers;
    auto need = [&](const Sharding &sharding, int op) {
      size_t index = size_t(indexOf(needed, sharding));
      readers.resize(needed.size());
      if (op >= 0)
        readers[index].push_back(op);
    };
    for (auto &[op, operand] : ends.readers)
      need(chosen[op]->operands[operand], op);
    for (const Sharding *sharding : ends.outside)
      need(*sharding, -1);
    for (auto [sharding, ops] : llvm::zip(needed, readers)) {
      auto &cost = costs.reshard(value.shape, value.elementBytes, made, sharding, value.chosen);
      visit(cost.possible ? cost.time + expansionTime(value, sharding, costs.machine) : kInfinity, ends, ops);
    }
  }
}

double timeOf(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
              llvm::ArrayRef<const PlacementDecision *> chosen, ReshardCosts &costs) {
  double time = 0;
  for (const PlacementDecision *decision : chosen)
    time += decision->workTime;
  forEachReshard(program, ends, chosen, costs,
                 [&](double reshard, const ValueEnds &, llvm::ArrayRef<int>) { time += reshard; });
  return time;
}

/// Seconds that `time` is more than the work of all ops: what is sent, inside them too.
double sentOf(const PlacementProgram &program, llvm::ArrayRef<const PlacementDecision *> chosen, double time,
              const Machine &machine) {
  for (auto [op, decision] : llvm::zip(program.ops, chosen))
    time -= workTime(machine, op.type, op.flops, op.bytes, workFraction(op.rule, decision->factorAxes));
  return time;
}

/// A placement in the making.
class Placer {
public:
  Placer(const PlacementProgram &program, ReshardCosts &costs, const ProgramPlacementOptions &settings)
      : program(program), costs(costs), settings(settings), ends(endsOf(program)),
        maker(makeProgramOptions(program, costs, settings.maxOptions)), options(decision.options) {}

  ProgramDecision run() {
    options = maker->first();
    {
      Search search(program, ends, options, costs);
      search.run(kInfinity, settings.largestTable);
      take(search.best);
      decision.lowerBound = std::min(search.bound, decision.time);
    }
    if (settings.widen && std::isfinite(decision.time)) {
      for (int round = 0; round < kMostRounds && offerMore(); ++round)
        ;
      moveAxes();
    }
    decision.sent = sent();
    for (const PlacementDecision *option : chosen)
      decision.ops.push_back(*option);
    return std::move(decision);
  }

private:
  void take(const MinSum::Solution &solution) {
    indices.assign(solution.values.begin(), solution.values.begin() + ptrdiff_t(options.size()));
    look();
  }

  /// After `indices` changed, or lists of options moved.
  void look() {
    chosen.clear();
    for (auto [list, index] : llvm::zip(options, indices))
      chosen.push_back(&list[index]);
    decision.time = timeOf(program, ends, chosen, costs);
  }

  double sent() const { return sentOf(program, chosen, decision.time, costs.machine); }

  /// A choice to come back to.
  struct Known {
    std::vector<int> indices;
    std::vector<size_t> counts; ///< of options
    double time, sent, bound;
  };
  Known known() const {
    Known now = {indices, {}, decision.time, sent(), decision.lowerBound};
    for (const auto &list : options)
      now.counts.push_back(list.size());
    return now;
  }
  /// And forgets options that came after.
  void restore(Known known) {
    indices = std::move(known.indices);
    for (auto [list, count] : llvm::zip(options, known.counts))
      list.resize(count);
    look();
    decision.lowerBound = known.bound;
  }

  /// Offers more to ops that pay much. Taken only if much less is sent for it: work alone is no reason for
  /// collectives that else nobody needs. Whether it is.
  bool offerMore() {
    std::vector<double> paid(program.ops.size(), 0);
    forEachReshard(program, ends, chosen, costs,
                   [&](double time, const ValueEnds &valueEnds, llvm::ArrayRef<int> readers) {
                     if (valueEnds.producer >= 0)
                       paid[valueEnds.producer] += time;
                     for (int op : readers)
                       paid[op] += time;
                   });
    Known before = known();
    if (!maker->widen(paid, options)) {
      look(); // lists may have moved
      return false;
    }
    Search search(program, ends, options, costs);
    bool better = search.run(decision.time, settings.largestTable);
    if (better)
      take(search.best);
    else
      look();
    if (better && !settings.anyGain && sent() >= before.sent * (1 - kWorthwhile)) {
      restore(std::move(before));
      return false;
    }
    decision.lowerBound = std::min(search.bound, decision.time);
    decision.widened |= better;
    return better;
  }

  /// Axes in orders and selections that no hint says. Taken if much less is sent for it, or if it takes half
  /// the time: where a rank repeated what others do.
  void moveAxes() {
    auto plan = improvedPlan(program, ends, chosen, costs);
    if (plan.empty())
      return;
    Known before = known();
    for (auto [list, index, option] : llvm::zip(options, indices, plan)) {
      const PlacementDecision &old = list[index];
      if (option.operands == old.operands && option.results == old.results)
        continue;
      index = int(list.size());
      list.push_back(std::move(option));
    }
    look();
    auto isWorthwhile = [&] {
      return settings.anyGain || sent() < before.sent * (1 - kWorthwhile) ||
             decision.time < before.time * (sent() < before.sent * kHardlyMore ? kMuchLess : kHalf);
    };
    if (!isWorthwhile())
      return restore(std::move(before));
    // The plan's options among the others: some ops may be better off as they were.
    Search search(program, ends, options, costs);
    if (search.run(decision.time, settings.largestTable))
      take(search.best);
    if (!isWorthwhile())
      return restore(std::move(before));
    decision.lowerBound = std::min(search.bound, decision.time);
    decision.widened = true;
  }

  const PlacementProgram &program;
  ReshardCosts &costs;
  const ProgramPlacementOptions &settings;
  const std::vector<ValueEnds> ends;
  std::unique_ptr<ProgramOptions> maker;
  ProgramDecision decision;
  std::vector<std::vector<PlacementDecision>> &options;
  std::vector<int> indices; ///< of the options chosen
  llvm::SmallVector<const PlacementDecision *, 32> chosen;
};
} // namespace

double tessera::programTime(const PlacementProgram &program, llvm::ArrayRef<const PlacementDecision *> chosen,
                            ReshardCosts &costs) {
  return timeOf(program, endsOf(program), chosen, costs);
}

ProgramDecision tessera::placeProgram(const PlacementProgram &program, ReshardCosts &costs,
                                      const ProgramPlacementOptions &settings) {
  return Placer(program, costs, settings).run();
}
