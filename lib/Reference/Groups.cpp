//===- Groups.cpp - Ranks and their groups, as the judge counts them ------===//
#include "Groups.h"

#include "llvm/ADT/STLExtras.h"

namespace tessera::judge {

/// What one step of the digit adds to a rank's number.
static int64_t stepOf(const Mesh &mesh, const AxisRef &axis) {
  int64_t step = mesh.axes[size_t(axis.axis)].size / axis.pre / axis.size;
  for (size_t minor = size_t(axis.axis) + 1; minor < mesh.axes.size(); ++minor)
    step *= mesh.axes[minor].size;
  return step;
}

int64_t digitOf(const Mesh &mesh, const AxisRef &axis, int64_t rank) {
  return rank / stepOf(mesh, axis) % axis.size;
}

int64_t withDigit(const Mesh &mesh, const AxisRef &axis, int64_t rank, int64_t value) {
  return rank + (value - digitOf(mesh, axis, rank)) * stepOf(mesh, axis);
}

int64_t indexOver(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t rank) {
  int64_t index = 0;
  for (const AxisRef &axis : axes)
    index = index * axis.size + digitOf(mesh, axis, rank);
  return index;
}

int64_t memberOver(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t rank, int64_t index) {
  for (const AxisRef &axis : llvm::reverse(axes)) {
    rank = withDigit(mesh, axis, rank, index % axis.size);
    index /= axis.size;
  }
  return rank;
}

llvm::SmallVector<int64_t> membersOver(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t rank) {
  int64_t members = 1;
  for (const AxisRef &axis : axes)
    members *= axis.size;
  llvm::SmallVector<int64_t> group;
  for (int64_t index = 0; index < members; ++index)
    group.push_back(memberOver(mesh, axes, rank, index));
  return group;
}

} // namespace tessera::judge
