//===- PlacementWithin.cpp - A placement that few bytes do for ------------===//
#include "PlacementWithin.h"

#include "AxisLists.h"
#include "HeldExpansion.h"
#include "LiveBytes.h"
#include "MoveGroups.h"
#include "PlacementSearch.h"
#include "ProgramOptions.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNothing = 1e-9;
/// Searches with other prices; the factor that a price is raised by.
static constexpr int kMostPrices = 8;
static constexpr double kRaise = 8;
/// Where nothing fits, prices are raised for what has more than this part of the least there is so far.
static constexpr double kLess = 0.8;
/// Entries of tables while prices are looked for.
static constexpr int64_t kTableOfPrices = 1 << 16;
/// Partial assignments that are looked at, of ops that have a choice: more than kAllWithin have.
static constexpr int64_t kMostNodes = 1 << 20;
/// Axes that are added to an op's factors give it so many options at most.
static constexpr size_t kMostAdded = 24;

namespace {

struct Plan {
  std::vector<int> indices;
  double overflow = kInfinity; ///< bytes beyond the limit
  double time = kInfinity;
  bool isBetterThan(double otherOverflow, double otherTime) const {
    return overflow < otherOverflow * (1 - kNothing) ||
           (overflow <= otherOverflow * (1 + kNothing) && time < otherTime * (1 - kNothing));
  }
};

class Within {
public:
  using Options = std::vector<std::vector<PlacementDecision>>;

  Within(const PlacementProgram &program, const std::vector<ValueEnds> &ends, Options &options, double limit,
         ReshardCosts &costs)
      : program(program), ends(ends), options(options), limit(limit), costs(costs),
        live(program, costs.machine) {}

  std::vector<int> run(llvm::ArrayRef<int> now, llvm::ArrayRef<AxisRef> idle) {
    weigh(std::vector<int>(now.begin(), now.end()));
    llvm::SmallVector<int, 16> all(program.ops.size());
    std::iota(all.begin(), all.end(), 0);
    AxisList axes = makeGroup(program, ends, all, decisions(best.indices)).axes;
    for (const AxisRef &axis : idle)
      if (!overlap(axis, axes))
        axes.push_back(axis);
    offerAdded(axes);
    raisePrices();
    if (offerAll(axes) || assignments(options) <= kAllWithin)
      lookAtAll();
    return best.indices;
  }

private:
  llvm::SmallVector<const PlacementDecision *, 32> decisions(llvm::ArrayRef<int> indices) const {
    llvm::SmallVector<const PlacementDecision *, 32> result;
    for (auto [list, index] : llvm::zip(options, indices))
      result.push_back(&list[size_t(index)]);
    return result;
  }

  double beyond(double bytes) const { return std::max(0.0, bytes - limit); }

  /// Keeps the choice if it is better. The largest of its bytes.
  double weigh(std::vector<int> indices) {
    auto chosen = decisions(indices);
    Plan plan = {std::move(indices), 0, programTime(program, chosen, costs)};
    double bytes = live.most(chosen);
    plan.overflow = beyond(bytes);
    if (std::isfinite(plan.time) && (best.indices.empty() || plan.isBetterThan(best.overflow, best.time)))
      best = std::move(plan);
    return bytes;
  }

  //===--- Prices -----------------------------------------------------------===//

  void raisePrices() {
    std::vector<double> prices(size_t(live.times()), 0), fits;
    // A byte that costs so much is worth all the time that the plan takes.
    const double whole = best.time / std::max(1.0, best.overflow + limit);
    for (int round = 0; round < kMostPrices; ++round) {
      llvm::SmallVector<double> bytes(live.of(decisions(last.empty() ? best.indices : last)));
      const double aim = std::max(limit, best.overflow > 0 ? kLess * (best.overflow + limit) : limit);
      const double most = *std::max_element(bytes.begin(), bytes.end());
      if (most <= limit) {
        // What fits may take less time at lower prices.
        fits = prices;
        for (double &price : prices)
          price /= std::sqrt(kRaise) * kRaise;
      } else if (!fits.empty()) {
        for (auto [price, enough] : llvm::zip(prices, fits))
          price = std::sqrt(std::max(price, enough / (kRaise * kRaise)) * enough);
      } else {
        for (auto [price, has] : llvm::zip(prices, bytes))
          if (has > aim)
            price = std::max(price * kRaise, whole / kRaise);
      }
      if (!search(prices))
        return;
    }
  }

