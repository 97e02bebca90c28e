//===- Sharding.cpp - How one tensor lies on a mesh -----------------------===//
#include "tessera/Analysis/Sharding/Sharding.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

bool Sharding::samePlacement(const Sharding &o) const {
  if (dims.size() != o.dims.size() || partialKind != o.partialKind || partial != o.partial)
    return false;
  return llvm::all_of(llvm::zip(dims, o.dims),
                      [](auto pair) { return std::get<0>(pair).axes == std::get<1>(pair).axes; });
}

bool Sharding::isReplicated() const {
  return partial.empty() && llvm::all_of(dims, [](const DimSharding &dim) { return dim.axes.empty(); });
}

llvm::SmallVector<int64_t> Sharding::localShape(llvm::ArrayRef<int64_t> global) const {
  llvm::SmallVector<int64_t> local;
  for (auto [dim, size] : llvm::enumerate(global)) {
    int64_t k = shards(int(dim));
    local.push_back((size + k - 1) / k);
  }
  return local;
}

AxisList Sharding::usedAxes() const {
  AxisList used;
  for (const DimSharding &dim : dims)
    used.append(dim.axes.begin(), dim.axes.end());
  used.append(partial.begin(), partial.end());
  llvm::sort(used);
  mergeAdjacent(used);
  return used;
}

static std::string verifyAxis(const AxisRef &axis, const Mesh &mesh) {
  if (axis.axis < 0 || axis.axis >= int(mesh.axes.size()))
    return "axis #" + std::to_string(axis.axis) + " is not in the mesh";
  const MeshAxis &whole = mesh.axes[axis.axis];
  std::string text = toString(axis, mesh);
  if (axis.pre < 1 || axis.size < 1)
    return "sub-axis " + text + " has a size below 1";
  if (axis.size == 1 && !axis.isWhole(mesh))
    return "sub-axis " + text + " has size 1";
  // Divisions, not a product: no overflow whatever was written.
  if (whole.size % axis.pre != 0 || (whole.size / axis.pre) % axis.size != 0)
    return "sub-axis " + text + " does not divide axis " + whole.name + " of size " +
           std::to_string(whole.size);
  return "";
}

/// Error if neighbours in `axes` could be written as one.
static std::string verifyMaximal(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  for (size_t i = 1; i < axes.size(); ++i)
    if (axes[i - 1].isFollowedBy(axes[i]) && axes[i - 1] != axes[i])
      return "sub-axes " + toString(axes[i - 1], mesh) + " and " + toString(axes[i], mesh) +
             " stand side by side and must be written as one";
  return "";
}

std::string tessera::verifySharding(const Sharding &sharding, const Mesh &mesh, int64_t rank) {
  if (int64_t(sharding.dims.size()) != rank)
    return "sharding has " + std::to_string(sharding.dims.size()) + " dimensions, the tensor " +
           std::to_string(rank);
  AxisList seen;
  auto check = [&](llvm::ArrayRef<AxisRef> axes) -> std::string {
    for (const AxisRef &axis : axes) {
      if (std::string error = verifyAxis(axis, mesh); !error.empty())
        return error;
      for (const AxisRef &other : seen) {
        if (axis == other)
          return "axis " + toString(axis, mesh) + " is used twice";
        if (axis.overlaps(other))
          return "axes " + toString(other, mesh) + " and " + toString(axis, mesh) + " overlap";
      }
      seen.push_back(axis);
    }
    return verifyMaximal(axes, mesh);
  };
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    if (std::string error = check(dim.axes); !error.empty())
      return "dimension " + std::to_string(i) + ": " + error;
    if (dim.priority && *dim.priority < 0)
      return "dimension " + std::to_string(i) + ": priority " + std::to_string(*dim.priority) +
             " is negative";
    if (dim.priority && dim.axes.empty() && !dim.open)
      return "dimension " + std::to_string(i) + ": an empty, closed dimension has no priority";
  }
  if (std::string error = check(sharding.replicated); !error.empty())
    return "replicated axes: " + error;
  if (!llvm::is_sorted(sharding.replicated))
    return "replicated axes are not in mesh order";
  if (std::string error = check(sharding.partial); !error.empty())
    return "partial axes: " + error;
  if (!llvm::is_sorted(sharding.partial))
    return "partial axes are not in mesh order";
  if (sharding.partial.empty() != (sharding.partialKind == PartialKind::None))
    return sharding.partial.empty() ? "partial kind without partial axes" : "partial axes without a kind";
  return "";
}

static std::string listText(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "" : ",") + toString(axis, mesh);
  return text;
}

std::string tessera::toString(const Sharding &sharding, const Mesh &mesh) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    text += (i ? "/" : "") + listText(dim.axes, mesh);
    if (dim.open)
      text += "?";
    else if (dim.axes.empty())
      text += "-";
    if (dim.priority)
      text += " p" + std::to_string(*dim.priority);
  }
  text += "]";
  if (!sharding.replicated.empty())
    text += " R{" + listText(sharding.replicated, mesh) + "}";
  if (sharding.partialKind != PartialKind::None)
    text += (sharding.partialKind == PartialKind::Max ? " Umax{" : " U{") + listText(sharding.partial, mesh) +
            "}";
  return text;
}
