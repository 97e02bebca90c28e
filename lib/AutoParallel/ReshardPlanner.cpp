//===- ReshardPlanner.cpp - The cheapest way to another sharding ----------===//
#include "ReshardState.h"

#include "tessera/Analysis/Sharding/GroupedSends.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace tessera;
using namespace tessera::reshard;

bool StridedSharding::isPlain() const {
  return llvm::all_of(
      dims, [](const auto &dim) { return llvm::all_of(dim, [](const AxisRef &a) { return a.axis >= 0; }); });
}

StridedSharding tessera::toStridedSharding(const Sharding &sharding) {
  StridedSharding result;
  for (const DimSharding &dim : sharding.dims)
    result.dims.emplace_back(dim.axes.begin(), dim.axes.end());
  result.partial = sharding.partial;
  if (!sharding.partial.empty())
    result.partialKind = sharding.partialKind;
  return result;
}

std::string tessera::toString(const StridedSharding &sharding, const Mesh &mesh) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    text += i ? "/" : "";
    for (auto [j, axis] : llvm::enumerate(dim))
      text += (j ? "," : "") + (axis.axis < 0 ? "_" + std::to_string(axis.size) : toString(axis, mesh));
    if (dim.empty())
      text += "-";
  }
  text += "]";
  for (auto [i, axis] : llvm::enumerate(sharding.partial))
    text += (i ? "," : sharding.partialKind == PartialKind::Max ? " Umax{" : " U{") + toString(axis, mesh);
  return text + (sharding.partial.empty() ? "" : "}");
}

