//===- Mesh.cpp - Named axes and references to them -----------------------===//
#include "tessera/Analysis/Sharding/Mesh.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

int64_t Mesh::numDevices() const {
  int64_t n = 1;
  for (const MeshAxis &axis : axes)
    n *= axis.size;
  return n;
}

std::optional<int> Mesh::find(llvm::StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(axes))
    if (name == axis.name)
      return int(i);
  return std::nullopt;
}

llvm::SmallVector<int64_t, 4> Mesh::coordinates(int64_t device) const {
  llvm::SmallVector<int64_t, 4> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = device % axes[i].size;
    device /= axes[i].size;
  }
  return result;
}

bool AxisRef::operator<(const AxisRef &o) const {
  if (axis != o.axis)
    return axis < o.axis;
  return pre != o.pre ? pre < o.pre : size < o.size;
}

bool AxisRef::overlaps(const AxisRef &o) const {
  if (axis != o.axis)
    return false;
  if (*this == o)
    return true;
  // Two digits of one mixed-radix number: one must end at or before the place where the other starts, and
  // divide it.
  return o.pre % (pre * size) != 0 && pre % (o.pre * o.size) != 0;
}

std::optional<AxisRef> AxisRef::prefixWithoutOverlap(const AxisRef &o) const {
  if (!overlaps(o))
    return *this;
  if (o.pre <= pre || o.pre % pre != 0)
    return std::nullopt;
  int64_t kept = o.pre / pre;
  if (kept >= size || size % kept != 0)
    return std::nullopt;
  return AxisRef{axis, pre, kept};
}

AxisRef tessera::wholeAxis(const Mesh &mesh, int index) { return {index, 1, mesh.axes[index].size}; }

int64_t tessera::axesSize(llvm::ArrayRef<AxisRef> axes) {
  int64_t n = 1;
  for (const AxisRef &axis : axes)
    n *= axis.size;
  return n;
}

void tessera::mergeAdjacent(llvm::SmallVectorImpl<AxisRef> &axes) {
  size_t out = 0;
  for (const AxisRef &axis : axes) {
    if (out > 0 && axes[out - 1].isFollowedBy(axis) && axes[out - 1] != axis)
      axes[out - 1].size *= axis.size;
    else
      axes[out++] = axis;
  }
  axes.truncate(out);
}

AxisList tessera::axesWithout(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> taken) {
  AxisList rest;
  for (const AxisRef &axis : axes) {
    llvm::SmallVector<int64_t> cuts = {axis.pre, axis.pre * axis.size};
    for (const AxisRef &other : taken)
      if (other.axis == axis.axis)
        for (int64_t cut : {other.pre, other.pre * other.size})
          if (cut > axis.pre && cut < axis.pre * axis.size)
            cuts.push_back(cut);
    llvm::sort(cuts);
    cuts.erase(llvm::unique(cuts), cuts.end());
    for (size_t i = 1; i < cuts.size(); ++i) {
      AxisRef piece{axis.axis, cuts[i - 1], cuts[i] / cuts[i - 1]};
      if (llvm::none_of(taken, [&](const AxisRef &other) { return other.overlaps(piece); }))
        rest.push_back(piece);
    }
  }
  return rest;
}

int64_t tessera::groupIndex(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t device) {
  auto coordinates = mesh.coordinates(device);
  int64_t index = 0;
  for (const AxisRef &axis : axes)
    index = index * axis.size + axis.digit(coordinates[axis.axis], mesh);
  return index;
}

llvm::SmallVector<int64_t> tessera::groupOf(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t device) {
  // What one step of a digit adds to the device number.
  llvm::SmallVector<int64_t, 4> stride(mesh.axes.size(), 1);
  for (size_t i = mesh.axes.size(); i-- > 1;)
    stride[i - 1] = stride[i] * mesh.axes[i].size;
  auto digitStride = [&](const AxisRef &axis) {
    return stride[axis.axis] * (mesh.axes[axis.axis].size / (axis.pre * axis.size));
  };
  auto coordinates = mesh.coordinates(device);
  int64_t base = device;
  for (const AxisRef &axis : axes)
    base -= axis.digit(coordinates[axis.axis], mesh) * digitStride(axis);
  llvm::SmallVector<int64_t> group = {base};
  for (const AxisRef &axis : axes) {
    llvm::SmallVector<int64_t> next;
    next.reserve(group.size() * axis.size);
    for (int64_t member : group)
      for (int64_t d = 0; d < axis.size; ++d)
        next.push_back(member + d * digitStride(axis));
    group = std::move(next);
  }
  return group;
}

std::string tessera::toString(const AxisRef &axis, const Mesh &mesh) {
  std::string name = mesh.axes[axis.axis].name;
  if (axis.isWhole(mesh))
    return name;
  return name + ":(" + std::to_string(axis.pre) + ")" + std::to_string(axis.size);
}
