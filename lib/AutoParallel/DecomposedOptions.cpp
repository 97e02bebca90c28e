//===- DecomposedOptions.cpp - Ops that run as programs of smaller ops ----===//
#include "ProgramOptions.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

llvm::SmallVector<int, 2> tessera::openResults(const Decomposition &decomposition) {
  std::vector<bool> open(decomposition.program.values.size(), false);
  for (const ProgramOp &op : decomposition.program.ops) {
    bool sums = llvm::any_of(op.rule.factors, [](const Factor &factor) {
      return factor.kind == FactorKind::Reduction && factor.combine == PartialKind::Sum;
    });
    bool keeps = llvm::any_of(op.rule.linear, [&](const auto &group) {
      return !group.empty() && llvm::all_of(group, [&](int operand) { return open[op.operands[operand]]; });
    });
    for (int result : op.results)
      open[result] = sums || keeps;
  }
  llvm::SmallVector<int, 2> results;
  for (auto [r, value] : llvm::enumerate(decomposition.results))
    if (open[value])
      results.push_back(int(r));
  return results;
}

void tessera::forEachDecomposed(const ProgramOp &op, const PlacementDecision &option, AxisList axes,
                                llvm::function_ref<void(PlacementDecision)> visit) {
  llvm::sort(axes);
  mergeAdjacent(axes);
  llvm::SmallVector<int, 2> open = openResults(*op.decomposition);
  for (unsigned set = 0; set < (1u << open.size()); ++set) {
    PlacementDecision variant = option;
    for (auto [i, result] : llvm::enumerate(open))
      if (set & (1u << i)) {
        variant.results[result].partial = axes;
        variant.results[result].partialKind = PartialKind::Sum;
      }
    variant.decomposed = variant.unpriced = true;
    visit(std::move(variant));
  }
}

/// The program of an op whose operands and results lie as in `option`.
static PlacementProgram insideOf(const Decomposition &decomposition, const PlacementDecision &option) {
  PlacementProgram inner = decomposition.program;
  for (auto [value, sharding] : llvm::zip(decomposition.operands, option.operands))
    inner.values[value].sharding = sharding;
  for (auto [value, sharding] : llvm::zip(decomposition.results, option.results))
    inner.uses.push_back({value, sharding});
  return inner;
}

static ProgramDecision placeInside(const PlacementProgram &inner, ReshardCosts &costs) {
  ProgramPlacementOptions settings;
  settings.widen = false;
  return placeProgram(inner, costs, settings);
}

double tessera::messagesInside(const ProgramOp &op, const PlacementDecision &option, ReshardCosts &costs) {
  const PlacementProgram inner = insideOf(*op.decomposition, option);
  const ProgramDecision placed = placeInside(inner, costs);
  std::vector<const PlacementDecision *> chosen;
  for (const PlacementDecision &one : placed.ops)
    chosen.push_back(&one);
  return programMessages(inner, chosen, costs);
}

/// The program's own work, and what is resharded inside. Elementwise ops around a reduction fuse, so theirs
/// is not counted.
void tessera::priceDecomposed(const ProgramOp &op, PlacementDecision &option, ReshardCosts &costs) {
  if (!option.unpriced)
    return;
  option.unpriced = false;
  llvm::SmallVector<int, 8> ends;
  for (const auto *list : {&option.operands, &option.results})
    for (const Sharding &sharding : *list)
      ends.push_back(costs.numberOf(sharding));
  const std::string &name = op.decomposition->name;
  if (!name.empty())
    if (double known = costs.kept(name, ends); known >= 0) {
      option.workTime += known;
      return;
    }
  ProgramDecision decision = placeInside(insideOf(*op.decomposition, option), costs);
  for (const PlacementDecision &placed : decision.ops)
    decision.time -= placed.workTime;
  const double inside = std::max(0.0, decision.time); // rounding
  option.workTime += inside;
  if (!name.empty())
    costs.kept(name, ends) = inside;
}