namespace {

/// Without axes of size 1, which say nothing about where elements are.
Sharding essential(const Sharding &sharding) {
  Sharding result = sharding;
  auto strip = [](AxisList &axes) {
    llvm::erase_if(axes, [](const AxisRef &axis) { return axis.size == 1; });
  };
  for (DimSharding &dim : result.dims) {
    strip(dim.axes);
    mergeAdjacent(dim.axes);
    dim.open = false;
    dim.priority.reset();
  }
  strip(result.partial);
  result.replicated.clear();
  if (result.partial.empty())
    result.partialKind = PartialKind::None;
  return result;
}

/// Placement asks about what propagation might do; no tensor is split and partial over the same digits.
bool isPossible(const Mesh &mesh, int64_t rank, const Sharding &source, const Sharding &target) {
  return verifySharding(source, mesh, rank).empty() && verifySharding(target, mesh, rank).empty();
}

/// Gathers what is not yet as it should be, then slices: always possible.
std::vector<Move> gatherThenSlice(const Problem &problem) {
  std::vector<Move> moves;
  State state = problem.start;
  auto step = [&](StepKind kind, State after, double received) {
    if (after == state)
      return;
    state = after;
    moves.push_back({kind, std::move(after), received});
  };
  State after = state;
  double group = 1;
  for (auto [i, place] : llvm::enumerate(after))
    if (place.dim == DigitUse::kPartial && problem.goal[i].dim != DigitUse::kPartial) {
      place = DigitUse();
      group *= double(problem.size(int(i)));
    }
  step(StepKind::AllReduce, after, 2 * localSize(problem, state) * (group - 1) / group);
  for (int d = 0; d < problem.rank(); ++d) {
    after = state;
    bool right = splitsOf(problem, state, d).size() == splitsOf(problem, problem.goal, d).size();
    for (auto [place, goal] : llvm::zip(state, problem.goal))
      right &= place.dim != d || place == goal;
    if (right)
      continue;
    for (DigitUse &place : after)
      if (place.dim == d)
        place = DigitUse();
    // Pieces travel with their padding.
    step(StepKind::AllGather, after, localSize(problem, state) * double(shardsOf(problem, state, d) - 1));
  }
  for (int d = 0; d < problem.rank(); ++d) {
    after = state;
    for (auto [place, goal] : llvm::zip(after, problem.goal))
      if (goal.dim == d)
        place = goal;
    step(StepKind::AllSlice, after, 0);
  }
  return moves;
}

/// Axes over which `to` is partial, and `from` is not (in this way).
AxisList newlyPartial(const Sharding &from, const Sharding &to) {
  if (from.partialKind != to.partialKind)
    return to.partial;
  AxisList made;
  for (const AxisRef &axis : to.partial) {
    // Cut in ways that share no digits (6 as 2 x 3 and as 3 x 2): what is there is summed up first.
    bool clash = llvm::any_of(from.partial, [&](const AxisRef &other) {
      int64_t cuts[] = {axis.pre, axis.pre * axis.size, other.pre, other.pre * other.size};
      llvm::sort(cuts);
      return axis.axis == other.axis && (cuts[1] % cuts[0] || cuts[2] % cuts[1] || cuts[3] % cuts[2]);
    });
    made.append(clash ? AxisList{axis} : axesWithout(axis, from.partial));
  }
  return made;
}

Sharding withoutPartial(Sharding sharding, const AxisList &axes) {
  sharding.partial = axesWithout(sharding.partial, axes);
  mergeAdjacent(sharding.partial);
  if (sharding.partial.empty())
    sharding.partialKind = PartialKind::None;
  return sharding;
}

ReshardStep contribution(llvm::ArrayRef<int64_t> shape, const Sharding &result, AxisList axes) {
  ReshardStep step;
  step.kind = StepKind::Contribute;
  step.moves.push_back({std::move(axes)});
  step.result = result;
  step.layout = toStridedSharding(result);
  step.written = 1;
  if (result.partialKind == PartialKind::Sum) // a maximum stays where it is
    for (int64_t n : result.localShape(shape))
      step.written *= double(n);
  return step;
}

ReshardStep sendStep(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                     const Sharding &to) {
  ReshardStep step;
  step.kind = StepKind::GroupedSend;
  step.moves.push_back({sendAxes(mesh, shape, from, to)});
  step.result = to;
  step.layout = toStridedSharding(to);
  step.received = mostReceived(mesh, shape, from, to);
  step.messages = double(sendMessages(shape, from, to));
  step.sent = mostSent(mesh, shape, from, to);
  return step;
}

/// What both ends cut in ways that do not go together leaves but for the digits that both know, with what is
/// more minor in its dimension.
Sharding withoutClashes(Sharding sharding, const Sharding &to) {
  auto kept = [&](const AxisRef &axis) -> std::optional<AxisRef> {
    llvm::SmallVector<int64_t, 8> cuts;
    auto cutAt = [&](llvm::ArrayRef<AxisRef> others) {
      for (const AxisRef &other : others)
        if (other.axis == axis.axis)
          cuts.append({other.pre, other.pre * other.size});
    };
    for (const DimSharding &dim : to.dims)
      cutAt(dim.axes);
    cutAt(to.partial);
    auto fits = [&](int64_t cut) {
      return llvm::all_of(cuts, [&](int64_t other) { return cut % other == 0 || other % cut == 0; });
    };
    for (int64_t size = axis.size; size > 1 && fits(axis.pre); --size)
      if (axis.size % size == 0 && fits(axis.pre * size))
        return AxisRef{axis.axis, axis.pre, size};
    return std::nullopt;
  };
  for (DimSharding &dim : sharding.dims)
    for (size_t i = 0; i < dim.axes.size(); ++i) {
      auto part = kept(dim.axes[i]);
      if (part && *part == dim.axes[i])
        continue;
      dim.axes.truncate(i);
      if (part)
        dim.axes.push_back(*part);
      break;
    }
  llvm::erase_if(sharding.partial, [&](const AxisRef &axis) { return kept(axis) != axis; });
  if (sharding.partial.empty())
    sharding.partialKind = PartialKind::None;
  return sharding;
}

/// No state holds more on a device than the larger of source and target.
bool keepsWithin(const ReshardPlan &plan, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                 const Sharding &to) {
  auto local = [&](auto &&dims) {
    double size = 1;
    for (auto [n, axes] : llvm::zip_equal(shape, dims)) {
      int64_t shards = 1;
      for (const AxisRef &axis : axes)
        shards *= axis.axis < 0 ? 1 : axis.size;
      size *= double((n + shards - 1) / shards);
    }
    return size;
  };
  double most = std::max(local(toStridedSharding(from).dims), local(toStridedSharding(to).dims));
  return llvm::all_of(plan.steps, [&](const ReshardStep &step) { return local(step.layout.dims) <= most; });
}

double costOf(const std::vector<Move> &moves, const ReshardOptions &options) {
  double cost = 0;
  for (const Move &move : moves)
    cost += priceOf(move, options);
  return cost;
}

/// Up to so many digits detours are looked for: states grow with them exponentially.
constexpr size_t kWideDigits = 8;
/// Sends of what divides are tried where the best plan costs this many times the bound.
constexpr double kVeryFar = 3.5;

void planEssential(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to,
                   const ReshardOptions &options, ReshardPlan &plan) {
  if (from.samePlacement(to))
    return;
  auto divides = [&](const Sharding &sharding) {
    for (auto [d, n] : llvm::enumerate(shape))
      if (n % sharding.shards(int(d)) != 0)
        return false;
    return true;
  };
  // Where pieces do not line up, detours may move a multiple of what grouped sends do.
  bool sends = options.pointToPoint && !(divides(from) && divides(to));
  bool direct = sends && from.partial == to.partial;
  double received = direct ? mostReceived(mesh, shape, from, to) : 0,
         sent = direct ? mostSent(mesh, shape, from, to) : 0;
  std::optional<Problem> bestProblem;
  std::vector<Move> best;
  size_t digits = 0;
  auto tryOn = [&](std::optional<Problem> problem, bool withSends, bool mayBeGreedy) {
    problem->sends = withSends;
    problem->receivedFromStart = received;
    problem->sentFromStart = sent;
    auto moves = search(*problem, /*limitMemory=*/true);
    if (!moves && mayBeGreedy)
      moves = search(*problem, /*limitMemory=*/true, /*greedy=*/true);
    if (moves && (!bestProblem || costOf(*moves, options) < costOf(best, options) - 1e-9)) {
      best = std::move(*moves);
      bestProblem = std::move(problem);
    }
  };
  // Nothing found, or this many times the bound.
  auto isFar = [&](double times) {
    return !bestProblem || costOf(best, options) > times * costLeft(*bestProblem, bestProblem->start) + 1e-9;
  };
  for (Refine refine : {Refine::None, Refine::Ends, Refine::Common}) {
    auto problem = makeProblem(mesh, shape, from, to, options, refine);
    if (!problem)
      break;
    if (problem->digits.size() == digits)
      continue;
    digits = problem->digits.size();
    tryOn(std::move(problem), sends, /*mayBeGreedy=*/refine == Refine::None);
    if (!isFar(1))
      break;
  }
  if (bestProblem && options.strided && options.jointAllToAll && divides(from) && divides(to) && isFar(1)) {
    // Over the bound: detours may be cheaper.
    ReshardOptions wider = options;
    wider.below = costOf(best, options) - 1e-9;
    wider.maxExpansions /= 2;
    digits = 0;
    for (Refine refine : {Refine::None, Refine::Common})
      if (auto problem = makeProblem(mesh, shape, from, to, wider, refine, /*wide=*/true);
          problem && problem->digits.size() <= kWideDigits && problem->digits.size() != digits) {
        digits = problem->digits.size();
        if (auto moves = search(*problem, /*limitMemory=*/true)) {
          best = std::move(*moves);
          bestProblem = std::move(problem);
          wider.below = costOf(best, options) - 1e-9;
        }
      }
  }
  // Long detours, and sums that idle axes cannot share evenly.
  if (bestProblem && options.pointToPoint && !sends && isFar(kVeryFar))
    tryOn(makeProblem(mesh, shape, from, to, options, Refine::None), /*withSends=*/true,
          /*mayBeGreedy=*/false);
  if (!bestProblem && std::isfinite(options.below))
    return;
  if (auto problem = makeProblem(mesh, shape, from, to, options, Refine::None); problem && !bestProblem) {
    // Nothing within the memory of source and target.
    problem->sends = options.pointToPoint;
    auto moves = search(*problem, /*limitMemory=*/options.pointToPoint);
    best = moves ? std::move(*moves) : gatherThenSlice(*problem);
    bestProblem = std::move(problem);
  }
  if (bestProblem) {
    appendSteps(*bestProblem, from.partialKind, std::move(best), plan);
    return;
  }
  // An axis is cut in ways that do not go together (6 as 2 x 3 and as 3 x 2, 12 as 4 x 3 and as 6 x 2): but
  // for the digits that both know it leaves, then comes back.
  ReshardOptions each = options;
  each.below = std::numeric_limits<double>::infinity();
  ReshardPlan around, atOnce;
  Sharding middle = withoutClashes(from, to);
  planEssential(mesh, shape, from, middle, each, around);
  planEssential(mesh, shape, middle, to, each, around);
  if (options.pointToPoint) {
    // Or everything is sent where it belongs, sums after they are combined.
    Sharding summed = withoutPartial(from, axesWithout(from.partial, to.partial));
    planEssential(mesh, shape, from, summed, each, atOnce);
    if (sendAxes(mesh, shape, summed, to).empty()) { // cut out of what everybody has
      planEssential(mesh, shape, summed, to, each, atOnce);
    } else {
      atOnce.steps.push_back(sendStep(mesh, shape, summed, to));
      atOnce.received += atOnce.steps.back().received;
    }
  }
  bool isAtOnce = options.pointToPoint && (!keepsWithin(around, shape, from, to) ||
                                           priceOf(atOnce, options) < priceOf(around, options));
  ReshardPlan &chosen = isAtOnce ? atOnce : around;
  plan.received += chosen.received;
  llvm::move(chosen.steps, std::back_inserter(plan.steps));
}

bool isEmpty(llvm::ArrayRef<int64_t> shape) { return llvm::is_contained(shape, 0); }

} // namespace

