//===- ReshardCollectives.cpp - A plan as collectives ---------------------===//
#include "tessera/AutoParallel/ReshardCollectives.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace tessera;

namespace {

/// Where a dimension of size n is cut: products from its major end, each dividing the next and n; none: the
/// dimension is whole.
using Cuts = std::set<int64_t>;
/// Cuts of all dimensions.
using View = llvm::SmallVector<Cuts, 4>;
using DimLayout = llvm::SmallVector<AxisRef, 4>;

/// Ends of all digits of a dimension, or (runsOnly) where split digits start after unsplit ones.
void cutsOf(const DimLayout &layout, bool runsOnly, Cuts &cuts) {
  int64_t end = 1;
  bool gap = false;
  for (const AxisRef &axis : layout) {
    if (end > 1 && (!runsOnly || (gap && axis.axis >= 0)))
      cuts.insert(end);
    gap = axis.axis < 0;
    end *= axis.size;
  }
  if (end > 1 && !runsOnly)
    cuts.insert(end);
}

bool isChain(const Cuts &cuts, int64_t n) {
  int64_t last = 1;
  for (int64_t cut : cuts) {
    if (cut % last != 0)
      return false;
    last = cut;
  }
  return n % last == 0;
}

bool isPlain(const DimLayout &layout) {
  return llvm::all_of(layout, [](const AxisRef &axis) { return axis.axis >= 0; });
}

llvm::SmallVector<int64_t> viewShape(llvm::ArrayRef<int64_t> shape, const View &view) {
  llvm::SmallVector<int64_t> result;
  for (auto [n, cuts] : llvm::zip(shape, view)) {
    int64_t last = 1;
    for (int64_t cut : cuts)
      if (cut < n) {
        result.push_back(cut / last);
        last = cut;
      }
    result.push_back(n / last);
  }
  return result;
}

/// The layout on the view; none if a digit does not stand at the start of what is left of its dimension
/// there.
std::optional<Sharding> onView(const StridedSharding &layout, PartialKind kind, llvm::ArrayRef<int64_t> shape,
                               const View &view) {
  Sharding result;
  for (auto [d, cuts] : llvm::enumerate(view)) {
    llvm::SmallVector<int64_t> starts = {1};
    for (int64_t cut : cuts)
      if (cut < shape[d])
        starts.push_back(cut);
    size_t first = result.dims.size();
    result.dims.resize(first + starts.size());
    size_t place = 0;
    int64_t end = 1;
    for (AxisRef axis : layout.dims[d]) {
      while (axis.size > 1) {
        while (place + 1 < starts.size() && starts[place + 1] <= end)
          ++place;
        int64_t size = axis.size;
        if (place + 1 < starts.size() && end * size > starts[place + 1]) {
          if (starts[place + 1] % end != 0 || size % (starts[place + 1] / end) != 0)
            return std::nullopt;
          size = starts[place + 1] / end;
        }
        if (axis.axis >= 0) {
          DimSharding &dim = result.dims[first + place];
          if (starts[place] * axesSize(dim.axes) != end)
            return std::nullopt;
          dim.axes.push_back({axis.axis, axis.pre, size});
        }
        end *= size;
        axis.pre *= size;
        axis.size /= size;
      }
    }
  }
  for (DimSharding &dim : result.dims)
    mergeAdjacent(dim.axes);
  result.partial = layout.partial;
  result.partialKind = layout.partial.empty() ? PartialKind::None : kind;
  return result;
}

/// Splits two lists into what both start with and the rest of each.
void splitCommon(AxisList &before, AxisList &after, AxisList &common) {
  while (!before.empty() && !after.empty()) {
    AxisRef &a = before.front(), &b = after.front();
    if (a.axis != b.axis || a.pre != b.pre)
      return;
    int64_t size = std::min(a.size, b.size);
    if (a.size % size != 0 || b.size % size != 0)
      return;
    common.push_back({a.axis, a.pre, size});
    for (AxisList *list : {&before, &after}) {
      AxisRef &axis = list->front();
      if (axis.size == size) {
        list->erase(list->begin());
      } else {
        axis.pre *= size;
        axis.size /= size;
      }
    }
  }
}

/// Axes that leave and come at the minor end of one dimension.
struct Change {
  AxisList leave, come;
};

llvm::SmallVector<Change, 4> changesOf(const Sharding &before, const Sharding &after) {
  llvm::SmallVector<Change, 4> changes;
  for (auto [a, b] : llvm::zip(before.dims, after.dims)) {
    Change &change = changes.emplace_back(Change{a.axes, b.axes});
    AxisList common;
    splitCommon(change.leave, change.come, common);
  }
  return changes;
}

/// Cuts every axis of the list where any axis of `others` begins or ends.
void refine(AxisList &axes, llvm::ArrayRef<AxisRef> others) {
  AxisList result;
  for (const AxisRef &axis : axes) {
    std::set<int64_t> cuts = {axis.pre * axis.size};
    for (const AxisRef &other : others)
      if (other.axis == axis.axis)
        for (int64_t cut : {other.pre, other.pre * other.size})
          if (cut > axis.pre && cut < axis.pre * axis.size)
            cuts.insert(cut);
    int64_t pre = axis.pre;
    for (int64_t cut : cuts) {
      result.push_back({axis.axis, pre, cut / pre});
      pre = cut;
    }
  }
  axes = result;
}

class CollectiveBuilder {
public:
  CollectiveBuilder(llvm::ArrayRef<int64_t> shape, const Sharding &from)
      : shape(shape), kind(from.partialKind), view(shape.size()), state(from) {
    for (const DimSharding &dim : from.dims) {
      DimLayout &axes = layout.dims.emplace_back();
      llvm::copy_if(dim.axes, std::back_inserter(axes), [](const AxisRef &axis) { return axis.size > 1; });
      mergeAdjacent(axes);
    }
    llvm::copy_if(from.partial, std::back_inserter(layout.partial),
                  [](const AxisRef &axis) { return axis.size > 1; });
    mergeAdjacent(layout.partial);
    state = *onView(layout, kind, shape, view);
    // Plans say nothing of axes of size 1, but types do: they go first.
    if (!state.samePlacement(from))
      add(StepKind::CollectivePermute, {}, {}, {}, state, 0);
  }

