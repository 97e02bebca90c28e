//===- Placement.cpp - Which sharding one op runs with --------------------===//
#include "tessera/AutoParallel/Placement.h"

#include "tessera/AutoParallel/ReshardCollectives.h"
#include "tessera/Analysis/Sharding/Projection.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace tessera;

std::optional<ReshardPlan> tessera::planForMachine(const Machine &machine, const Mesh &mesh,
                                                   llvm::ArrayRef<int64_t> shape, double elementBytes,
                                                   const Sharding &from, const Sharding &to) {
  ReshardOptions options;
  options.latency = machine.link.latency * machine.link.bandwidth / elementBytes;
  auto plain = planReshard(mesh, shape, from, to, options);
  auto communicates = [](const ReshardStep &step) { return step.received > 0; };
  if (!plain || (llvm::count_if(plain->steps, communicates) <= 1 && plain->received <= reshardBound(mesh, shape, from, to) + 1e-6))
    return plain;
  // One step at the bound cannot be beaten; others may be, in states that only views say.
  options.strided = options.jointAllToAll = true;
  auto strided = planReshard(mesh, shape, from, to, options);
  if (!strided || planTime(machine, mesh, *strided, elementBytes) >= planTime(machine, mesh, *plain, elementBytes) * (1 - 1e-9) ||
      !asCollectives(shape, from, *strided))
    return plain;
  return strided;
}

ReshardCosts::ReshardCosts(Mesh theMesh, Machine theMachine) : mesh(std::move(theMesh)), machine(std::move(theMachine)) {
  leastLatency = machine.link.latency;
  mostBandwidth = machine.link.bandwidth;
  for (const MeshAxis &axis : mesh.axes) {
    leastLatency = std::min(leastLatency, machine.linkOf(axis.name).latency);
    mostBandwidth = std::max(mostBandwidth, machine.linkOf(axis.name).bandwidth);
  }
}

ReshardCosts::Entry &ReshardCosts::entryOf(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from,
                                           const Sharding &to) {
  key.clear();
  key.append({llvm::bit_cast<int64_t>(elementBytes), int64_t(shape.size())});
  key.append(shape.begin(), shape.end());
  auto add = [&](llvm::ArrayRef<AxisRef> axes) {
    for (const AxisRef &axis : axes)
      key.append({axis.axis, axis.pre, axis.size});
    key.push_back(-1); // no axis has that index
  };
  for (const Sharding *sharding : {&from, &to}) {
    for (const DimSharding &dim : sharding->dims)
      add(dim.axes);
    add(sharding->partial);
    key.push_back(int64_t(sharding->partialKind));
  }
  return entries[key];
}

const ReshardCosts::Cost &ReshardCosts::reshard(llvm::ArrayRef<int64_t> shape, double elementBytes,
                                                const Sharding &from, const Sharding &to) {
  static const Cost nothing = {true, 0, 0};
  if (from.samePlacement(to))
    return nothing;
  Entry &entry = entryOf(shape, elementBytes, from, to);
  if (!entry.cost) {
    entry.cost.emplace();
    if (auto plan = planForMachine(machine, mesh, shape, elementBytes, from, to))
      entry.cost = {true, plan->received, planTime(machine, mesh, *plan, elementBytes)};
  }
  return *entry.cost;
}

double ReshardCosts::floorOf(Entry &entry, llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from,
                             const Sharding &to) {
  if (entry.floor < 0) {
    ReshardNeeds needs = reshardNeeds(mesh, shape, from, to);
    entry.floor = needs.possible ? leastLatency * needs.rounds + needs.received * elementBytes / mostBandwidth
                                 : std::numeric_limits<double>::infinity();
    if (!needs.possible)
      entry.cost.emplace();
  }
  return entry.floor;
}

double ReshardCosts::floor(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from, const Sharding &to) {
  if (from.samePlacement(to))
    return 0;
  return floorOf(entryOf(shape, elementBytes, from, to), shape, elementBytes, from, to);
}

ReshardCosts::Known ReshardCosts::known(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from,
                                        const Sharding &to) {
  if (from.samePlacement(to))
    return {0, true};
  Entry &entry = entryOf(shape, elementBytes, from, to);
  if (entry.cost && entry.cost->possible)
    return {entry.cost->time, true};
  double floor = floorOf(entry, shape, elementBytes, from, to);
  return {floor, entry.cost.has_value()};
}

