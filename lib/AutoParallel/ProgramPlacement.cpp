//===- ProgramPlacement.cpp - Shardings of a whole block at once ----------===//
#include "AllAssignments.h"
#include "HeldExpansion.h"
#include "LiveBytes.h"
#include "PlacementMoves.h"
#include "PlacementSearch.h"
#include "PlacementWithin.h"
#include "ProgramOptions.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Times that ops are offered more; a second one has not found anything yet.
static constexpr int kMostRounds = 1;
/// The part of what is sent that must be saved for it: such plans take more messages, and gathered weights
/// take memory.
static constexpr double kWorthwhile = 0.1;
static constexpr double kNothing = 1e-9;
/// Between the best choice that was found and what bounds it this part may be left open; so often it is
/// halved, as long as each time closes this part of it.
static constexpr double kOpen = 0.01, kMuchOfOpen = 0.1;
static constexpr int kMostHalves = 3;
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

/// Calls `visit` with each value, what it is made as, each sharding in which it is needed, and the ops that
/// need it so.
template <typename Visit>
void forEachNeed(const PlacementProgram &program, const std::vector<ValueEnds> &allEnds,
                 llvm::ArrayRef<const PlacementDecision *> chosen, Visit visit) {
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
    for (auto [sharding, ops] : llvm::zip(needed, readers))
      visit(value, made, sharding, ends, ops);
  }
}

