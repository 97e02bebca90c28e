//===- ReshardState.cpp - States of the reshard search --------------------===//
#include "ReshardState.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tessera;
using namespace tessera::reshard;

namespace {
/// Ends of the digits of an axis, as products from the major side; ascending.
class CutSet : public llvm::SmallVector<int64_t, 4> {
public:
  /// Whether it was not there yet.
  bool insert(int64_t cut) {
    auto *place = llvm::lower_bound(*this, cut);
    if (place != end() && *place == cut)
      return false;
    llvm::SmallVector<int64_t, 4>::insert(place, cut);
    return true;
  }
};
/// Where each axis is cut.
using Cuts = llvm::SmallVector<CutSet, 8>;

void cutAt(Cuts &cuts, llvm::ArrayRef<AxisRef> axes) {
  for (const AxisRef &axis : axes) {
    cuts[axis.axis].insert(axis.pre);
    cuts[axis.axis].insert(axis.pre * axis.size);
  }
}

/// Every cut divides the next.
bool isChain(llvm::ArrayRef<int64_t> cuts) {
  int64_t last = 1;
  for (int64_t cut : cuts) {
    if (cut % last != 0)
      return false;
    last = cut;
  }
  return true;
}

/// Cuts axes of `mine` where axes of `other` end on the same dimension; `common`: also where they would end
/// if they did not reach as far as to the end, at the common divisor. Returns whether anything changed.
bool cutWhereOthersEnd(Cuts &cuts, const DimSharding &mine, const DimSharding &other, bool common) {
  CutSet ends;
  int64_t end = 1;
  for (const AxisRef &axis : other.axes) {
    int64_t pre = end;
    end *= axis.size;
    for (int64_t cut : cuts[axis.axis])
      if (cut > axis.pre && cut < axis.pre * axis.size)
        ends.insert(pre * (cut / axis.pre));
    ends.insert(end);
  }
  bool changed = false;
  int64_t pre = 1;
  for (const AxisRef &axis : mine.axes) {
    for (int64_t at : ends) {
      if (common && at % pre == 0)
        at = pre * std::gcd(at / pre, axis.size);
      if (at <= pre || at >= pre * axis.size || at % pre != 0 || (pre * axis.size) % at != 0)
        continue;
      CutSet refined = cuts[axis.axis];
      if (refined.insert(axis.pre * (at / pre)) && isChain(refined)) {
        cuts[axis.axis] = refined;
        changed = true;
      }
    }
    pre *= axis.size;
  }
  return changed;
}
} // namespace

/// Between neighbours, which divide each other, until only primes are left: small ones first, from the major
/// end.
static void cutIntoPrimes(CutSet &cuts) {
  CutSet known = cuts;
  int64_t pre = 1;
  for (int64_t cut : known)
    for (int64_t prime = 2; pre < cut; ++prime)
      while (cut / pre % prime == 0)
        cuts.insert(pre *= prime);
}

