//===- OptionOfAxes.cpp - What an assignment of axes to factors means -----===//
#include "ProgramOptions.h"

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

std::optional<PlacementDecision> tessera::optionWithAxes(const PlacementProgram &program, const ProgramOp &op,
                                                         const ReshardCosts &costs,
                                                         llvm::ArrayRef<AxisList> factorAxes) {
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
                    permuteTime(program, op, costs, option);
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
