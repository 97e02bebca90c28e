//===- OptionOfAxes.cpp - What an assignment of axes to factors means -----===//
#include "HeldExpansion.h"
#include "ProgramOptions.h"

#include "tessera/Analysis/Sharding/GroupedSends.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

/// Pieces of operands that change places because a permutation factor is sharded.
static double permuteTime(const PlacementProgram &program, const ProgramOp &op, const ReshardCosts &costs,
                          const PlacementDecision &option) {
  double time = 0;
  for (auto [value, factors, sharding] : llvm::zip(op.operands, op.rule.operands, option.operands))
    for (const auto &dim : factors.dims)
      for (int f : dim)
        if (op.rule.factors[f].kind == FactorKind::Permutation && !option.factorAxes[f].empty()) {
          const ProgramValue &info = program.values[value];
          ReshardStep step;
          step.kind = StepKind::CollectivePermute;
          step.moves.push_back({});
          step.moves.front().axes = option.factorAxes[f];
          step.received = 1;
          for (auto [d, size] : llvm::enumerate(info.shape))
            step.received *= double((size + sharding.shards(int(d)) - 1) / sharding.shards(int(d)));
          time += stepTime(costs.machine, costs.mesh, step, info.elementBytes);
        }
  return time;
}

/// What is sent where the op takes a part of a dimension that is sharded.
static double windowTime(const PlacementProgram &program, const ProgramOp &op, const ReshardCosts &costs,
                         const PlacementDecision &option) {
  const ShardingRule &rule = op.rule;
  if (llvm::all_of(rule.windows,
                   [&](const Window &window) { return option.factorAxes[window.whole].empty(); }))
    return 0;
  const ProgramValue &whole = program.values[size_t(op.operands[0])];
  llvm::SmallVector<int64_t> begin(whole.shape.size(), 0);
  for (const Window &window : rule.windows)
    for (auto [d, dim] : llvm::enumerate(rule.operands[0].dims))
      if (llvm::is_contained(dim, window.whole))
        begin[d] = window.begin;
  const SentPart part(whole.shape, begin, program.values[size_t(op.results[0])].shape);
  const Sharding &from = option.operands[0], &to = option.results[0];
  ReshardStep step;
  step.kind = StepKind::GroupedSend;
  step.moves.push_back({});
  step.moves.front().axes = sendAxes(costs.mesh, part, from, to);
  step.received = mostReceived(costs.mesh, part, from, to);
  step.sent = mostSent(costs.mesh, part, from, to);
  step.messages = double(sendMessages(part, from, to));
  return stepTime(costs.machine, costs.mesh, step, whole.elementBytes);
}

/// Tables in blocks that the op looks rows up in, and could not if they lay so.
static double lookupTime(const PlacementProgram &program, const ProgramOp &op, const ReshardCosts &costs,
                         const PlacementDecision &option) {
  double time = 0;
  if (op.rule.lookedUp.empty())
    return time;
  for (auto [value, factors, sharding] : llvm::zip(op.operands, op.rule.operands, option.operands))
    if (llvm::any_of(factors.dims, [&](const auto &dim) {
          return llvm::any_of(dim, [&](int f) { return llvm::is_contained(op.rule.lookedUp, f); });
        }))
      time += lookupExpansionTime(program.values[value], sharding, costs.machine);
  return time;
}

std::optional<PlacementDecision> tessera::optionWithAxes(const PlacementProgram &program, const ProgramOp &op,
                                                         const ReshardCosts &costs,
                                                         llvm::ArrayRef<AxisList> factorAxes) {
  for (auto [factor, list] : llvm::zip(op.rule.factors, factorAxes))
    if (!fitsKind(factor, list))
      return std::nullopt;
  PlacementDecision option;
  option.factorAxes.assign(factorAxes.begin(), factorAxes.end());
  auto add = [&](const TensorFactors &factors, std::vector<Sharding> &into) {
    auto sharding = shardingOfFactors(factors, factorAxes, op.rule.factors);
    if (sharding)
      into.push_back(std::move(*sharding));
    return sharding.has_value();
  };
  option.operands.reserve(op.rule.operands.size());
  option.results.reserve(op.rule.results.size());
  for (const TensorFactors &factors : op.rule.operands)
    if (!add(factors, option.operands))
      return std::nullopt;
  for (const TensorFactors &factors : op.rule.results)
    if (!add(factors, option.results))
      return std::nullopt;
  option.workTime = workTime(costs.machine, op.type, op.flops, op.bytes, workFraction(op.rule, factorAxes)) +
                    permuteTime(program, op, costs, option) + windowTime(program, op, costs, option) +
                    lookupTime(program, op, costs, option);
  return option;
}

