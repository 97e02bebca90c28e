//===- ReshardSample.cpp - Plans checked on a sample of elements ----------===//
#include "tessera/AutoParallel/ReshardPlanner.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <random>

using namespace tessera;

namespace {

/// The axes of all moves of a step, or of a layout.
llvm::SmallVector<AxisRef, 8> axesOf(const StridedSharding &layout) {
  llvm::SmallVector<AxisRef, 8> axes(layout.partial.begin(), layout.partial.end());
  for (const auto &dim : layout.dims)
    for (const AxisRef &axis : dim)
      if (axis.axis >= 0)
        axes.push_back(axis);
  return axes;
}

/// Shards of a dimension, and elements of it that a device holds.
int64_t shardsOf(llvm::ArrayRef<AxisRef> dim) {
  int64_t shards = 1;
  for (const AxisRef &axis : dim)
    shards *= axis.axis < 0 ? 1 : axis.size;
  return shards;
}
int64_t extentOf(llvm::ArrayRef<AxisRef> dim, int64_t n) { return (n + shardsOf(dim) - 1) / shardsOf(dim); }
bool isPlain(llvm::ArrayRef<AxisRef> dim) {
  return llvm::all_of(dim, [](const AxisRef &axis) { return axis.axis >= 0; });
}

/// The pieces of a dimension, whoever holds them: stretches without gaps as one number.
llvm::SmallVector<int64_t, 8> piecesOf(llvm::ArrayRef<AxisRef> dim) {
  llvm::SmallVector<int64_t, 8> pieces = {1};
  for (const AxisRef &axis : dim) {
    if (axis.axis >= 0) {
      pieces.back() *= axis.size;
      continue;
    }
    if (pieces.size() % 2 == 1)
      pieces.push_back(1);
    pieces.back() *= axis.size;
    pieces.push_back(1);
  }
  return pieces;
}

class Sample {
public:
  Sample(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const StridedSharding &from, unsigned seed)
      : mesh(mesh), shape(shape), current(from), random(seed) {}

  std::string step(const ReshardStep &step, int samples) {
    AxisList moved;
    for (const AxisMove &move : step.moves)
      moved.append(move.axes.begin(), move.axes.end());
    if (std::string error = checkPartial(step, moved); !error.empty())
      return error;
    if (step.kind == StepKind::CollectivePermute)
      for (auto [before, after] : llvm::zip(current.dims, step.layout.dims))
        if (piecesOf(before) != piecesOf(after))
          return "a permutation changes the pieces";
    if (step.kind == StepKind::AllGather) {
      double before = localSize(current), after = localSize(step.layout);
      if (after - before > step.received * (1 + 1e-9) + 1e-6)
        return "a device receives more than the plan says";
    }
    bool anywhere = step.kind == StepKind::CollectivePermute;
    for (int i = 0; i < samples && !anywhere; ++i) {
      llvm::SmallVector<int64_t, 4> device;
      for (const MeshAxis &axis : mesh.axes)
        device.push_back(pick(axis.size));
      for (auto [d, dim] : llvm::enumerate(step.layout.dims)) {
        int64_t index = elementOf(dim, shape[d], device);
        if (index < 0)
          break; // only padding
        if (std::string error = checkHeld(current.dims[d], shape[d], index, device, moved); !error.empty())
          return error;
      }
    }
    current = step.layout;
    return "";
  }

private:
  int64_t pick(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); }

  double localSize(const StridedSharding &layout) const {
    double size = 1;
    for (auto [d, dim] : llvm::enumerate(layout.dims))
      size *= double(extentOf(dim, shape[d]));
    return size;
  }

