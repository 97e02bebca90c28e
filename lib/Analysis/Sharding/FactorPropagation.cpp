//===- FactorPropagation.cpp - Spreading axes within one op ---------------===//
#include "tessera/Analysis/Sharding/Propagation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <tuple>

using namespace tessera;

/// `first` is a proper prefix of `second`; its last axis may be a part of the one there.
static bool isStrictPrefix(llvm::ArrayRef<AxisRef> first, llvm::ArrayRef<AxisRef> second) {
  if (first.size() > second.size() || first == second)
    return false;
  if (first.empty())
    return true;
  if (first.drop_back() != second.take_front(first.size() - 1))
    return false;
  const AxisRef &last = first.back(), &other = second[first.size() - 1];
  return last == other || last.isPrefixOf(other);
}

static bool isPrefixOrEqual(llvm::ArrayRef<AxisRef> first, llvm::ArrayRef<AxisRef> second) {
  return first == second || isStrictPrefix(first, second);
}

/// Narrows `agreed` to what goes together with `axes`, or widens it to `axes` where these only add to it and
/// `canExpand` allows. After the first disagreement nothing may be added any more: `canExpand` becomes false.
static void intersect(AxisList &agreed, llvm::ArrayRef<AxisRef> axes, bool &canExpand) {
  size_t i = 0;
  for (; i < agreed.size() && i < axes.size(); ++i) {
    if (agreed[i] == axes[i])
      continue;
    if (axes[i].isPrefixOf(agreed[i]) && i + 1 == axes.size())
      return; // `axes` ends within this axis: `agreed` adds to it
    if (agreed[i].isPrefixOf(axes[i]) && i + 1 == agreed.size()) {
      if (!canExpand)
        return;
      agreed[i] = axes[i];
      continue;
    }
    // They part here; a common part of the axis stays.
    AxisRef shorter = agreed[i].size < axes[i].size ? agreed[i] : axes[i];
    AxisRef longer = agreed[i].size < axes[i].size ? axes[i] : agreed[i];
    bool common = shorter.isPrefixOf(longer);
    agreed.truncate(i + (common ? 1 : 0));
    if (common)
      agreed[i] = shorter;
    canExpand = false;
    return;
  }
  if (canExpand)
    agreed.append(axes.begin() + i, axes.end());
}

AxisList tessera::compatibleAxes(const OpProjection &op, int factor, Direction direction) {
  AxisList agreed;
  if (direction == Direction::None)
    return agreed;
  bool canExpand = true;
  auto visit = [&](llvm::ArrayRef<TensorProjection> tensors) {
    for (const TensorProjection &tensor : tensors)
      if (tensor.factors[factor].present)
        intersect(agreed, tensor.factors[factor].axes, canExpand);
  };
  llvm::ArrayRef<TensorProjection> all = op.tensors;
  auto operands = all.take_front(op.numOperands), results = all.drop_front(op.numOperands);
  // In one direction only the side that it starts from may add axes; the other side is still asked for
  // conflicts.
  visit(direction == Direction::Backward ? results : operands);
  canExpand &= direction == Direction::Both;
  visit(direction == Direction::Backward ? operands : results);
  return agreed;
}

/// Cuts `axes` at the first digit that `others` use.
static void cutOverlap(AxisList &axes, llvm::ArrayRef<AxisRef> others) {
  for (size_t i = 0; i < axes.size(); ++i) {
    AxisRef axis = axes[i];
    for (const AxisRef &other : others) {
      auto prefix = axis.prefixWithoutOverlap(other);
      if (!prefix) {
        axes.truncate(i);
        return;
      }
      axis = *prefix;
    }
    if (axis != axes[i]) {
      axes[i] = axis;
      axes.truncate(i + 1);
      return;
    }
  }
}

/// Cuts `axes` at the first that other factors of `tensor` use.
static void cutAcrossFactors(AxisList &axes, const TensorProjection &tensor, int factor) {
  for (auto [f, other] : llvm::enumerate(tensor.factors)) {
    if (int(f) == factor || !other.present)
      continue;
    cutOverlap(axes, other.axes);
    cutOverlap(axes, other.overflow);
  }
}