static int64_t shardsOf(const Sharding &sharding) {
  int64_t shards = 1;
  for (size_t d = 0; d < sharding.dims.size(); ++d)
    shards *= sharding.shards(int(d));
  return shards;
}

/// Whether an operand that is a weight would be in more pieces than it is stored in.
static bool cutsWeight(const PlacementProgram &program, const ProgramOp &op,
                       const PlacementDecision &option) {
  return llvm::any_of(llvm::zip(op.operands, option.operands), [&](auto pair) {
    const ProgramValue &value = program.values[size_t(std::get<0>(pair))];
    return value.isWeight && shardsOf(std::get<1>(pair)) > shardsOf(value.sharding);
  });
}

bool tessera::fitsKind(const Factor &factor, llvm::ArrayRef<AxisRef> axes) {
  if (factor.kind == FactorKind::Window) // over one rank a slice is a slice
    return axes.empty() || axesSize(axes) > 1;
  return factor.kind != FactorKind::Permutation || factor.size % axesSize(axes) == 0;
}

std::optional<PlacementDecision> tessera::optionAnywhere(const PlacementProgram &program, const ProgramOp &op,
                                                         const ReshardCosts &costs,
                                                         llvm::ArrayRef<AxisList> factorAxes) {
  auto option = optionWithAxes(program, op, costs, factorAxes);
  if (option && cutsWeight(program, op, *option))
    option.reset();
  return option;
}

std::optional<AxisList> tessera::reducedAxes(const ShardingRule &rule, llvm::ArrayRef<AxisList> factorAxes,
                                             PartialKind &kind) {
  AxisList reduced;
  for (auto [factor, axes] : llvm::zip(rule.factors, factorAxes)) {
    if (factor.kind != FactorKind::Reduction || axes.empty())
      continue;
    if (kind != PartialKind::None && kind != factor.combine)
      return std::nullopt;
    kind = factor.combine;
    reduced.append(axes.begin(), axes.end());
  }
  return reduced;
}

void tessera::leaveOpen(PlacementDecision &option, AxisList axes, PartialKind kind) {
  llvm::sort(axes);
  mergeAdjacent(axes);
  for (Sharding &result : option.results) {
    result.partial = axes;
    result.partialKind = axes.empty() ? PartialKind::None : kind;
  }
}

void tessera::keepOpen(const ProgramOp &op, llvm::function_ref<const Sharding &(int)> madeOf,
                       PlacementDecision &option, AxisList &sums, PartialKind &kind) {
  auto isFree = [&](const AxisRef &axis) {
    return llvm::none_of(option.factorAxes, [&](const AxisList &list) {
      return llvm::any_of(list, [&](const AxisRef &used) { return used.overlaps(axis); });
    });
  };
  for (PartialKind wanted : {PartialKind::Sum, PartialKind::Max})
    for (const auto &group : wanted == PartialKind::Sum ? op.rule.linear : op.rule.maxLinear)
      for (int operand : group) {
        const Sharding &made = madeOf(op.operands[size_t(operand)]);
        if (made.partial.empty() || made.partialKind != wanted ||
            (kind != PartialKind::None && kind != wanted) || !llvm::all_of(made.partial, isFree))
          continue;
        for (int member : group) {
          option.operands[size_t(member)].partial = made.partial;
          option.operands[size_t(member)].partialKind = wanted;
        }
        sums.append(made.partial.begin(), made.partial.end());
        kind = wanted;
        return;
      }
}

/// Whether every factor can be cut by its axes at all.
static bool canBeCut(const ShardingRule &rule, llvm::ArrayRef<AxisList> factorAxes) {
  return llvm::all_of(llvm::zip(rule.factors, factorAxes), [](auto pair) {
    const auto &[factor, axes] = pair;
    if (axes.empty())
      return true;
    return factor.kind != FactorKind::NeedReplication && axesSize(axes) <= factor.size;
  });
}