std::optional<ReshardPlan> tessera::planReshard(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                                                const Sharding &from, const Sharding &to,
                                                const ReshardOptions &options) {
  ReshardPlan plan;
  if (from.samePlacement(to))
    return plan;
  Sharding source = essential(from), target = essential(to);
  if (!isPossible(mesh, int64_t(shape.size()), source, target))
    return std::nullopt;
  // What becomes partial was not; that is the last step, when nobody sums up any more.
  AxisList made = newlyPartial(source, target);
  Sharding whole = withoutPartial(target, made);
  planEssential(mesh, shape, source, whole, options, plan);
  if (plan.steps.empty() && std::isfinite(options.below) && !source.samePlacement(whole))
    return std::nullopt;
  if (!made.empty())
    plan.steps.push_back(contribution(shape, target, std::move(made)));
  // Axes of size 1 are where the annotation says.
  if (plan.steps.empty() || !plan.steps.back().result.samePlacement(to)) {
    ReshardStep step;
    step.kind = StepKind::CollectivePermute;
    step.result = to;
    step.layout = toStridedSharding(to);
    plan.steps.push_back(std::move(step));
  }
  plan.steps.back().result = to;
  if (isEmpty(shape)) { // searched as if it had one element, for the collectives that there must be
    plan.received = 0;
    for (ReshardStep &step : plan.steps)
      step.received = step.sent = 0;
  }
  return plan;
}