/// The same with the seconds of each reshard, its value and the ops that read the result.
template <typename Visit>
void forEachReshard(const PlacementProgram &program, const std::vector<ValueEnds> &allEnds,
                    llvm::ArrayRef<const PlacementDecision *> chosen, ReshardCosts &costs, Visit visit) {
  forEachNeed(program, allEnds, chosen,
              [&](const ProgramValue &value, const Sharding &made, const Sharding &needed,
                  const ValueEnds &ends, llvm::ArrayRef<int> readers) {
                auto &cost = costs.reshard(value.shape, value.elementBytes, made, needed, value.chosen);
                const double time = cost.time + expansionTime(value, needed, costs.machine);
                visit(cost.possible ? time : kInfinity, ends, readers);
              });
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
  Placer(const PlacementProgram &program, ReshardCosts &costs, const ProgramPlacementOptions &settings,
         const FirstLook *known)
      : program(program), costs(costs), settings(settings), looked(known), ends(endsOf(program)),
        maker(makeProgramOptions(program, costs, settings.maxOptions)), options(decision.options) {}

  ProgramDecision run() {
    options = maker->first();
    {
      const double below = settings.widen ? kInfinity : settings.below;
      const Choice choice = isStillBest() ? bestKnown(below) : bestBelow(below);
      if (!choice.found && std::isfinite(below) && !options.empty()) {
        decision.time = kInfinity;
        decision.lowerBound = choice.bound;
        return std::move(decision);
      }
      take(choice);
      if (choice.found && choice.bound >= decision.time * (1 - kNothing))
        decision.look = {indices, decision.time, decision.lowerBound, priced()};
    }
    if (settings.widen && std::isfinite(decision.time)) {
      for (int round = 0; round < kMostRounds && offerMore(); ++round)
        ;
      moveAxes();
      if (settings.all)
        searchAll();
    }
    if (std::isfinite(settings.liveBytes) && std::isfinite(decision.time))
      keepWithin();
    decision.sent = sent();
    for (const PlacementDecision *option : chosen)
      decision.ops.push_back(*option);
    return std::move(decision);
  }

private:
  struct Choice {
    bool found; ///< something below
    MinSum::Solution best;
    double bound;
  };

  /// Whether somebody looked already, among the same options.
  bool isStillBest() {
    if (!looked || looked->choice.size() != options.size())
      return false;
    for (auto [list, index] : llvm::zip(options, looked->choice))
      if (size_t(index) >= list.size())
        return false;
    for (auto [op, option] : looked->priced)
      if (option < options[op].size())
        priceDecomposed(program.ops[op], options[op][option], costs);
    indices = looked->choice;
    look();
    return std::abs(decision.time - looked->time) <= kNothing * looked->time;
  }

  std::vector<std::pair<size_t, size_t>> priced() const {
    std::vector<std::pair<size_t, size_t>> result;
    for (auto [op, list] : llvm::enumerate(options))
      for (auto [i, option] : llvm::enumerate(list))
        if (option.decomposed && !option.unpriced)
          result.push_back({op, i});
    return result;
  }

  /// The same if it takes less than `upper`.
  Choice bestKnown(double upper) const {
    const bool found = looked->time < upper * (1 - kNothing) || !std::isfinite(upper);
    return {found, {looked->choice, looked->time, looked->lowerBound}, std::min(looked->lowerBound, upper)};
  }

  /// The best choice that takes less than `upper`. Where tables grew too large to be sure that there is none,
  /// or none better, one in the lower half of what is left open is asked for: then more values go, and tables
  /// are smaller.
  Choice bestBelow(double upper) {
    auto search = [&](double upper) {
      PlacementSearch search(program, ends, options, costs);
      const bool found = search.run(upper, settings.largestTable);
      return Choice{found, std::move(search.best), search.bound};
    };
    Choice choice = search(upper);
    for (int round = 0; round < kMostHalves; ++round) {
      const double above = choice.found ? choice.best.cost : upper;
      if (!std::isfinite(above) || choice.bound >= above * (1 - kOpen))
        break;
      Choice lower = search((choice.bound + above) / 2);
      const bool isMore = lower.found || lower.bound > choice.bound + kMuchOfOpen * (above - choice.bound);
      choice.bound = std::max(choice.bound, lower.bound);
      if (lower.found)
        choice = {true, std::move(lower.best), choice.bound};
      if (!isMore)
        break;
    }
    return choice;
  }

  void take(const Choice &choice) {
    indices.assign(choice.best.values.begin(), choice.best.values.begin() + ptrdiff_t(options.size()));
    look();
    decision.lowerBound = std::min(choice.bound, decision.time);
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
    const Choice choice = bestBelow(decision.time);
    if (!choice.found) {
      look();
      decision.lowerBound = std::min(choice.bound, decision.time);
      return false;
    }
    take(choice);
    if (!settings.anyGain && sent() >= before.sent * (1 - kWorthwhile)) {
      restore(std::move(before));
      return false;
    }
    decision.widened = true;
    return true;
  }

  /// Axes in orders and selections that no hint says. Taken if much less is sent for it, or if it takes half
  /// the time: where a rank repeated what others do.
  void moveAxes() {
    auto plan = improvedPlan(program, ends, chosen, costs);
    if (plan.empty())
      return;
    Known before = known();
    choose(std::move(plan));
    auto isWorthwhile = [&] {
      return settings.anyGain || sent() < before.sent * (1 - kWorthwhile) ||
             decision.time < before.time * (sent() < before.sent * kHardlyMore ? kMuchLess : kHalf);
    };
    if (!isWorthwhile())
      return restore(std::move(before));
    // The plan's options among the others: some ops may be better off as they were.
    const Choice choice = bestBelow(decision.time);
    if (choice.found)
      take(choice);
    if (!isWorthwhile())
      return restore(std::move(before));
    decision.lowerBound = std::min(choice.bound, decision.time);
    decision.widened = true;
  }

  /// What ranks have at once stays within the limit, or is little.
  void keepWithin() {
    LiveBytes bytes(program, costs.machine);
    decision.liveBytes = bytes.most(chosen);
    if (decision.liveBytes <= settings.liveBytes)
      return;
    indices = planWithin(program, ends, options, indices, settings.liveBytes, settings.idleAxes, costs);
    look();
    decision.liveBytes = bytes.most(chosen);
    decision.lowerBound = std::min(decision.lowerBound, decision.time);
  }

  /// Takes a plan if `isBetter` than what was known before.
  template <typename IsBetter> bool takeIf(std::vector<PlacementDecision> plan, IsBetter isBetter) {
    if (plan.empty())
      return false;
    Known before = known();
    choose(std::move(plan));
    if (!isBetter(before)) {
      restore(std::move(before));
      return false;
    }
    decision.widened = true;
    return true;
  }

  /// The part of time, or of what is sent, that may be left.
  double mostLeft() const { return std::min(1 - settings.leastGain, 1 - kNothing); }

  /// Few assignments are all searched. The best is taken if it saves enough time, or sends so much less, or
  /// sends less and takes no more messages for reshards.
  void searchAll() {
    AllAssignments all = searchAllAssignments(program, ends, options, decision.time, costs);
    const double messages = all.plan.empty() ? 0 : programMessages(program, chosen, costs);
    takeIf(std::move(all.plan), [&](const Known &before) {
      return decision.time < before.time * mostLeft() || sent() < before.sent * mostLeft() ||
             sendsLess(before, messages);
    });
    decision.boundsAll = all.complete;
    decision.lowerBound = std::min(decision.lowerBound, decision.time); // that of the options before
    if (!all.complete)
      return;
    decision.lowerBound = all.time;
    if (sends(sent()))
      useIdleAxes();
  }

  /// Whether it is more than what is left of numbers that cancel each other.
  bool sends(double seconds) const { return seconds > kNothing * decision.time; }

  /// Than a choice that takes so many messages for reshards, and takes no more of them; nor longer.
  bool sendsLess(const Known &before, double messages) {
    return decision.time < before.time * (1 - kNothing) && sends(before.sent - sent()) &&
           programMessages(program, chosen, costs) <= messages;
  }

  /// Axes that nothing lies over. Taken only if less is sent with them: work alone is no reason for
  /// collectives that else nobody needs. The fastest plan is asked alone.
  void useIdleAxes() {
    if (settings.idleAxes.empty())
      return;
    AllAssignments all =
        searchAllAssignments(program, ends, options, decision.time, costs, settings.idleAxes);
    if (!all.complete)
      return;
    const double cutting = cuttingTime();
    const bool taken = takeIf(std::move(all.plan), [&](const Known &before) {
      const bool less = sends(before.sent - sent()) && sent() < before.sent * mostLeft();
      return less && decision.time + cuttingTime() < before.time + cutting && keepsWithin();
    });
    if (taken) // something lies over them now
      decision.lowerBound = std::min(all.time, decision.time);
  }

  /// Seconds of copies of the pieces in which ops read what is given in larger ones. Prices have slices free;
  /// but with idle axes anything may be cut.
  double cuttingTime() const {
    double bytes = 0;
    for (auto [value, valueEnds] : llvm::zip(program.values, ends)) {
      if (valueEnds.producer >= 0)
        continue;
      std::vector<Sharding> needed;
      for (auto &[op, operand] : valueEnds.readers)
        indexOf(needed, chosen[size_t(op)]->operands[size_t(operand)]);
      for (const Sharding &sharding : needed)
        if (double piece = LiveBytes::of(value, sharding); piece < LiveBytes::of(value, value.sharding))
          bytes += 2 * piece; // read and written
    }
    return bytes / costs.machine.memoryBandwidth;
  }

  bool keepsWithin() const {
    return !std::isfinite(settings.liveBytes) ||
           LiveBytes(program, costs.machine).most(chosen) <= settings.liveBytes;
  }

  /// What a plan has and no option says stands among the options.
  void choose(std::vector<PlacementDecision> plan) {
    for (auto [list, index, option] : llvm::zip(options, indices, plan)) {
      const PlacementDecision &old = list[index];
      if (option.operands == old.operands && option.results == old.results)
        continue;
      index = int(list.size());
      list.push_back(std::move(option));
    }
    look();
  }

  const PlacementProgram &program;
  ReshardCosts &costs;
  const ProgramPlacementOptions &settings;
  const FirstLook *looked; ///< null: nobody did
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

double tessera::programMessages(const PlacementProgram &program,
                                llvm::ArrayRef<const PlacementDecision *> chosen, ReshardCosts &costs) {
  double messages = 0;
  forEachNeed(program, endsOf(program), chosen,
              [&](const ProgramValue &value, const Sharding &made, const Sharding &needed, const ValueEnds &,
                  llvm::ArrayRef<int>) {
                if (auto plan = costs.plan(value.shape, value.elementBytes, made, needed))
                  for (const ReshardStep &step : plan->steps)
                    messages += step.received > 0 ? step.messages : 0;
              });
  for (auto [op, decision] : llvm::zip(program.ops, chosen))
    if (decision->decomposed)
      messages += messagesInside(op, *decision, costs);
  return messages;
}

ProgramPrice tessera::priceAmong(const PlacementProgram &program,
                                 std::vector<std::vector<PlacementDecision>> &options,
                                 llvm::function_ref<bool(const ProgramOp &)> isNear, ReshardCosts &costs,
                                 double below, const ProgramPlacementOptions &settings) {
  std::vector<ValueEnds> ends = endsOf(program);
  if (program.ops.empty()) { // nothing to choose
    const double time = timeOf(program, ends, {}, costs);
    return {time, time};
  }
  auto first = placementOptions(program, costs, settings.maxOptions);
  std::vector<size_t> counts;
  for (auto [op, list, offered] : llvm::zip(program.ops, options, first)) {
    counts.push_back(list.size());
    if (isNear(op))
      addNewOptions(list, std::move(offered));
  }
  PlacementSearch search(program, ends, options, costs);
  ProgramPrice price = {kInfinity, kInfinity};
  if (search.run(below, settings.largestTable)) {
    llvm::SmallVector<const PlacementDecision *, 32> chosen;
    for (auto [list, index] : llvm::zip(options, search.best.values))
      chosen.push_back(&list[size_t(index)]);
    price = {search.best.cost, sentOf(program, chosen, search.best.cost, costs.machine)};
  }
  for (auto [list, count] : llvm::zip(options, counts))
    list.resize(count);
  return price;
}

ProgramDecision tessera::placeProgram(const PlacementProgram &program, ReshardCosts &costs,
                                      const ProgramPlacementOptions &settings, const FirstLook *look) {
  return Placer(program, costs, settings, look).run();
}
