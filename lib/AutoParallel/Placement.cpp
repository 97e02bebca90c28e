//===- Placement.cpp - What reshards cost, and how ops lie -----------------===//
#include "tessera/AutoParallel/Placement.h"
#include "tessera/AutoParallel/PlacedPrograms.h"

#include "tessera/Analysis/Sharding/Projection.h"
#include "tessera/AutoParallel/Hierarchy.h"
#include "tessera/AutoParallel/ReshardCollectives.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace tessera;

/// States of views that are looked at before one plan is found that beats the plain one: most are found at
/// once, and most searches find none.
static constexpr int kMostInVain = 40;

std::optional<ReshardPlan> tessera::planForMachine(const Machine &machine, const Mesh &mesh,
                                                   llvm::ArrayRef<int64_t> shape, double elementBytes,
                                                   const Sharding &from, const Sharding &to,
                                                   const AxisList &reserved) {
  ReshardOptions options;
  options.reserved = reserved;
  options.latency = machine.link.latency * machine.link.bandwidth / elementBytes;
  options.pointToPoint = options.countSent = true;
  auto timeOf = [&](const ReshardPlan &plan) {
    return planTime(machine, mesh, stageAtNodes(machine, mesh, shape, elementBytes, from, plan),
                    elementBytes);
  };
  auto plain = planReshard(mesh, shape, from, to, options);
  if (!plain)
    return plain;
  double cost = priceOf(*plain, options);
  // At the bound it cannot be beaten; else another may be cheaper, in states that only views say.
  if (cost <= reshardNeeds(mesh, shape, from, to, options).cost * (1 + 1e-9))
    return plain;
  options.below = cost;
  options.strided = options.jointAllToAll = true;
  options.maxInVain = kMostInVain;
  auto strided = planReshard(mesh, shape, from, to, options);
  if (!strided || timeOf(*strided) >= timeOf(*plain) * (1 - 1e-9) || !asCollectives(shape, from, *strided))
    return plain;
  return strided;
}

double tessera::chosenShare(llvm::ArrayRef<int64_t> shape, const ChosenRows &chosen, const Sharding &from,
                            const ReshardPlan &plan) {
  if (chosen.dim < 0 || plan.steps.empty() || plan.steps.back().kind != StepKind::AllToAll ||
      plan.steps.back().moves.size() != 1)
    return 1;
  const ReshardStep &last = plan.steps.back();
  const AxisMove &move = last.moves.front();
  const Sharding &before = plan.steps.size() > 1 ? plan.steps[plan.steps.size() - 2].result : from;
  bool toExperts = move.to == chosen.dim && move.from < chosen.dim;
  if ((!toExperts && (move.from != chosen.dim || move.to > chosen.dim)) || before.dims.size() != shape.size())
    return 1;
  // Where tokens do not divide, rows of padding would travel that nobody counts.
  int dim = toExperts ? move.from : move.to;
  int64_t size = shape[size_t(dim)], shards = (toExperts ? before : last.result).shards(dim),
          group = axesSize(move.axes), few = (size + shards - 1) / shards,
          many = (size + shards / group - 1) / (shards / group);
  return few * group == many ? chosen.share : 1;
}

/// Of a layer on three axes: asked for one by one, and no reason to hash them again.
static constexpr size_t kUsualReshards = 1 << 13;

ReshardCosts::ReshardCosts(Mesh theMesh, Machine theMachine, AxisList theReserved)
    : mesh(std::move(theMesh)), machine(std::move(theMachine)), reserved(std::move(theReserved)),
      placed(std::make_shared<PlacedPrograms>()) {
  entries.reserve(kUsualReshards);
  leastLatency = machine.link.latency;
  mostBandwidth = machine.link.bandwidth;
  for (int i = 0; i < int(mesh.axes.size()); ++i) {
    const Link &link = machine.linkOf(mesh, wholeAxis(mesh, i));
    leastLatency = std::min(leastLatency, link.latency);
    mostBandwidth = std::max(mostBandwidth, link.bandwidth);
  }
}

int ReshardCosts::numberOf(llvm::ArrayRef<int64_t> shape, double elementBytes, const ChosenRows &chosen) {
  key.assign({-2, llvm::bit_cast<int64_t>(elementBytes)}); // no sharding's begins so
  key.append({chosen.dim, llvm::bit_cast<int64_t>(chosen.share)});
  key.append(shape.begin(), shape.end());
  auto [it, made] = numbers.try_emplace(key, int(tensors.size()));
  if (made)
    tensors.push_back({llvm::SmallVector<int64_t, 4>(shape.begin(), shape.end()), elementBytes, chosen});
  return it->second;
}

int ReshardCosts::numberOf(const Sharding &sharding) {
  constexpr int kBits = 28; // of a usual piece's numbers
  key.clear();
  auto add = [&](llvm::ArrayRef<AxisRef> axes) {
    for (const AxisRef &axis : axes)
      if (((axis.pre | axis.size) >> kBits) == 0) // one number, larger than any index of an axis
        key.push_back(int64_t(axis.axis) << 2 * kBits | axis.pre << kBits | axis.size);
      else
        key.append({axis.axis, axis.pre, axis.size});
    key.push_back(-1); // no axis has that index
  };
  for (const DimSharding &dim : sharding.dims)
    add(dim.axes);
  add(sharding.partial);
  key.push_back(sharding.partial.empty() ? 0 : int64_t(sharding.partialKind));
  auto [it, made] = numbers.try_emplace(key, int(ends.size()));
  if (made) {
    ends.emplace_back(mesh, sharding);
    Sharding &placed = shardings.emplace_back(int64_t(sharding.dims.size()));
    for (auto [dim, of] : llvm::zip(placed.dims, sharding.dims))
      dim.axes = of.axes;
    placed.partial = sharding.partial;
    placed.partialKind = sharding.partial.empty() ? PartialKind::None : sharding.partialKind;
  }
  return it->second;
}