/// Cuts `axes` to what `factor` of `tensor` has or could take.
static void cutWithinFactor(AxisList &axes, const TensorProjection &tensor, int factor, const Factor &info) {
  cutOverlap(axes, tensor.blocked);
  const FactorSharding &sharding = tensor.factors[factor];
  if (isPrefixOrEqual(axes, sharding.axes))
    return;
  if (!sharding.open || !sharding.overflow.empty()) {
    // Nothing can be added: keep what is there already.
    bool canExpand = false;
    AxisList kept = sharding.axes;
    intersect(kept, axes, canExpand);
    if (isStrictPrefix(kept, axes))
      axes = kept;
    else
      axes.clear();
    return;
  }
  axes = fittingPrefix(axes, info.size, sharding.minorMost);
}

static bool expand(TensorProjection &tensor, int factor, llvm::ArrayRef<AxisRef> axes) {
  FactorSharding &sharding = tensor.factors[factor];
  if (!sharding.present || !isStrictPrefix(sharding.axes, axes))
    return false;
  sharding.axes.assign(axes.begin(), axes.end());
  return true;
}

bool tessera::propagateBasic(OpProjection &op, llvm::ArrayRef<Factor> factors,
                             llvm::ArrayRef<Direction> directions) {
  bool changed = false;
  for (int f = 0; f < int(factors.size()); ++f) {
    AxisList axes = compatibleAxes(op, f, directions[f]);
    for (const TensorProjection &tensor : op.tensors) {
      if (axes.empty())
        break;
      cutAcrossFactors(axes, tensor, f);
      if (tensor.factors[f].present)
        cutWithinFactor(axes, tensor, f, factors[f]);
    }
    if (axes.empty())
      continue;
    for (TensorProjection &tensor : op.tensors)
      changed |= expand(tensor, f, axes);
  }
  return changed;
}

bool tessera::propagateAggressive(OpProjection &op, llvm::ArrayRef<Factor> factors,
                                  llvm::ArrayRef<Direction> directions, bool elementwise) {
  int n = int(factors.size());
  llvm::SmallVector<AxisList, 8> wanted(n);
  for (int f = 0; f < n; ++f)
    wanted[f] = compatibleAxes(op, f, directions[f]);

  // The largest tensor that has all the axes wanted for a factor is its source: who reshards it pays most.
  struct Source {
    int64_t size = -1;
    int tensor = -1;
  };
  llvm::SmallVector<Source, 8> sources(n);
  for (auto [t, tensor] : llvm::enumerate(op.tensors)) {
    int64_t size = 1;
    for (int f = 0; f < n; ++f)
      if (tensor.factors[f].present)
        size *= factors[f].size;
    for (int f = 0; f < n; ++f)
      if (tensor.factors[f].present && !wanted[f].empty() &&
          isPrefixOrEqual(wanted[f], tensor.factors[f].axes) && size > sources[f].size)
        sources[f] = {size, int(t)};
  }
  auto order = llvm::to_vector(llvm::seq(0, n));
  auto rank = [&](int f) {
    int64_t shards = elementwise ? axesSize(wanted[f]) : 0;
    return std::make_tuple(-sources[f].size, -shards, sources[f].tensor, f);
  };
  llvm::sort(order, [&](int a, int b) { return rank(a) < rank(b); });

  bool changed = false;
  auto update = [&](int t) {
    TensorProjection &tensor = op.tensors[t];
    for (int f : order) {
      if (!tensor.factors[f].present || wanted[f].empty())
        continue;
      AxisList axes = wanted[f];
      cutWithinFactor(axes, tensor, f, factors[f]);
      if (!isStrictPrefix(tensor.factors[f].axes, axes))
        continue;
      cutAcrossFactors(axes, tensor, f);
      // Operands of an elementwise op need not agree on what no result can have: both would be gathered.
      if (elementwise && t < op.numOperands)
        for (const TensorProjection &result : llvm::drop_begin(op.tensors, op.numOperands))
          if (result.factors[f].present && isStrictPrefix(result.factors[f].axes, axes))
            axes = result.factors[f].axes;
      changed |= expand(tensor, f, axes);
    }
  };
  for (int t = op.numOperands; t < int(op.tensors.size()); ++t)
    update(t);
  for (int t = 0; t < op.numOperands; ++t)
    update(t);
  return changed;
}
