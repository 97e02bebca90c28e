//===- PlacedPrograms.cpp - Placements that are known ---------------------===//
#include "tessera/AutoParallel/PlacedPrograms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <utility>

using namespace tessera;

/// Decisions that are kept: of the blocks of a few functions, in a few layouts.
static constexpr size_t kMostKnown = 64;
/// First looks that are kept: layouts are tried, and soon after placed.
static constexpr size_t kMostLooks = 32;
static constexpr double kNothing = 1e-9;

namespace {
/// Numbers that say the same of the same; lists with their lengths, so that none runs into the next.
class KeyWriter {
public:
  std::vector<int64_t> key;

  template <typename Number> void number(Number value) { key.push_back(int64_t(value)); }
  void number(double value) { key.push_back(llvm::bit_cast<int64_t>(value)); }

  template <typename List> void numbers(const List &list) {
    number(list.size());
    for (auto value : list)
      number(value);
  }
  template <typename Lists> void lists(const Lists &lists) {
    number(lists.size());
    for (const auto &list : lists)
      numbers(list);
  }
  void text(llvm::StringRef text) { numbers(text); }

  void rule(const ShardingRule &rule) {
    number(rule.factors.size());
    for (const Factor &factor : rule.factors) {
      number(factor.size);
      number(factor.kind);
      number(factor.combine);
    }
    for (const auto *tensors : {&rule.operands, &rule.results}) {
      number(tensors->size());
      for (const TensorFactors &tensor : *tensors)
        lists(tensor.dims);
    }
    lists(rule.linear);
    lists(rule.maxLinear);
    numbers(rule.offsetAware);
    numbers(rule.lookedUp);
    number(rule.windows.size());
    for (const Window &window : rule.windows) {
      number(window.whole);
      number(window.part);
      number(window.begin);
    }
    number(rule.neutral);
    number(rule.unbounded);
  }
};
} // namespace

bool PlacedPrograms::isKept(const ProgramPlacementOptions &settings) {
  return settings.widen && !std::isfinite(settings.liveBytes);
}

PlacedPrograms::Key PlacedPrograms::keyOf(const PlacementProgram &program, ReshardCosts &costs,
                                          const ProgramPlacementOptions &settings) {
  Key key;
  KeyWriter writer;
  writer.number(settings.maxOptions);
  writer.number(settings.anyGain);
  writer.number(settings.all);
  writer.number(settings.leastGain);
  writer.number(settings.idleAxes.size());
  for (const AxisRef &axis : settings.idleAxes) {
    writer.number(axis.axis);
    writer.number(axis.pre);
    writer.number(axis.size);
  }
  key.settings = std::exchange(writer.key, {});
  writer.number(program.values.size());
  for (const ProgramValue &value : program.values) {
    writer.numbers(value.shape);
    writer.number(value.elementBytes);
    writer.number(value.plainBytes);
    writer.number(value.chosen.dim);
    writer.number(value.chosen.share);
    writer.number(value.fixed);
    writer.number(value.isWeight);
    writer.number(costs.numberOf(value.sharding));
  }
  writer.number(program.ops.size());
  for (const ProgramOp &op : program.ops) { // `at` counts only where bytes are limited
    writer.rule(op.rule);
    writer.numbers(op.operands);
    writer.numbers(op.results);
    writer.number(op.flops);
    writer.number(op.bytes);
    writer.number(op.type);
    writer.number(op.decomposition != nullptr);
    if (op.decomposition)
      writer.text(op.decomposition->name);
    if (op.decomposition && op.decomposition->name.empty())
      key.nameless.push_back(op.decomposition);
  }
  writer.number(program.uses.size());
  for (const ProgramUse &use : program.uses) {
    writer.number(use.value);
    writer.number(costs.numberOf(use.sharding));
  }
  key.numbers = std::move(writer.key);
  return key;
}

ProgramDecision PlacedPrograms::place(const PlacementProgram &program, ReshardCosts &costs,
                                      const ProgramPlacementOptions &settings) {
  Key key = keyOf(program, costs, settings);
  if (!isKept(settings))
    return placeAnew(key, program, costs, settings);
  auto it = llvm::find_if(known, [&](const Known &one) { return one.key == key; });
  if (it != known.end()) {
    const ProgramDecision &made = it->decision;
    if (it->largestTable >= settings.largestTable || made.lowerBound >= made.time * (1 - kNothing)) {
      known.splice(known.begin(), known, it);
      return made;
    }
  }
  ProgramDecision decision = placeAnew(key, program, costs, settings);
  decision.options.clear();
  decision.look.reset();
  keep(std::move(key), settings.largestTable, decision);
  return decision;
}

ProgramDecision PlacedPrograms::placeAnew(const Key &key, const PlacementProgram &program,
                                          ReshardCosts &costs, const ProgramPlacementOptions &settings) {
  Key offered = {{settings.maxOptions}, key.numbers, key.nameless};
  auto it = llvm::find_if(looks, [&](const Looked &one) { return one.key == offered; });
  ProgramDecision decision = placeProgram(program, costs, settings, it != looks.end() ? &it->look : nullptr);
  if (it != looks.end()) {
    looks.splice(looks.begin(), looks, it);
    if (decision.look) // it may be another one: what is inside ops has been priced anew
      it->look = *decision.look;
  } else if (decision.look) {
    looks.push_front({std::move(offered), *decision.look});
  }
  if (looks.size() > kMostLooks)
    looks.pop_back();
  return decision;
}

void PlacedPrograms::keep(const PlacementProgram &program, ReshardCosts &costs,
                          const ProgramPlacementOptions &settings, const ProgramDecision &decision) {
  if (!isKept(settings))
    return;
  ProgramDecision made;
  made.ops = decision.ops;
  made.time = decision.time;
  made.sent = decision.sent;
  made.lowerBound = decision.lowerBound;
  made.boundsAll = decision.boundsAll;
  made.widened = decision.widened;
  keep(keyOf(program, costs, settings), settings.largestTable, made);
}

void PlacedPrograms::keep(Key key, int64_t largestTable, const ProgramDecision &decision) {
  known.remove_if([&](const Known &one) { return one.key == key; });
  known.push_front({std::move(key), largestTable, decision});
  if (known.size() > kMostKnown)
    known.pop_back();
}