double tessera::workFraction(const ShardingRule &rule, llvm::ArrayRef<AxisList> factorAxes) {
  double fraction = 1;
  for (auto [f, factor, axes] : llvm::enumerate(rule.factors, factorAxes)) {
    int64_t k = axesSize(axes);
    if (factor.size > 0 && !llvm::is_contained(rule.lookedUp, int(f)))
      fraction *= double((factor.size + k - 1) / k) / double(factor.size);
  }
  return fraction;
}

std::optional<Sharding> tessera::shardingOfFactors(const TensorFactors &tensor, llvm::ArrayRef<AxisList> factorAxes,
                                                   llvm::ArrayRef<Factor> factors) {
  // Where factors share a dimension, padding of one would stand inside the other.
  for (const auto &dim : tensor.dims)
    for (int f : dim)
      if (dim.size() > 1 && factors[f].size % axesSize(factorAxes[f]) != 0)
        return std::nullopt;
  Sharding whole(int64_t(tensor.dims.size()));
  TensorProjection projection = project(tensor, whole, factors);
  for (auto [f, factor] : llvm::enumerate(projection.factors))
    if (factor.present)
      factor.axes = factorAxes[f];
  Sharding sharding = unproject(projection, tensor, whole, factors);
  TensorProjection back = project(tensor, sharding, factors);
  for (auto [f, factor] : llvm::enumerate(back.factors))
    if (factor.present && (factor.axes != factorAxes[f] || !factor.overflow.empty()))
      return std::nullopt;
  return sharding;
}

namespace {

bool overlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b) {
  return llvm::any_of(a, [&](const AxisRef &x) { return llvm::any_of(b, [&](const AxisRef &y) { return x.overlaps(y); }); });
}

/// `axes` is all within `among`.
bool covers(llvm::ArrayRef<AxisRef> among, const AxisRef &axis) {
  return llvm::any_of(among, [&](const AxisRef &a) {
    return a.axis == axis.axis && a.pre <= axis.pre && a.pre * a.size >= axis.pre * axis.size;
  });
}

/// Seconds: a wanted result that no reshard can make of the produced one (partial where nothing is summed) counts as this, so that any
/// assignment which can make it wins.
constexpr double kImpossible = 1e6;

/// Evaluates assignments of axes to factors.
class Evaluator {
public:
  Evaluator(const PlacementOp &op, ReshardCosts &costs) : op(op), costs(costs) {
    for (const PlacementTensor &operand : op.operands) {
      partial.append(operand.sharding.partial.begin(), operand.sharding.partial.end());
    }
    llvm::sort(partial);
    partial.erase(std::unique(partial.begin(), partial.end()), partial.end());
  }

  /// The best of keeping operands partial over each axis, or not.
  std::optional<PlacementDecision> evaluate(llvm::ArrayRef<AxisList> factorAxes) {
    std::optional<PlacementDecision> best;
    unsigned n = unsigned(partial.size()), all = (1u << std::min(n, 20u)) - 1;
    // All sets of few axes, else all or none; most kept first, so that among equals sums stay open: others may join them.
    for (unsigned dropped = 0; dropped <= all; dropped = n > 3 && dropped < all ? all : dropped + 1) {
      auto decision = evaluate(factorAxes, all & ~dropped);
      if (decision && (!best || isBetter(*decision, *best)))
        best = std::move(decision);
      if (dropped == all)
        break;
    }
    return best;
  }

