//===- PlacementSearch.cpp - The choice among options ---------------------===//
#include "PlacementSearch.h"

#include "HeldExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Entries of tables in the first search.
static constexpr int64_t kSmallTable = 1 << 12;
/// Sums that a search with larger tables adds up at once. Where it is exact it may take more.
static constexpr double kMostSums = 1 << 24;
static constexpr double kNothing = 1e-9;

/// The tables of one value: reshards from what is produced to what is needed. A reshard costs its floor until
/// somebody wants to know better.
class PlacementSearch::ValueTables {
public:
  ValueTables(const ProgramValue &value, const ValueEnds &ends,
              const std::vector<std::vector<PlacementDecision>> &options, double priceOfByte,
              ReshardCosts &costs, MinSum &problem)
      : value(value), ends(ends), priceOfByte(priceOfByte), costs(costs), problem(problem) {
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
        times.back().time += expansionTime(value, *sharding, costs.machine) + priceOf(*sharding, from == to);
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
      known = {cost.possible ? cost.time + expansionTime(value, to, costs.machine) +
                                   priceOf(to, made[m]->samePlacement(to))
                             : kInfinity,
               true};
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

  /// Of having it in another sharding too.
  double priceOf(const Sharding &needed, bool isMade) const {
    return isMade || priceOfByte == 0 ? 0 : priceOfByte * LiveBytes::ofCopy(value, needed, costs.machine);
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
  double priceOfByte;
  ReshardCosts &costs;
  MinSum &problem;
  std::vector<const Sharding *> made, needed; ///< of options, and of whoever fixes them
  std::vector<int> madeBy, always;
  std::vector<std::vector<int>> neededBy;
  std::vector<ReshardCosts::Known> times;
  std::vector<std::pair<int, std::function<std::vector<double>()>>>
      timed; ///< tables with times in them, and how they are made
};

PlacementSearch::PlacementSearch(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
                                 Options &options, ReshardCosts &costs, llvm::ArrayRef<double> prices)
    : program(program), options(options), costs(costs), prices(prices) {
  for (size_t op = 0; op < options.size(); ++op)
    works.push_back(problem.addTable({problem.addVariable(int(options[op].size()))}, workOf(op)));
  for (auto [v, value] : llvm::enumerate(program.values))
    tables.push_back(std::make_unique<ValueTables>(value, ends[v], options, prices.empty() ? 0 : prices[v],
                                                   costs, problem));
}

PlacementSearch::~PlacementSearch() = default;

/// With what having the results costs.
std::vector<double> PlacementSearch::workOf(size_t op) const {
  std::vector<double> work;
  for (const PlacementDecision &option : options[op]) {
    work.push_back(option.workTime);
    if (!prices.empty())
      for (auto [value, sharding] : llvm::zip(program.ops[op].results, option.results))
        work.back() += prices[size_t(value)] * LiveBytes::of(program.values[size_t(value)], sharding);
  }
  return work;
}

bool PlacementSearch::proven(double upper) const {
  double least = best.values.empty() ? upper : std::min(upper, best.cost);
  return std::isfinite(least) && bound >= least * (1 - kNothing);
}

/// Most reshards that could be are far from what is best: their floor shows it, and no plan is searched for
/// them. Where the best choice takes reshards of which only the floor is known, they are looked up and the
/// choice is made again, until it holds. So are those inside an op.
void PlacementSearch::choose(int64_t largestTable, int64_t largestExact) {
  MinSum::Solution solution;
  for (bool changed = true; changed;) {
    solution = problem.solve(largestTable, largestExact);
    changed = false;
    for (auto [i, list] : llvm::enumerate(options))
      if (PlacementDecision &option = list[solution.values[i]]; option.unpriced) {
        priceDecomposed(program.ops[i], option, costs);
        problem.changeTable(works[i], workOf(i));
        changed = true;
      }
    for (auto &value : tables)
      changed |= value->lookUp(solution.values);
    solution.cost = problem.costOf(solution.values);
    // Without exact search a choice on the way may be better than the last.
    if (best.values.empty() || solution.cost < best.cost * (1 - 1e-12))
      best = solution;
  }
  if (solution.cost <= best.cost * (1 + 1e-12))
    best = solution;
  bound = std::max(bound, std::min(solution.lowerBound, best.cost));
}

bool PlacementSearch::run(double upper, int64_t largestTable) {
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