double &ReshardCosts::kept(llvm::StringRef name, llvm::ArrayRef<int> ends) {
  Key wanted = {names.try_emplace(name, int(names.size())).first->second};
  wanted.append(ends.begin(), ends.end());
  return times.try_emplace(std::move(wanted), -1).first->second;
}

const ReshardCosts::Cost &ReshardCosts::reshard(llvm::ArrayRef<int64_t> shape, double elementBytes,
                                                const Sharding &from, const Sharding &to,
                                                const ChosenRows &chosen) {
  static const Cost nothing = {true, 0, 0};
  if (from.samePlacement(to))
    return nothing;
  Entry &entry = entryOf(numberOf(shape, elementBytes, chosen), numberOf(from), numberOf(to));
  if (!entry.cost) {
    entry.cost.emplace();
    entry.plan = planForMachine(machine, mesh, shape, elementBytes, from, to, reserved);
    if (entry.plan) {
      ReshardPlan sent = *entry.plan;
      if (double share = chosenShare(shape, chosen, from, sent); share < 1) {
        sent.received -= (1 - share) * sent.steps.back().received;
        sent.steps.back().received *= share;
      }
      const double received = sent.received;
      sent = stageAtNodes(machine, mesh, shape, elementBytes, from, std::move(sent));
      entry.cost = {true, received, planTime(machine, mesh, sent, elementBytes)};
    }
  }
  return *entry.cost;
}

std::optional<ReshardPlan> ReshardCosts::plan(llvm::ArrayRef<int64_t> shape, double elementBytes,
                                              const Sharding &from, const Sharding &to) {
  if (from.samePlacement(to))
    return ReshardPlan();
  reshard(shape, elementBytes, from, to);
  auto plan = entryOf(numberOf(shape, elementBytes), numberOf(from), numberOf(to)).plan;
  // It may have been made for a sharding that is open or has priorities where this one has not.
  if (plan && !plan->steps.empty())
    plan->steps.back().result = to;
  return plan;
}

double ReshardCosts::floorOf(Entry &entry, int tensor, int from, int to) {
  if (entry.floor < 0) {
    const Tensor &value = tensors[size_t(tensor)];
    ReshardOptions options;
    options.reserved = reserved;
    ReshardNeeds needs = reshardNeeds(mesh, value.shape, ends[size_t(from)], ends[size_t(to)], options);
    entry.floor = needs.possible ? leastLatency * needs.rounds + needs.received * value.chosen.share *
                                                                     value.elementBytes / mostBandwidth
                                 : std::numeric_limits<double>::infinity();
    if (!needs.possible)
      entry.cost.emplace();
  }
  return entry.floor;
}

double ReshardCosts::floor(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from,
                           const Sharding &to, const ChosenRows &chosen) {
  if (from.samePlacement(to))
    return 0;
  int numbers[] = {numberOf(shape, elementBytes, chosen), numberOf(from), numberOf(to)};
  return floorOf(entryOf(numbers[0], numbers[1], numbers[2]), numbers[0], numbers[1], numbers[2]);
}

ReshardCosts::Known ReshardCosts::known(llvm::ArrayRef<int64_t> shape, double elementBytes,
                                        const Sharding &from, const Sharding &to) {
  return known(numberOf(shape, elementBytes), numberOf(from), numberOf(to));
}

ReshardCosts::Known ReshardCosts::known(int tensor, int from, int to) {
  if (from == to)
    return {0, true};
  Entry &entry = entryOf(tensor, from, to);
  if (entry.cost && entry.cost->possible)
    return {entry.cost->time, true};
  double floor = floorOf(entry, tensor, from, to);
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

std::optional<Sharding> tessera::shardingOfFactors(const TensorFactors &tensor,
                                                   llvm::ArrayRef<AxisList> factorAxes,
                                                   llvm::ArrayRef<Factor> factors) {
  // Where factors share a dimension, padding of one would stand inside the other.
  for (const auto &dim : tensor.dims)
    for (int f : dim)
      if (dim.size() > 1 && factors[f].size % axesSize(factorAxes[f]) != 0)
        return std::nullopt;
  Sharding whole(int64_t(tensor.dims.size()));
  // Usually a dimension is one factor, and its axes are the factor's.
  const bool isPlain = llvm::all_of(tensor.dims, [](const auto &dim) { return dim.size() <= 1; });
  if (isPlain) {
    for (auto [dim, sharding] : llvm::zip(tensor.dims, whole.dims)) {
      if (dim.empty())
        continue;
      const AxisList &axes = factorAxes[size_t(dim.front())];
      sharding.axes = axes;
      mergeAdjacent(sharding.axes);
      if (sharding.axes != axes)
        return std::nullopt;
    }
    return whole;
  }
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