  static bool isBetter(const PlacementDecision &a, const PlacementDecision &b) {
    double timeA = a.reshardTime + a.workTime, timeB = b.reshardTime + b.workTime;
    double tolerance = 1e-9 * std::max(timeA, timeB);
    if (std::abs(timeA - timeB) > tolerance)
      return timeA < timeB;
    if (std::abs(a.workTime - b.workTime) > tolerance)
      return a.workTime < b.workTime;
    return a.reshardBytes < b.reshardBytes - 1e-6;
  }

private:
  std::optional<PlacementDecision> evaluate(llvm::ArrayRef<AxisList> factorAxes, unsigned kept) {
    const ShardingRule &rule = op.rule;
    PlacementDecision decision;
    decision.factorAxes.assign(factorAxes.begin(), factorAxes.end());
    for (auto [tensor, factors] : llvm::zip(op.operands, rule.operands))
      if (!addSharding(tensor, factors, factorAxes, decision.operands))
        return std::nullopt;
    for (auto [tensor, factors] : llvm::zip(op.results, rule.results))
      if (!addSharding(tensor, factors, factorAxes, decision.results))
        return std::nullopt;
    PartialKind kind = PartialKind::None;
    AxisList resultPartial;
    for (auto [f, axes] : llvm::enumerate(factorAxes)) {
      if (rule.factors[f].kind != FactorKind::Reduction || axes.empty())
        continue;
      if (kind != PartialKind::None && kind != rule.factors[f].combine)
        return std::nullopt;
      kind = rule.factors[f].combine;
      resultPartial.append(axes.begin(), axes.end());
    }
    for (auto [i, axis] : llvm::enumerate(partial))
      if (i >= 20 ? kept != 0 : kept >> i & 1)
        keep(axis, factorAxes, kind, resultPartial, decision);
    llvm::sort(resultPartial);
    mergeAdjacent(resultPartial);
    for (Sharding &result : decision.results) {
      result.partial = resultPartial;
      result.partialKind = resultPartial.empty() ? PartialKind::None : kind;
    }
    decision.workTime = workTime(costs.machine, op.flops, op.bytes, workFraction(rule, factorAxes));
    for (auto [tensor, needed] : llvm::zip(op.operands, decision.operands))
      if (!addReshard(tensor, tensor.sharding, needed, decision))
        return std::nullopt;
    for (auto [tensor, produced] : llvm::zip(op.results, decision.results))
      if (!addReshard(tensor, produced, tensor.sharding, decision))
        decision.reshardTime += kImpossible;
    return decision;
  }

  /// What `tensor` must be; false if it cannot be so sharded.
  bool addSharding(const PlacementTensor &tensor, const TensorFactors &factors, llvm::ArrayRef<AxisList> factorAxes,
                   std::vector<Sharding> &into) {
    auto sharding = shardingOfFactors(factors, factorAxes, op.rule.factors);
    if (!sharding)
      return false;
    into.push_back(std::move(*sharding));
    return true;
  }

  /// If the operands of one linear group, all of them and no others, are partial over `axis`, they may stay so. Others of those that
  /// are must be combined; then the result is not partial over it.
  void keep(const AxisRef &axis, llvm::ArrayRef<AxisList> factorAxes, PartialKind &kind, AxisList &resultPartial,
            PlacementDecision &decision) {
    if (llvm::any_of(factorAxes, [&](llvm::ArrayRef<AxisRef> axes) { return overlap(axes, axis); }))
      return;
    if (overlap(resultPartial, axis))
      return;
    for (PartialKind candidate : {PartialKind::Sum, PartialKind::Max}) {
      if (kind != PartialKind::None && kind != candidate)
        continue;
      // Of groups that could keep it the one with most bytes: what it holds need not be combined now.
      const llvm::SmallVector<int, 2> *best = nullptr;
      double bestBytes = -1;
      for (const auto &group : candidate == PartialKind::Sum ? op.rule.linear : op.rule.maxLinear) {
        double bytes = 0;
        bool all = !group.empty();
        for (int operand : group) {
          const PlacementTensor &tensor = op.operands[operand];
          all &= tensor.sharding.partialKind == candidate && covers(tensor.sharding.partial, axis) &&
                 (decision.operands[operand].partialKind == PartialKind::None ||
                  decision.operands[operand].partialKind == candidate);
          double size = tensor.elementBytes * tensor.weight;
          for (int64_t n : decision.operands[operand].localShape(tensor.shape))
            size *= double(n);
          bytes += size;
        }
        if (all && bytes > bestBytes) {
          best = &group;
          bestBytes = bytes;
        }
      }
      if (!best)
        continue;
      kind = candidate;
      resultPartial.push_back(axis);
      for (int operand : *best) {
        Sharding &sharding = decision.operands[operand];
        sharding.partial.push_back(axis);
        llvm::sort(sharding.partial);
        mergeAdjacent(sharding.partial);
        sharding.partialKind = candidate;
      }
      return;
    }
  }