  /// Axes stand once, and what was partial is so still, but for what the step combines.
  std::string checkPartial(const ReshardStep &step, llvm::ArrayRef<AxisRef> moved) const {
    auto axes = axesOf(step.layout);
    for (size_t i = 0; i < axes.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (axes[i].overlaps(axes[j]))
          return "an axis stands twice";
    bool combines = step.kind == StepKind::AllReduce || step.kind == StepKind::ReduceScatter;
    int64_t group = combines ? axesSize(moved) : 1;
    if (axesSize(current.partial) != axesSize(step.layout.partial) * group)
      return "wrong partial axes";
    for (const AxisRef &axis : step.layout.partial)
      if (llvm::none_of(current.partial, [&](const AxisRef &had) { return had.overlaps(axis); }))
        return "becomes partial over another axis";
    if (combines)
      for (const AxisRef &axis : moved)
        if (llvm::none_of(current.partial, [&](const AxisRef &had) { return had.overlaps(axis); }))
          return "combines over an axis that is not partial";
    return "";
  }

  /// An index of a dimension that the device holds, or -1 if it has only padding.
  int64_t elementOf(llvm::ArrayRef<AxisRef> dim, int64_t n, llvm::ArrayRef<int64_t> device) {
    if (isPlain(dim)) {
      int64_t shard = 0, extent = extentOf(dim, n);
      for (const AxisRef &axis : dim)
        shard = shard * axis.size + axis.digit(device[axis.axis], mesh);
      int64_t first = shard * extent, end = std::min(n, first + extent);
      return first < end ? first + pick(end - first) : -1;
    }
    int64_t index = 0, stride = n;
    for (const AxisRef &axis : dim) {
      stride /= axis.size;
      index += stride * (axis.axis < 0 ? pick(axis.size) : axis.digit(device[axis.axis], mesh));
    }
    return index + pick(stride);
  }

  /// A device that differs from `device` in digits of `moved` only holds `index`.
  std::string checkHeld(llvm::ArrayRef<AxisRef> dim, int64_t n, int64_t index, llvm::ArrayRef<int64_t> device,
                        llvm::ArrayRef<AxisRef> moved) const {
    bool plain = isPlain(dim);
    int64_t stride = plain ? shardsOf(dim) : n, number = plain ? index / extentOf(dim, n) : index;
    for (const AxisRef &axis : dim) {
      stride /= axis.size;
      if (axis.axis < 0)
        continue;
      int64_t want = number / stride % axis.size, have = axis.digit(device[axis.axis], mesh);
      // Cut where `moved` cuts the axis: those digits may differ.
      llvm::SmallVector<int64_t, 6> cuts = {axis.pre, axis.pre * axis.size};
      for (const AxisRef &m : moved)
        if (m.axis == axis.axis)
          for (int64_t cut : {m.pre, m.pre * m.size})
            if (cut > cuts[0] && cut < cuts[1])
              cuts.push_back(cut);
      llvm::sort(cuts);
      for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        if (cuts[i + 1] % cuts[i] != 0)
          return "an axis is cut in two ways that do not go together";
        AxisRef digit = {axis.axis, cuts[i], cuts[i + 1] / cuts[i]};
        int64_t rest = cuts.back() / cuts[i + 1];
        bool free =
            digit.size == 1 || llvm::any_of(moved, [&](const AxisRef &m) { return m.overlaps(digit); });
        if (!free && want / rest % digit.size != have / rest % digit.size)
          return "a device lacks an element";
      }
    }
    return "";
  }

  const Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  StridedSharding current;
  std::mt19937 random;
};

} // namespace

std::string tessera::samplePlan(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                                const Sharding &to, const ReshardPlan &plan, int samples, unsigned seed) {
  Sample sample(mesh, shape, toStridedSharding(from), seed);
  for (auto [i, step] : llvm::enumerate(plan.steps))
    if (std::string error = sample.step(step, samples); !error.empty())
      return "step " + std::to_string(i + 1) + " (" + toString(step.kind) + " " +
             toString(step.layout, mesh) + "): " + error;
  if (plan.steps.empty() ? !from.samePlacement(to) : !plan.steps.back().result.samePlacement(to))
    return "the last state is not the target";
  return "";
}
