// Mesh arithmetic of one program: coordinates, groups, shards. Pure functions over small data.
#ifndef TESSERA_RUNTIME_CORE_MESH_H
#define TESSERA_RUNTIME_CORE_MESH_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

// A factor of a mesh axis: of an axis of size S, the ranks at coordinate c have sub-coordinate (c / (S / (pre
// * size))) % size. The whole axis is pre = 1, size = S.
struct SubAxis {
  std::string axis;
  int64_t pre = 1, size = 1;
  bool operator==(const SubAxis &other) const {
    return axis == other.axis && pre == other.pre && size == other.size;
  }
};
using AxisList = std::vector<SubAxis>;  // major to minor
using Sharding = std::vector<AxisList>; // one list per dimension

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

// Ranks are numbered row-major over the axes: the first axis is the slowest.
class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {}

  const std::vector<MeshAxis> &axes() const { return axes_; }
  int64_t size() const;
  std::string describe() const;        // "dp=2,tp=2", or "one rank"
  bool has(const SubAxis &axis) const; // names an axis of the mesh, and pre * size divides its size

  int64_t coordinate(int64_t rank, const SubAxis &axis) const;
  // Index of `rank` along the axes, major to minor: in [0, product of sizes).
  int64_t index(int64_t rank, const AxisList &axes) const;
  // The rank that differs from `rank` along `axes` only and has this index there.
  int64_t member(int64_t rank, const AxisList &axes, int64_t index) const;
  // The ranks that differ from `rank` along `axes` only, in the order of their index; contains `rank`.
  std::vector<int64_t> group(int64_t rank, const AxisList &axes) const;

private:
  std::vector<MeshAxis> axes_;
};

int64_t shardCount(const AxisList &axes);

// Part of a dimension of `global` elements that shard `index` of ceil-divided shards of `local` elements
// holds: [begin, end). What is beyond `end` in the local buffer is padding.
struct ShardRange {
  int64_t begin = 0, end = 0;
};
ShardRange shardRange(int64_t global, int64_t local, int64_t index);
// Sizes of a rank's piece: each dimension divided by its shards, rounded up.
std::vector<int64_t> localShape(const std::vector<int64_t> &global, const Sharding &sharding);

} // namespace tessera::runtime
#endif
