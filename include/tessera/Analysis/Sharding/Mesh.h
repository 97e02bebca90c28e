//===- Mesh.h - Named axes and references to them ---------------*- C++ -*-===//
//
// Plain data, no IR. A mesh is a list of named axes; the order of axes is the order of devices, major to
// minor: device = row-major index of its coordinates.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_MESH_H
#define TESSERA_ANALYSIS_SHARDING_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

/// One named axis. Its size is at least 1.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &o) const { return name == o.name && size == o.size; }
};

/// Most ranks a mesh may have (design, section 6).
inline constexpr int64_t kMaxRanks = int64_t(1) << 20;

struct Mesh {
  llvm::SmallVector<MeshAxis, 4> axes;

  /// Product of all axis sizes.
  int64_t numDevices() const;
  /// Index of the axis called `name`, or none.
  std::optional<int> find(llvm::StringRef name) const;
  /// Coordinates of `device`, one per axis.
  llvm::SmallVector<int64_t, 4> coordinates(int64_t device) const;
  bool operator==(const Mesh &o) const { return axes == o.axes; }
};

/// A whole axis or a piece of it: the axis's index i is seen as digits (major) .. size .. (pre is the product
/// of the digits more major than this one). `"a":(2)4` on an axis of 16 is pre=2, size=4: digit (i /
/// (16/(2*4))) % 4.
struct AxisRef {
  int axis = 0;     ///< index into Mesh::axes
  int64_t pre = 1;  ///< product of the more major digits
  int64_t size = 1; ///< number of values of this digit; a whole axis has pre == 1, size == axis size

  bool operator==(const AxisRef &o) const { return axis == o.axis && pre == o.pre && size == o.size; }
  bool operator!=(const AxisRef &o) const { return !(*this == o); }
  /// Order by axis, then major to minor.
  bool operator<(const AxisRef &o) const;

  bool isWhole(const Mesh &mesh) const { return pre == 1 && size == mesh.axes[axis].size; }
  /// The two pieces share a digit.
  bool overlaps(const AxisRef &o) const;
  /// `o` continues right after this piece on the same axis (this is the more major one).
  bool isFollowedBy(const AxisRef &o) const { return axis == o.axis && pre * size == o.pre; }
  /// This piece is a major part of `o`, and not all of it.
  bool isPrefixOf(const AxisRef &o) const {
    return axis == o.axis && pre == o.pre && size < o.size && o.size % size == 0;
  }
  /// The largest major part of this piece that shares no digit with `o`; none if even the most major digit is
  /// shared.
  std::optional<AxisRef> prefixWithoutOverlap(const AxisRef &o) const;
  /// This digit of device coordinate `coordinate` on the axis.
  int64_t digit(int64_t coordinate, const Mesh &mesh) const {
    return coordinate / (mesh.axes[axis].size / (pre * size)) % size;
  }
};

using AxisList = llvm::SmallVector<AxisRef, 2>;

/// The whole axis `index`.
AxisRef wholeAxis(const Mesh &mesh, int index);
/// Product of the sizes.
int64_t axesSize(llvm::ArrayRef<AxisRef> axes);
/// Joins neighbours that continue each other: a:(1)2, a:(2)2 -> a:(1)4.
void mergeAdjacent(llvm::SmallVectorImpl<AxisRef> &axes);
/// The digits of `axes` that are none of `taken`; cut where those begin and end.
AxisList axesWithout(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> taken);
/// Row-major index of `device` within a group over `axes` (major to minor): its shard number.
int64_t groupIndex(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t device);
/// All devices that differ from `device` only in `axes`, in group order.
llvm::SmallVector<int64_t> groupOf(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t device);
/// `a` or `a:(pre)size`.
std::string toString(const AxisRef &axis, const Mesh &mesh);

} // namespace tessera
#endif
