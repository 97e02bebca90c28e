//===- Sharding.h - How one tensor lies on a mesh ---------------*- C++ -*-===//
//
// Plain data, no IR. After openxla/shardy's model: per dimension a list of axes, major to minor, open or
// closed, with an optional priority; explicitly replicated axes; and, ours, the axes over which the value is
// a partial sum or maximum.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_SHARDING_H
#define TESSERA_ANALYSIS_SHARDING_SHARDING_H

#include "tessera/Analysis/Sharding/Mesh.h"

namespace tessera {

struct DimSharding {
  AxisList axes;               ///< major to minor
  bool open = false;           ///< propagation may add axes
  std::optional<int> priority; ///< user priority, 0 first
  bool operator==(const DimSharding &o) const {
    return axes == o.axes && open == o.open && priority == o.priority;
  }
};

/// What the ranks of a partial value must be combined with.
enum class PartialKind { None, Sum, Max };

struct Sharding {
  llvm::SmallVector<DimSharding, 4> dims;
  AxisList replicated; ///< propagation may not use these; sorted
  PartialKind partialKind = PartialKind::None;
  AxisList partial; ///< empty iff partialKind == None; sorted

  Sharding() = default;
  /// Fully replicated, closed (or open) sharding of `rank` dimensions.
  explicit Sharding(int64_t rank, bool open = false) : dims(rank) {
    for (auto &dim : dims)
      dim.open = open;
  }

  bool operator!=(const Sharding &o) const { return !(*this == o); }
  bool operator==(const Sharding &o) const {
    return dims == o.dims && replicated == o.replicated && partialKind == o.partialKind &&
           partial == o.partial;
  }
  /// Same placement: equal axes per dimension and equal partial axes; open, priorities and replicated are
  /// ignored.
  bool samePlacement(const Sharding &o) const;
  bool isReplicated() const;
  /// Shards along dimension `dim`.
  int64_t shards(int dim) const { return axesSize(dims[dim].axes); }
  /// Sizes of one rank's piece: ceil(n / shards).
  llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> global) const;
  /// The axes that split or sum the value, each once.
  AxisList usedAxes() const;
};

/// Error text if `sharding` is no valid sharding of a tensor of rank `rank` on `mesh` (axis unknown or used
/// twice, sub-axes that overlap, do not divide the axis or are not maximal, wrong rank, ...); empty if it is.
std::string verifySharding(const Sharding &sharding, const Mesh &mesh, int64_t rank);

/// `[a,b?/-/c] R{d} U{e}`: the notation of docs/Sharding.md.
std::string toString(const Sharding &sharding, const Mesh &mesh);

} // namespace tessera
#endif