double tessera::priceOf(const ReshardPlan &plan, const ReshardOptions &options) {
  double price = 0;
  for (const ReshardStep &step : plan.steps)
    price += reshard::priceOf(step.kind, step.received, step.sent, step.messages, options);
  return price;
}

double tessera::reshardBound(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                             const Sharding &to, int samples) {
  Sharding source = essential(from), target = essential(to);
  target = withoutPartial(target, newlyPartial(source, target)); // contributed: nothing is received
  auto problem = makeProblem(mesh, shape, source, target, {}, Refine::None);
  double bound = problem ? lacking(*problem, problem->start) : 0;
  // By digits alone padded pieces look more alike than they are; while sums are open, every device needs all
  // of its target.
  if (source.partial != target.partial) {
    // The first device that knows the sum of an element has had g - 1 terms sent to it or on the way; every
    // other that is to know it receives it after that. Shared by all devices alike:
    double local = 1, shards = double(axesSize(target.partial));
    for (auto [d, n] : llvm::enumerate(target.localShape(shape))) {
      local *= double(shape[d]) / double(target.shards(int(d)));
      shards *= double(target.shards(int(d)));
    }
    double group = double(axesSize(source.partial)) / double(axesSize(target.partial)),
           copies = double(mesh.numDevices()) / shards;
    bound = std::max(bound, local * (group + copies - 2) / copies);
  } else
    bound = std::max(bound, someReceived(mesh, shape, source, target, samples));
  return bound;
}

ReshardEnd::ReshardEnd(const Mesh &mesh, const Sharding &sharding)
    : sharding(essential(sharding)),
      possible(verifySharding(this->sharding, mesh, int64_t(sharding.dims.size())).empty()) {}

ReshardNeeds tessera::reshardNeeds(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const ReshardEnd &from,
                                   const ReshardEnd &to, const ReshardOptions &options) {
  ReshardNeeds needs;
  needs.possible = from.possible && to.possible && from.sharding.dims.size() == shape.size() &&
                   to.sharding.dims.size() == shape.size();
  if (!needs.possible)
    return needs;
  if (isEmpty(shape))
    return needs;
  AxisList made = newlyPartial(from.sharding, to.sharding); // contributed: nothing is received
  auto problem = made.empty() ? makeProblem(mesh, shape, from.sharding, to.sharding, options, Refine::None)
                              : makeProblem(mesh, shape, from.sharding, withoutPartial(to.sharding, made),
                                            options, Refine::None);
  if (problem) {
    needs.received = lacking(*problem, problem->start);
    needs.cost = costLeft(*problem, problem->start, needs.received);
    needs.rounds = roundsLeft(*problem, problem->start, needs.received);
  }
  return needs;
}

ReshardNeeds tessera::reshardNeeds(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                                   const Sharding &to, const ReshardOptions &options) {
  if (from.samePlacement(to))
    return {};
  return reshardNeeds(mesh, shape, ReshardEnd(mesh, from), ReshardEnd(mesh, to), options);
}

std::string tessera::toString(const ReshardPlan &plan, const Mesh &mesh, llvm::ArrayRef<int64_t> shape) {
  double total = 1;
  for (int64_t n : shape)
    total *= double(std::max<int64_t>(1, n));
  if (plan.steps.empty())
    return "0\t";
  char cost[32];
  std::snprintf(cost, sizeof cost, "%.4f", plan.received / total);
  std::string text = cost;
  text += "\t";
  for (auto [i, step] : llvm::enumerate(plan.steps))
    text += (i ? "; " : "") + std::string(toString(step.kind)) + " " + toString(step.layout, mesh);
  return text;
}
