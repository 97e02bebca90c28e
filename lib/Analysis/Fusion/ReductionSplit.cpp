//===- ReductionSplit.cpp - reductions over several iterations ------------===//

#include "tessera/Analysis/Fusion/Fusion.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>

namespace tessera::fusion {

namespace {

/// A launch costs about as much as so many small iterations one after the other.
constexpr int64_t kIterationsOfLaunch = 8;
/// The number of parts may be off what is wanted by this much: it has to divide.
constexpr int64_t kOff = 4;
/// Parts whose sizes are multiples of this are read in wide accesses.
constexpr int64_t kWide = 8;

bool has(const TensorFactors &tensor, int factor) {
  return llvm::any_of(tensor.dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
}

/// Elements of the operands that `factor` runs through; 0 where it is only a part of a dimension.
int64_t elementsAlong(const Op &op, int factor) {
  int64_t elements = 0;
  for (auto [tensor, shape] : llvm::zip_equal(op.rule.operands, op.operandShapes)) {
    if (!has(tensor, factor))
      continue;
    if (llvm::any_of(tensor.dims,
                     [&](const auto &dim) { return dim.size() > 1 && llvm::is_contained(dim, factor); }))
      return 0;
    elements += std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  }
  return elements;
}

/// The divisor of `size` that is best for `wanted` parts: of those not far off the one whose parts are read
/// widest, and among these the nearest. 1: there is none. A part has two elements at least, so that the
/// factor stands as two.
int64_t bestDivisor(int64_t size, int64_t wanted) {
  int64_t best = 1;
  auto value = [&](int64_t parts) {
    double off = parts > wanted ? double(parts) / double(wanted) : double(wanted) / double(parts);
    return std::make_pair(std::gcd(size / parts, kWide), -off);
  };
  for (int64_t parts = 2; parts <= std::min(size / 2, wanted * kOff); ++parts)
    if (size % parts == 0 && parts * kOff >= wanted && (best == 1 || value(parts) > value(best)))
      best = parts;
  return best;
}

} // namespace

std::optional<Split> worthSplitting(const Op &op, const Choices &choices, int64_t launches) {
  if (!op.fusable || op.updated >= 0 || op.rule.results.size() != 1)
    return std::nullopt;
  Op apart = op;
  apart.operands.clear();
  apart.results.clear();
  for (size_t i = 0; i < op.rule.operands.size(); ++i)
    apart.operands.push_back(int(i));
  apart.results.push_back(int(apart.operands.size()));
  std::optional<Body> alone =
      chooseLoop(apart, /*ops=*/{0}, /*again=*/{}, {0, 0, std::numeric_limits<int64_t>::max()});
  if (!alone)
    return std::nullopt;
  std::optional<Split> best;
  int64_t most = 0;
  for (int factor = 0; factor < int(op.rule.factors.size()); ++factor) {
    const Factor &reduced = op.rule.factors[factor];
    int64_t elements = elementsAlong(op, factor);
    // Indices are looked up by all parts alike.
    if (reduced.kind != FactorKind::Reduction || reduced.combine == PartialKind::None || elements <= most ||
        llvm::is_contained(op.rule.lookedUp, factor))
      continue;
    int64_t useful =
        std::min(choices.parallelIterations, elements / std::max<int64_t>(choices.smallElements, 1));
    int64_t wanted = useful / alone->iterations();
    if (wanted < kIterationsOfLaunch * launches)
      continue;
    int64_t parts = bestDivisor(reduced.size, wanted);
    if (parts < 2)
      continue;
    most = elements;
    best = Split{factor, parts};
  }
  return best;
}

} // namespace tessera::fusion