std::optional<PlacementDecision> tessera::assignedOption(const PlacementProgram &program, const ProgramOp &op,
                                                         const ReshardCosts &costs,
                                                         llvm::ArrayRef<AxisList> factorAxes) {
  PartialKind kind = PartialKind::None;
  auto reduced = canBeCut(op.rule, factorAxes) ? reducedAxes(op.rule, factorAxes, kind) : std::nullopt;
  auto option = reduced ? optionAnywhere(program, op, costs, factorAxes) : std::nullopt;
  if (!option)
    return std::nullopt;
  leaveOpen(*option, *reduced, kind);
  return option;
}

namespace {
class AllOptions {
public:
  AllOptions(const PlacementProgram &program, const ProgramOp &op, const ReshardCosts &costs,
             llvm::ArrayRef<AxisRef> axes, size_t most)
      : program(program), op(op), costs(costs), axes(axes), most(most), lists(op.rule.factors.size()) {}

  std::vector<PlacementDecision> run() {
    place(0);
    if (options.size() > most)
      options.clear();
    return std::move(options);
  }

private:
  void place(size_t axis) {
    if (options.size() > most)
      return;
    if (axis == axes.size())
      return add();
    place(axis + 1);
    for (auto [list, factor] : llvm::zip(lists, op.rule.factors)) {
      if (factor.kind == FactorKind::NeedReplication || axesSize(list) * axes[axis].size > factor.size)
        continue; // as canBeCut would say of all that follows
      for (size_t at = 0; at <= list.size(); ++at) {
        list.insert(list.begin() + ptrdiff_t(at), axes[axis]);
        place(axis + 1);
        list.erase(list.begin() + ptrdiff_t(at));
      }
    }
  }

  void add() {
    llvm::SmallVector<AxisList, 8> merged(lists.begin(), lists.end());
    AxisList idle;
    for (AxisList &list : merged)
      mergeAdjacent(list);
    for (const AxisRef &axis : axes)
      if (llvm::none_of(lists, [&](const AxisList &list) { return llvm::is_contained(list, axis); }))
        idle.push_back(axis);
    auto option = assignedOption(program, op, costs, merged);
    if (!option)
      return;
    for (size_t set = 1; set < size_t(1) << idle.size() && options.size() <= most; ++set) {
      AxisList open;
      for (auto [i, axis] : llvm::enumerate(idle))
        if (set >> i & 1)
          open.push_back(axis);
      llvm::sort(open);
      mergeAdjacent(open);
      addOpen(*option, open, PartialKind::Sum);
      addOpen(*option, open, PartialKind::Max);
    }
    options.push_back(std::move(*option));
  }

  /// With a sum over idle axes kept open in each group of operands that the op is linear in.
  void addOpen(const PlacementDecision &option, const AxisList &open, PartialKind kind) {
    for (const auto &group : kind == PartialKind::Sum ? op.rule.linear : op.rule.maxLinear) {
      if (group.empty())
        continue;
      PartialKind reducedKind = PartialKind::None;
      AxisList sums = *reducedAxes(op.rule, option.factorAxes, reducedKind);
      if (reducedKind != PartialKind::None && reducedKind != kind)
        return;
      PlacementDecision kept = option;
      for (int operand : group) {
        kept.operands[size_t(operand)].partial = open;
        kept.operands[size_t(operand)].partialKind = kind;
      }
      sums.append(open.begin(), open.end());
      leaveOpen(kept, std::move(sums), kind);
      options.push_back(std::move(kept));
    }
  }

  const PlacementProgram &program;
  const ProgramOp &op;
  const ReshardCosts &costs;
  llvm::ArrayRef<AxisRef> axes;
  size_t most;
  std::vector<AxisList> lists; ///< of each factor
  std::vector<PlacementDecision> options;
};
} // namespace

std::vector<PlacementDecision> tessera::allOptions(const PlacementProgram &program, const ProgramOp &op,
                                                   const ReshardCosts &costs, llvm::ArrayRef<AxisRef> axes,
                                                   size_t most) {
  return AllOptions(program, op, costs, axes, most).run();
}