  bool addReshard(const PlacementTensor &tensor, const Sharding &from, const Sharding &to,
                  PlacementDecision &decision) {
    const ReshardCosts::Cost &cost = costs.reshard(tensor.shape, tensor.elementBytes, from, to);
    decision.reshardTime += tensor.weight * cost.time;
    decision.reshardBytes += cost.received * tensor.elementBytes;
    return cost.possible;
  }

  const PlacementOp &op;
  ReshardCosts &costs;
  AxisList partial; ///< axes over which some operand is partial
};

/// Tries all assignments made of what the tensors' own shardings say about each factor.
class Chooser {
public:
  Chooser(const PlacementOp &op, ReshardCosts &costs) : op(op), evaluator(op, costs) {
    collect(op.operands, op.rule.operands);
    collect(op.results, op.rule.results);
    for (auto [f, factor] : llvm::enumerate(op.rule.factors))
      if (factor.kind == FactorKind::NeedReplication)
        candidates[f].clear();
  }

  PlacementDecision run() {
    // What everyone agrees on needs no search.
    double count = 1;
    for (auto &lists : candidates)
      count *= double(lists.size() + 1);
    if (count > kMaxAssignments)
      for (auto &lists : candidates)
        llvm::erase_if(lists, [](const Candidate &c) { return !c.whole; });
    chosen.assign(op.rule.factors.size(), AxisList());
    try_(0);
    assert(best && "without any sharded factor every op can run");
    return *best;
  }

private:
  static constexpr double kMaxAssignments = 4096;

  struct Candidate {
    AxisList axes;
    bool whole; ///< as some tensor has it, not a prefix
  };

  void collect(llvm::ArrayRef<PlacementTensor> tensors, llvm::ArrayRef<TensorFactors> factors) {
    candidates.resize(op.rule.factors.size());
    for (auto [tensor, mapping] : llvm::zip(tensors, factors)) {
      TensorProjection projection = project(mapping, tensor.sharding, op.rule.factors);
      for (auto [f, factor] : llvm::enumerate(projection.factors)) {
        if (!factor.present)
          continue;
        for (size_t length = factor.axes.size(); length > 0; --length)
          addCandidate(int(f), {AxisList(factor.axes.begin(), factor.axes.begin() + length),
                                length == factor.axes.size()});
      }
    }
    // A partial axis of a wanted result can only come from a reduction.
    for (const PlacementTensor &result : op.results)
      for (auto [f, factor] : llvm::enumerate(op.rule.factors))
        if (tensors.data() == op.results.data() && factor.kind == FactorKind::Reduction &&
            factor.combine == result.sharding.partialKind)
          addCandidate(int(f), {result.sharding.partial, true});
  }

  void addCandidate(int factor, Candidate candidate) {
    if (candidate.axes.empty())
      return;
    for (Candidate &known : candidates[factor])
      if (known.axes == candidate.axes) {
        known.whole |= candidate.whole;
        return;
      }
    candidates[factor].push_back(std::move(candidate));
  }

  void try_(size_t factor) {
    if (factor == chosen.size()) {
      if (++tried > 4 * kMaxAssignments && best)
        return;
      auto decision = evaluator.evaluate(chosen);
      if (decision && (!best || Evaluator::isBetter(*decision, *best)))
        best = std::move(decision);
      return;
    }
    for (const Candidate &candidate : candidates[factor]) {
      if (overlap(used, candidate.axes))
        continue;
      size_t before = used.size();
      used.append(candidate.axes.begin(), candidate.axes.end());
      chosen[factor] = candidate.axes;
      try_(factor + 1);
      chosen[factor].clear();
      used.truncate(before);
    }
    try_(factor + 1);
  }

  const PlacementOp &op;
  Evaluator evaluator;
  llvm::SmallVector<std::vector<Candidate>, 8> candidates;
  llvm::SmallVector<AxisList, 8> chosen;
  AxisList used;
  double tried = 0;
  std::optional<PlacementDecision> best;
};

} // namespace

std::optional<PlacementDecision> tessera::placeWith(const PlacementOp &op, llvm::ArrayRef<AxisList> factorAxes,
                                                    ReshardCosts &costs) {
  return Evaluator(op, costs).evaluate(factorAxes);
}

PlacementDecision tessera::chooseFactorShardings(const PlacementOp &op, ReshardCosts &costs) {
  return Chooser(op, costs).run();
}