  /// The choice at these prices. Whether there is one.
  bool search(llvm::ArrayRef<double> pricesOfTimes) {
    std::vector<double> prices;
    for (int value = 0; value < int(program.values.size()); ++value) {
      auto [first, final] = live.lifeOf(value);
      prices.push_back(
          std::accumulate(pricesOfTimes.begin() + first, pricesOfTimes.begin() + final + 1, 0.0));
    }
    PlacementSearch search(program, ends, options, costs, prices);
    search.run(kInfinity, kTableOfPrices);
    if (!std::isfinite(search.best.cost))
      return false;
    last.assign(search.best.values.begin(), search.best.values.begin() + ptrdiff_t(options.size()));
    weigh(last);
    return true;
  }

  //===--- Options ----------------------------------------------------------===//

  static double assignments(const Options &options) {
    double count = 1;
    for (const auto &list : options)
      count *= double(list.size());
    return count;
  }

  /// Axes that the plan leaves idle in an op, one or two of them behind those of a factor.
  void offerAdded(llvm::ArrayRef<AxisRef> axes) {
    for (auto [i, op] : llvm::enumerate(program.ops)) {
      std::vector<llvm::SmallVector<AxisList, 8>> bases = {options[i][size_t(best.indices[i])].factorAxes};
      std::vector<PlacementDecision> added;
      for (int round = 0; round < 2; ++round) {
        std::vector<llvm::SmallVector<AxisList, 8>> longer;
        for (const auto &base : bases)
          for (const AxisRef &axis : axes)
            for (size_t f = 0; f < base.size() && added.size() < kMostAdded; ++f) {
              auto lists = base;
              if (llvm::any_of(base, [&](const AxisList &list) { return overlap(axis, list); }))
                continue;
              lists[f].push_back(axis);
              mergeAdjacent(lists[f]);
              if (auto option = assignedOption(program, op, costs, lists)) {
                longer.push_back(lists);
                added.push_back(std::move(*option));
              }
            }
        bases = std::move(longer);
      }
      addNew(options[i], std::move(added));
    }
  }

  static bool isSame(const PlacementDecision &a, const PlacementDecision &b) {
    return a.factorAxes == b.factorAxes && a.operands == b.operands && a.results == b.results;
  }
  static void addNew(std::vector<PlacementDecision> &known, std::vector<PlacementDecision> more) {
    for (PlacementDecision &option : more)
      if (llvm::none_of(known, [&](const PlacementDecision &other) { return isSame(option, other); }))
        known.push_back(std::move(option));
  }

  /// All assignments of axes to factors, if they are few. Whether they are.
  bool offerAll(llvm::ArrayRef<AxisRef> axes) {
    Options all;
    for (auto [i, op] : llvm::enumerate(program.ops)) {
      all.push_back(allOptions(program, op, costs, axes, size_t(kAllWithin / assignments(all))));
      if (all.back().empty())
        return false;
    }
    Options with = options;
    for (auto [list, more] : llvm::zip(with, all))
      addNew(list, std::move(more));
    if (assignments(with) > kAllWithin)
      return false;
    options = std::move(with);
    return true;
  }

  //===--- All assignments --------------------------------------------------===//

  using Numbers = llvm::SmallVector<int, 4>; ///< of shardings (ReshardCosts::numberOf)