std::optional<Problem> reshard::makeProblem(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                                            const Sharding &from, const Sharding &to,
                                            const ReshardOptions &options, Refine refine, bool wide) {
  Problem problem;
  problem.wide = wide;
  problem.mesh = &mesh;
  // An empty tensor is planned like one of one element: nothing is divided by nothing.
  for (int64_t n : shape)
    problem.shape.push_back(std::max<int64_t>(1, n));
  problem.options = options;
  Cuts cuts(mesh.axes.size());
  for (const Sharding *sharding : {&from, &to}) {
    for (const DimSharding &dim : sharding->dims)
      cutAt(cuts, dim.axes);
    cutAt(cuts, sharding->partial);
  }
  // While something is to be summed up, axes that nobody named can share the work.
  bool sums = from.partial != to.partial;
  for (auto [i, axis] : llvm::enumerate(mesh.axes)) {
    const bool isReserved =
        llvm::any_of(options.reserved, [i = int(i)](const AxisRef &other) { return other.axis == i; });
    if (cuts[i].empty() && (isReserved || (!sums && !wide)))
      continue;
    cuts[i].insert(1);
    cuts[i].insert(axis.size);
    if (!isChain(cuts[i]))
      return std::nullopt;
    if (wide && refine == Refine::Common)
      cutIntoPrimes(cuts[i]);
  }
  if (refine != Refine::None)
    for (bool changed = true; changed;) {
      changed = false;
      for (auto [a, b] : llvm::zip(from.dims, to.dims))
        for (auto [mine, other] : {std::make_pair(&a, &b), std::make_pair(&b, &a)})
          if (cutWhereOthersEnd(cuts, *mine, *other, refine == Refine::Common))
            changed = true;
    }
  for (auto [i, axisCuts] : llvm::enumerate(cuts)) {
    int64_t pre = 1;
    for (int64_t cut : axisCuts) {
      if (cut > pre)
        problem.digits.push_back({int(i), pre, cut / pre});
      pre = cut;
    }
  }

  auto stateOf = [&](const Sharding &sharding) {
    State state(problem.digits.size());
    auto within = [](const AxisRef &digit, const AxisRef &axis) {
      return digit.axis == axis.axis && digit.pre >= axis.pre &&
             digit.pre * digit.size <= axis.pre * axis.size;
    };
    for (auto [i, digit] : llvm::enumerate(problem.digits)) {
      for (const AxisRef &axis : sharding.partial)
        if (within(digit, axis))
          state[i].dim = DigitUse::kPartial;
      for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
        int64_t pre = 1;
        for (const AxisRef &axis : dim.axes) {
          if (within(digit, axis))
            state[i] = {int(d), pre * (digit.pre / axis.pre)};
          pre *= axis.size;
        }
      }
    }
    return state;
  };
  problem.start = stateOf(from);
  problem.goal = stateOf(to);
  problem.maxLocal = std::max(localSize(problem, problem.start), localSize(problem, problem.goal));
  return problem;
}

llvm::SmallVector<Split, 8> reshard::splitsOf(const Problem &problem, const State &state, int dim) {
  llvm::SmallVector<Split, 8> splits;
  for (auto [i, place] : llvm::enumerate(state))
    if (place.dim == dim)
      splits.push_back({place.pre, problem.size(int(i)), int(i)});
  llvm::sort(splits, [](const Split &a, const Split &b) { return a.pre < b.pre; });
  return splits;
}

