//===- ProgramPlacement.cpp - Shardings of a whole block at once ----------===//
#include "tessera/AutoParallel/ProgramPlacement.h"
#include "tessera/AutoParallel/MinSum.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <cmath>
#include <functional>
#include <limits>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Entries of tables in the first search.
static constexpr int64_t kSmallTable = 1 << 14;

namespace {

/// Who makes a value and who reads it.
struct ValueEnds {
  int producer = -1, result = -1;                          ///< op and its result; -1: fixed
  llvm::SmallVector<std::pair<int, int>, 4> readers;       ///< op, operand
  llvm::SmallVector<const Sharding *, 2> outside;          ///< uses
};

std::vector<ValueEnds> endsOf(const PlacementProgram &program) {
  std::vector<ValueEnds> ends(program.values.size());
  for (auto [i, op] : llvm::enumerate(program.ops)) {
    for (auto [r, value] : llvm::enumerate(op.results))
      ends[value].producer = int(i), ends[value].result = int(r);
    for (auto [o, value] : llvm::enumerate(op.operands))
      ends[value].readers.push_back({int(i), int(o)});
  }
  for (const ProgramUse &use : program.uses)
    ends[use.value].outside.push_back(&use.sharding);
  return ends;
}

/// Adds `sharding` to `list` unless its placement is there; its index.
int indexOf(std::vector<Sharding> &list, const Sharding &sharding) {
  for (auto [i, known] : llvm::enumerate(list))
    if (known.samePlacement(sharding))
      return int(i);
  list.push_back(sharding);
  return int(list.size()) - 1;
}

/// The tables of one value: reshards from what is produced to what is needed. A reshard costs its floor until somebody wants to know better.
class ValueTables {
public:
  ValueTables(const ProgramValue &value, const ValueEnds &ends,
              const std::vector<std::vector<PlacementDecision>> &options, ReshardCosts &costs, MinSum &problem)
      : value(value), ends(ends), costs(costs), problem(problem) {
    if (ends.readers.empty() && ends.outside.empty())
      return;
    // Distinct shardings on either side; which one an option makes or needs.
    if (ends.producer < 0) {
      madeBy.push_back(indexOf(made, value.sharding));
    } else {
      for (const PlacementDecision &option : options[ends.producer])
        madeBy.push_back(indexOf(made, option.results[ends.result]));
    }
    for (auto &[op, operand] : ends.readers) {
      auto &indices = neededBy.emplace_back();
      for (const PlacementDecision &option : options[op])
        indices.push_back(indexOf(needed, option.operands[operand]));
    }
    for (const Sharding *sharding : ends.outside)
      always.push_back(indexOf(needed, *sharding));
    for (const Sharding &from : made)
      for (const Sharding &to : needed)
        times.push_back(costs.known(value.shape, value.elementBytes, from, to));
    if (ends.readers.size() + ends.outside.size() == 1)
      addDirect();
    else
      addCopies();
  }

  /// Looks up what the reshards take that happen if every op runs with the option that `chosen` says. Whether a table changed.
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
      auto &cost = costs.reshard(value.shape, value.elementBytes, made[m], needed[n]);
      known = {cost.possible ? cost.time : kInfinity, true};
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

  /// Several readers: variables say which shardings of the value are made; each once, whoever reads it. One variable for the set of them
  /// where there are few sets, else one for each sharding.
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
  std::vector<Sharding> made, needed;
  std::vector<int> madeBy, always;
  std::vector<std::vector<int>> neededBy;
  std::vector<ReshardCosts::Known> times;
  std::vector<std::pair<int, std::function<std::vector<double>()>>> timed; ///< tables with times in them, and how they are made
};

} // namespace

double tessera::programTime(const PlacementProgram &program, llvm::ArrayRef<const PlacementDecision *> chosen,
                            ReshardCosts &costs) {
  double time = 0;
  for (const PlacementDecision *decision : chosen)
    time += decision->workTime;
  for (auto [value, ends] : llvm::zip(program.values, endsOf(program))) {
    const Sharding &made = ends.producer < 0 ? value.sharding : chosen[ends.producer]->results[ends.result];
    std::vector<Sharding> needed;
    for (auto &[op, operand] : ends.readers)
      indexOf(needed, chosen[op]->operands[operand]);
    for (const Sharding *sharding : ends.outside)
      indexOf(needed, *sharding);
    for (const Sharding &sharding : needed) {
      auto &cost = costs.reshard(value.shape, value.elementBytes, made, sharding);
      time += cost.possible ? cost.time : kInfinity;
    }
  }
  return time;
}

ProgramDecision tessera::placeProgram(const PlacementProgram &program, ReshardCosts &costs,
                                      const ProgramPlacementOptions &settings) {
  auto options = placementOptions(program, costs, settings.maxOptions);
  MinSum problem;
  auto workOf = [](llvm::ArrayRef<PlacementDecision> list) {
    std::vector<double> work;
    for (const PlacementDecision &option : list)
      work.push_back(option.workTime);
    return work;
  };
  std::vector<int> works; // tables
  for (const auto &list : options)
    works.push_back(problem.addTable({problem.addVariable(int(list.size()))}, workOf(list)));
  auto ends = endsOf(program);
  std::deque<ValueTables> tables; // they stay where they are
  for (auto [value, valueEnds] : llvm::zip(program.values, ends))
    tables.emplace_back(value, valueEnds, options, costs, problem);
  // Most reshards that could be are far from what is best: their floor shows it, and no plan is searched for them. Where the best choice
  // takes reshards of which only the floor is known, they are looked up and the choice is made again, until it holds. So are those inside an op.
  MinSum::Solution solution, best;
  double bound = 0;
  // At first with small tables; where that proves nothing, what is no better than the choice found goes, and larger ones do.
  for (int64_t largest : {std::min<int64_t>(settings.largestTable, kSmallTable), settings.largestTable}) {
    for (bool changed = true; changed;) {
      solution = problem.solve(largest);
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
    best.cost = problem.costOf(best.values);
    if (solution.cost <= best.cost * (1 + 1e-12))
      best = solution;
    bound = std::max(bound, std::min(solution.lowerBound, best.cost));
    if (largest == settings.largestTable || bound >= best.cost * (1 - 1e-9) || !std::isfinite(best.cost))
      break;
    bound = std::max(bound, problem.prune(best.cost));
  }
  ProgramDecision decision;
  llvm::SmallVector<const PlacementDecision *, 32> chosen;
  for (auto [i, list] : llvm::enumerate(options)) {
    chosen.push_back(&list[best.values[i]]);
    decision.ops.push_back(list[best.values[i]]);
  }
  decision.time = programTime(program, chosen, costs);
  decision.lowerBound = std::min(bound, decision.time);
  return decision;
}