  /// Depth first, op by op. A part of an assignment takes at least its own bytes and time, and the least
  /// work of the ops that are left.
  void lookAtAll() {
    nodes = 0;
    for (const ProgramValue &value : program.values)
      tensors.push_back(costs.numberOf(value.shape, value.elementBytes, value.chosen));
    numbers.resize(options.size());
    leastWork.assign(options.size() + 1, 0);
    for (size_t op = options.size(); op-- > 0;) {
      double least = kInfinity;
      for (PlacementDecision &option : options[op]) {
        priceDecomposed(program.ops[op], option, costs);
        least = std::min(least, option.workTime);
        auto &made = numbers[op].emplace_back();
        for (const Sharding &sharding : option.operands)
          made.first.push_back(costs.numberOf(sharding));
        for (const Sharding &sharding : option.results)
          made.second.push_back(costs.numberOf(sharding));
      }
      leastWork[op] = leastWork[op + 1] + least;
    }
    copies.assign(program.values.size(), {});
    double time = 0;
    for (size_t value = 0; value < program.values.size(); ++value)
      if (ends[value].producer < 0)
        time += make(int(value), program.values[value].sharding);
    chosen.clear();
    indices.clear();
    visit(time);
  }

  /// A value is made in a sharding; what outside needs of it takes so many seconds.
  double make(int value, const Sharding &sharding) {
    copies[size_t(value)] = {costs.numberOf(sharding)};
    double time = 0;
    for (const Sharding *needed : ends[size_t(value)].outside)
      time += need(value, costs.numberOf(*needed), *needed);
    return time;
  }

  /// A value is needed in a sharding: seconds, unless it is there so.
  double need(int value, int number, const Sharding &sharding) {
    Numbers &known = copies[size_t(value)];
    if (llvm::is_contained(known, number))
      return 0;
    known.push_back(number);
    return costs.known(tensors[size_t(value)], known.front(), number).time +
           expansionTime(program.values[size_t(value)], sharding, costs.machine);
  }

  void visit(double time) {
    const size_t op = chosen.size();
    if (op < options.size() && options[op].size() > 1 && ++nodes > kMostNodes)
      return;
    const double overflow = beyond(live.most(chosen));
    if (!Plan{{}, overflow, time + leastWork[op]}.isBetterThan(best.overflow, best.time))
      return;
    if (op == options.size()) {
      weigh(indices);
      return;
    }
    const ProgramOp &info = program.ops[op];
    for (auto [i, option] : llvm::enumerate(options[op])) {
      llvm::SmallVector<size_t, 4> before;
      double more = time + option.workTime;
      for (auto [o, value] : llvm::enumerate(info.operands)) {
        before.push_back(copies[size_t(value)].size());
        more += need(value, numbers[op][i].first[o], option.operands[o]);
      }
      for (auto [r, value] : llvm::enumerate(info.results))
        more += make(value, option.results[r]);
      chosen.push_back(&option);
      indices.push_back(int(i));
      visit(more);
      chosen.pop_back();
      indices.pop_back();
      for (size_t o = info.operands.size(); o-- > 0;)
        copies[size_t(info.operands[o])].resize(before[o]);
    }
  }

  const PlacementProgram &program;
  const std::vector<ValueEnds> &ends;
  Options &options;
  const double limit;
  ReshardCosts &costs;
  LiveBytes live;
  Plan best;
  std::vector<int> last; ///< the choice at the present prices

  int64_t nodes = 0;
  std::vector<int> tensors;                                      ///< of values: numbers
  std::vector<std::vector<std::pair<Numbers, Numbers>>> numbers; ///< of options: of operands and results
  std::vector<double> leastWork;                                 ///< of each op and those behind it
  std::vector<Numbers> copies;                                   ///< of values: as they are made, and others
  std::vector<const PlacementDecision *> chosen;
  std::vector<int> indices;
};
} // namespace

std::vector<int> tessera::planWithin(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
                                     std::vector<std::vector<PlacementDecision>> &options,
                                     llvm::ArrayRef<int> now, double limit, llvm::ArrayRef<AxisRef> idle,
                                     ReshardCosts &costs) {
  if (program.ops.empty()) // nothing to choose
    return {};
  return Within(program, ends, options, limit, costs).run(now, idle);
}