  bool step(const ReshardStep &step) {
    View wanted = viewFor(step);
    if (!changeView(wanted))
      return false;
    if (step.kind == StepKind::Contribute)
      kind = step.result.partialKind;
    auto after = onView(step.layout, kind, shape, view);
    if (!after)
      return false;
    bool done = emit(step, *after);
    layout = step.layout;
    return done;
  }

  bool finish() { return changeView(View(shape.size())); }

  std::vector<CollectiveStep> steps;

private:
  /// Cuts only dimensions that need it, the others stay whole.
  View viewFor(const ReshardStep &step) const {
    View result(shape.size());
    if (step.kind == StepKind::GroupedSend) // between plain states, whatever axes come and leave
      return result;
    bool permute = step.kind == StepKind::CollectivePermute;
    for (size_t d = 0; d < shape.size(); ++d) {
      const DimLayout &before = layout.dims[d], &after = step.layout.dims[d];
      bool whole = isPlain(before) && isPlain(after);
      if (whole && !permute) {
        AxisList leave(before.begin(), before.end()), come(after.begin(), after.end()), common;
        splitCommon(leave, come, common);
        whole = leave.empty() || come.empty();
      }
      if (whole)
        continue;
      cutsOf(before, permute, result[d]);
      cutsOf(after, permute, result[d]);
      result[d].erase(shape[d]);
    }
    return result;
  }

  /// By way of the coarsest view on which the state is plain, where neither is a refinement of the other.
  bool changeView(const View &wanted) {
    if (wanted == view)
      return true;
    auto refines = [](const View &fine, const View &coarse) {
      return llvm::all_of(llvm::zip(fine, coarse), [](auto pair) {
        auto &[f, c] = pair;
        return std::includes(f.begin(), f.end(), c.begin(), c.end());
      });
    };
    for (size_t d = 0; d < shape.size(); ++d)
      if (!isChain(wanted[d], shape[d]))
        return false;
    if (!refines(wanted, view) && !refines(view, wanted)) {
      View coarse(shape.size());
      for (size_t d = 0; d < shape.size(); ++d)
        cutsOf(layout.dims[d], /*runsOnly=*/true, coarse[d]);
      if (coarse != view && coarse != wanted && !setView(coarse))
        return false;
    }
    return setView(wanted);
  }

  bool setView(const View &wanted) {
    auto sharding = onView(layout, kind, shape, wanted);
    if (!sharding)
      return false;
    view = wanted;
    state = *sharding;
    CollectiveStep step;
    step.isView = true;
    step.shape = viewShape(shape, view);
    step.result = state;
    steps.push_back(std::move(step));
    return true;
  }

  double localSize(const Sharding &sharding) const {
    double size = 1;
    for (int64_t n : sharding.localShape(viewShape(shape, view)))
      size *= double(n);
    return size;
  }

  void add(StepKind stepKind, const AxisList &axes, llvm::SmallVector<int64_t> from,
           llvm::SmallVector<int64_t> to, Sharding after, double received) {
    CollectiveStep step;
    step.kind = stepKind;
    step.shape = viewShape(shape, view);
    step.result = after;
    step.axes = axes;
    step.from = std::move(from);
    step.to = std::move(to);
    step.received = received;
    state = std::move(after);
    steps.push_back(std::move(step));
  }