int64_t reshard::shardsOf(const Problem &problem, const State &state, int dim) {
  int64_t shards = 1;
  for (auto [i, place] : llvm::enumerate(state))
    if (place.dim == dim)
      shards *= problem.size(int(i));
  return shards;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t reshard::extentOf(const Problem &problem, const State &state, int dim) {
  return ceilDiv(problem.shape[dim], shardsOf(problem, state, dim));
}

double reshard::localSize(const Problem &problem, const State &state) {
  double size = 1;
  for (int d = 0; d < problem.rank(); ++d)
    size *= double(extentOf(problem, state, d));
  return size;
}

bool reshard::isContiguous(llvm::ArrayRef<Split> splits) {
  int64_t end = 1;
  for (const Split &split : splits) {
    if (split.pre != end)
      return false;
    end = split.end();
  }
  return true;
}

bool reshard::isValid(const Problem &problem, int dim, llvm::ArrayRef<Split> splits) {
  if (isContiguous(splits))
    return true;
  if (!problem.options.strided)
    return false;
  int64_t end = 1;
  for (const Split &split : splits) {
    if (split.pre % end != 0)
      return false;
    end = split.end();
  }
  return problem.shape[dim] % end == 0;
}

bool reshard::linesUp(const Problem &problem, int dim, int64_t coarseShards, int64_t fineShards) {
  if (coarseShards == 1)
    return true;
  int64_t n = problem.shape[dim];
  return ceilDiv(n, coarseShards) == fineShards / coarseShards * ceilDiv(n, fineShards);
}

/// One of the two cuts what the other leaves whole.
static bool nest(const Split &h, const Split &w) { return h.pre % w.end() == 0 || w.pre % h.end() == 0; }

namespace {
/// Digits of an element's indices that are to be equal.
class EqualDigits {
public:
  explicit EqualDigits(const Problem &problem, const State &state) : problem(problem), state(state) {}

  /// Unless it is not known how these digits go together with those that are there.
  void add(const DigitUse &a, const DigitUse &b, int64_t size) {
    if (!mayStand(a, size) || !mayStand(b, size) ||
        (a.dim == b.dim && !nest(splitOf(a, size), splitOf(b, size))))
      return;
    const int setOfA = nodes[nodeOf(a, size)].set, setOfB = nodes[nodeOf(b, size)].set;
    if (setOfA == setOfB)
      return;
    part /= double(size);
    for (Node &node : nodes)
      if (node.set == setOfB)
        node.set = setOfA;
  }

  double part = 1; ///< of all elements, that have them equal; at most

private:
  struct Node {
    DigitUse place;
    int64_t size;
    int set;
  };

  static Split splitOf(const DigitUse &place, int64_t size) { return {place.pre, size, 0}; }
  static bool isSame(const Node &node, const DigitUse &place, int64_t size) {
    return node.place == place && node.size == size;
  }

  /// Whether all values of the digit are as frequent, whatever the digits that are known are.
  bool mayStand(const DigitUse &place, int64_t size) const {
    const int d = place.dim;
    const int64_t n = problem.shape[d];
    return n % shardsOf(problem, problem.goal, d) == 0 && n % shardsOf(problem, state, d) == 0 &&
           n % (place.pre * size) == 0 && llvm::all_of(nodes, [&](const Node &node) {
             return node.place.dim != d || isSame(node, place, size) ||
                    nest(splitOf(node.place, node.size), splitOf(place, size));
           });
  }

  size_t nodeOf(const DigitUse &place, int64_t size) {
    for (auto [i, node] : llvm::enumerate(nodes))
      if (isSame(node, place, size))
        return i;
    nodes.push_back({place, size, int(nodes.size())});
    return nodes.size() - 1;
  }

  const Problem &problem;
  const State &state;
  llvm::SmallVector<Node, 12> nodes;
};
} // namespace

/// The part of all elements of which no device that is to know the sum has a term, at least: an axis that
/// splits here and there has one coordinate on a device, so both digits of the element would be equal.
static double termsElsewhere(const Problem &problem, const State &state) {
  EqualDigits here(problem, state);
  for (auto [i, place] : llvm::enumerate(state))
    if (const DigitUse &goal = problem.goal[i]; place.split() && goal.split() && place != goal)
      here.add(place, goal, problem.size(int(i)));
  return 1 - here.part;
}

/// Values that a device receives at least, averaged over all, until what the goal says is summed up and where
/// it belongs. An element's `terms` lie on as many devices: until the first device has their sum, all but one
/// of them must have sent; each other device that wants the sum receives at least once after that. Where none
/// that wants it has a term, the first one either does not want it, or has received them all.
static double summing(const Problem &problem, const State &state) {
  double elements = 1, devices = 1, terms = 1, kept = 1, shards = 1;
  for (int64_t n : problem.shape)
    elements *= double(n);
  for (auto [i, place] : llvm::enumerate(state)) {
    double size = double(problem.size(int(i)));
    devices *= size;
    if (problem.goal[i].dim == DigitUse::kPartial)
      kept *= size;
    else if (place.dim == DigitUse::kPartial)
      terms *= size;
    if (problem.goal[i].split())
      shards *= size;
  }
  double copies = devices / (shards * kept);
  return elements * kept * (terms + copies - 2 + termsElsewhere(problem, state)) / devices;
}

static bool sameDigit(const Split &h, const Split &w) { return h.digit == w.digit && h.pre == w.pre; }

/// Indices of dimension `d` that one device has and one wants, at most; `same` says which splits pick the
/// same ones.
template <typename Same>
static double inCommon(const Problem &problem, const State &state, int d, llvm::ArrayRef<Split> have,
                       llvm::ArrayRef<Split> want, Same same) {
  int64_t n = problem.shape[d];
  double shared = double(n);
  for (const Split &w : want)
    shared /= double(w.size);
  bool aligned = true;
  for (const Split &h : have) {
    if (llvm::any_of(want, [&](const Split &w) { return same(h, w); }))
      continue;
    shared /= double(h.size);
    aligned &= llvm::all_of(want, [&](const Split &w) { return nest(h, w); });
  }
  if (!aligned || n % shardsOf(problem, problem.goal, d) != 0 || n % shardsOf(problem, state, d) != 0)
    return double(std::min(extentOf(problem, state, d), extentOf(problem, problem.goal, d)));
  return shared;
}

double reshard::lacking(const Problem &problem, const State &state) {
  double target = localSize(problem, problem.goal);
  bool summed = true;
  for (auto [place, goal] : llvm::zip(state, problem.goal))
    summed &= place.dim != DigitUse::kPartial || goal.dim == DigitUse::kPartial;
  if (!summed)
    return std::max(
        target, summing(problem, state)); // every element of the goal needs at least one value from elsewhere
  double common = 1;
  for (int d = 0; d < problem.rank(); ++d) {
    auto have = splitsOf(problem, state, d), want = splitsOf(problem, problem.goal, d);
    for (const Split &h : have)
      for (const Split &w : want)
        if (!sameDigit(h, w) && !nest(h, w) && h.pre < w.end() && w.pre < h.end())
          return target; // one digit of the dimension, two masters: on some device they disagree
    common *= inCommon(problem, state, d, have, want, sameDigit);
  }
  return std::max(0.0, target - common);
}

int reshard::stepsLeft(const Problem &problem, const State &state) {
  bool sums = false, moves = false;
  for (auto [place, goal] : llvm::zip(state, problem.goal)) {
    sums |= place.dim == DigitUse::kPartial && goal.dim != DigitUse::kPartial;
    moves |= place.split() && place != goal;
  }
  return int(sums) + int(moves);
}

double reshard::costLeft(const Problem &problem, const State &state) {
  return costLeft(problem, state, lacking(problem, state));
}

double reshard::costLeft(const Problem &problem, const State &state, double received) {
  double latency = problem.options.latency;
  int steps = stepsLeft(problem, state);
  double cost = received + latency * steps;
  // Where nothing else moves, one step alone combines everything: into the pieces of the goal if it goes by
  // all those axes, else each device receives its share and all the others' after that. Otherwise it takes a
  // step more.
  double group = 1, pieces = 1;
  for (auto [i, place] : llvm::enumerate(state))
    if (place.dim == DigitUse::kPartial && problem.goal[i].dim != DigitUse::kPartial) {
      group *= double(problem.size(int(i)));
      pieces *= problem.goal[i].split() ? double(problem.size(int(i))) : 1;
    }
  if (group == 1 || steps > 1)
    return cost;
  double target = localSize(problem, problem.goal);
  double alone = group == pieces ? target * (group - 1) : 2 * target * pieces * (group - 1) / group;
  return std::max(cost, std::min(cost + latency, alone + latency * steps));
}

int reshard::roundsLeft(const Problem &problem, const State &state, double received) {
  double terms = 1,
         common = 1; // what is wanted and what one device has have so many elements in common at most
  for (auto [i, place] : llvm::enumerate(state))
    if (place.dim == DigitUse::kPartial && problem.goal[i].dim != DigitUse::kPartial)
      terms *= double(problem.size(int(i)));
  for (int d = 0; d < problem.rank(); ++d)
    common *= inCommon(problem, state, d, splitsOf(problem, state, d), splitsOf(problem, problem.goal, d),
                       [](const Split &h, const Split &w) { return h.pre == w.pre && h.size == w.size; });
  auto rounds = [](double devices) { return int(std::ceil(std::log2(devices) - 1e-9)); };
  double sources = std::max(1.0, std::ceil(localSize(problem, problem.goal) / common - 1e-9));
  int steps = stepsLeft(problem, state), apart = rounds(terms) + steps - int(terms > 1);
  return std::max({rounds(terms * sources), apart, int(received > 0)});
}

StridedSharding reshard::toStrided(const Problem &problem, const State &state) {
  StridedSharding result;
  result.dims.resize(problem.rank());
  for (int d = 0; d < problem.rank(); ++d) {
    int64_t end = 1;
    for (const Split &split : splitsOf(problem, state, d)) {
      if (split.pre != end)
        result.dims[d].push_back({-1, 1, split.pre / end});
      result.dims[d].push_back(problem.digits[split.digit]);
      end = split.end();
    }
    mergeAdjacent(result.dims[d]);
  }
  for (auto [i, place] : llvm::enumerate(state))
    if (place.dim == DigitUse::kPartial)
      result.partial.push_back(problem.digits[i]);
  llvm::sort(result.partial);
  mergeAdjacent(result.partial);
  return result;
}