  bool emit(const ReshardStep &step, const Sharding &after) {
    if (step.kind == StepKind::CollectivePermute || step.kind == StepKind::GroupedSend) {
      add(step.kind, {}, {}, {}, after, step.received);
      return true;
    }
    if (step.kind == StepKind::AllReduce || step.kind == StepKind::Contribute) {
      add(step.kind, step.moves.front().axes, {}, {}, after, step.received);
      return true;
    }
    auto changes = changesOf(state, after);
    if (step.kind == StepKind::AllToAll)
      return exchange(step, after, changes);
    // One collective a dimension; the bytes add up to the same.
    Sharding next = state;
    for (auto [d, change] : llvm::enumerate(changes)) {
      bool gather = step.kind == StepKind::AllGather;
      const AxisList &axes = gather ? change.leave : change.come;
      if (!(gather ? change.come : change.leave).empty())
        return false;
      if (axes.empty())
        continue;
      next.dims[d] = after.dims[d];
      if (step.kind == StepKind::ReduceScatter) {
        next.partial = partialWithout(next.partial, axes);
        next.partialKind = next.partial.empty() ? PartialKind::None : kind;
      }
      double before = localSize(state), left = localSize(next);
      double received = gather                                 ? before * double(axesSize(axes) - 1)
                        : step.kind == StepKind::ReduceScatter ? left * double(axesSize(axes) - 1)
                                                               : 0;
      llvm::SmallVector<int64_t> places(axes.size(), int64_t(d)), none;
      add(step.kind, axes, gather ? places : none, gather ? none : places, next, received);
    }
    return state.samePlacement(after);
  }

  static AxisList partialWithout(AxisList partial, const AxisList &taken) {
    AxisList cut = taken, result;
    refine(partial, cut);
    refine(cut, partial);
    for (const AxisRef &axis : partial)
      if (!llvm::is_contained(cut, axis))
        result.push_back(axis);
    mergeAdjacent(result);
    return result;
  }

  bool exchange(const ReshardStep &step, const Sharding &after, llvm::ArrayRef<Change> changes) {
    AxisList leaving, coming;
    for (const Change &change : changes) {
      if (!change.leave.empty() && !change.come.empty())
        return false;
      leaving.append(change.leave.begin(), change.leave.end());
      coming.append(change.come.begin(), change.come.end());
    }
    AxisList axes;
    llvm::SmallVector<int64_t> from, to;
    size_t left = 0;
    for (auto [d, change] : llvm::enumerate(changes)) {
      AxisList come = change.come, leave = change.leave;
      refine(come, leaving);
      refine(leave, coming);
      left += leave.size();
      for (const AxisRef &axis : come) {
        int source = -1;
        for (auto [s, other] : llvm::enumerate(changes)) {
          AxisList pieces = other.leave;
          refine(pieces, coming);
          if (llvm::is_contained(pieces, axis))
            source = int(s);
        }
        if (source < 0)
          return false;
        axes.push_back(axis);
        from.push_back(source);
        to.push_back(int64_t(d));
      }
    }
    if (left != axes.size())
      return false;
    // What continues along the same way is one axis again, if it stood so where it leaves too.
    auto stoodTogether = [&](size_t i) {
      return llvm::any_of(changes[from[i]].leave, [&](const AxisRef &axis) {
        return axis.axis == axes[i].axis && axis.pre <= axes[i - 1].pre &&
               axis.pre * axis.size >= axes[i].pre * axes[i].size;
      });
    };
    for (size_t i = 1; i < axes.size();) {
      if (from[i] == from[i - 1] && to[i] == to[i - 1] && axes[i - 1].isFollowedBy(axes[i]) &&
          stoodTogether(i)) {
        axes[i - 1].size *= axes[i].size;
        axes.erase(axes.begin() + i);
        from.erase(from.begin() + i);
        to.erase(to.begin() + i);
      } else {
        ++i;
      }
    }
    add(StepKind::AllToAll, axes, from, to, after, step.received);
    return true;
  }

  llvm::ArrayRef<int64_t> shape;
  PartialKind kind;
  View view;
  StridedSharding layout; ///< of `shape`, after the steps so far
  Sharding state;         ///< the same on the view
};

} // namespace

std::optional<std::vector<CollectiveStep>>
tessera::asCollectives(llvm::ArrayRef<int64_t> shape, const Sharding &from, const ReshardPlan &plan) {
  if (plan.steps.empty())
    return std::vector<CollectiveStep>();
  CollectiveBuilder builder(shape, from);
  for (const ReshardStep &step : plan.steps)
    if (!builder.step(step))
      return std::nullopt;
  if (!builder.finish())
    return std::nullopt;
  if (!builder.steps.empty())
    builder.steps.back().result = plan.steps.back().result;
  return std::move(builder.steps);
}
