#include "tessera/runtime/core/Mesh.h"

#include <algorithm>

namespace tessera::runtime {

int64_t Mesh::size() const {
  int64_t size = 1;
  for (const MeshAxis &axis : axes_)
    size *= axis.size;
  return size;
}

std::string Mesh::describe() const {
  std::string text;
  for (const MeshAxis &axis : axes_)
    text += (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text.empty() ? "one rank" : text;
}

bool Mesh::has(const SubAxis &sub) const {
  for (const MeshAxis &axis : axes_)
    if (axis.name == sub.axis)
      return sub.pre > 0 && sub.size > 0 && axis.size % (sub.pre * sub.size) == 0;
  return false;
}

int64_t Mesh::coordinate(int64_t rank, const SubAxis &sub) const {
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    int64_t coordinate = rank % axis->size;
    if (axis->name == sub.axis)
      return coordinate / (axis->size / (sub.pre * sub.size)) % sub.size;
    rank /= axis->size;
  }
  return 0;
}

int64_t Mesh::index(int64_t rank, const AxisList &axes) const {
  int64_t index = 0;
  for (const SubAxis &axis : axes)
    index = index * axis.size + coordinate(rank, axis);
  return index;
}

int64_t Mesh::member(int64_t rank, const AxisList &axes, int64_t index) const {
  int64_t member = rank;
  for (auto sub = axes.rbegin(); sub != axes.rend(); ++sub) {
    int64_t wanted = index % sub->size;
    index /= sub->size;
    int64_t stride = 1; // of the axis in rank numbers
    for (auto axis = axes_.rbegin(); axis != axes_.rend() && axis->name != sub->axis; ++axis)
      stride *= axis->size;
    int64_t size = 1;
    for (const MeshAxis &axis : axes_)
      if (axis.name == sub->axis)
        size = axis.size;
    int64_t step = stride * (size / (sub->pre * sub->size));
    member += (wanted - coordinate(rank, *sub)) * step;
  }
  return member;
}

std::vector<int64_t> Mesh::group(int64_t rank, const AxisList &axes) const {
  std::vector<int64_t> members(shardCount(axes));
  for (int64_t i = 0; i < int64_t(members.size()); ++i)
    members[i] = member(rank, axes, i);
  return members;
}

int64_t shardCount(const AxisList &axes) {
  int64_t count = 1;
  for (const SubAxis &axis : axes)
    count *= axis.size;
  return count;
}

ShardRange shardRange(int64_t global, int64_t local, int64_t index) {
  return {std::min(index * local, global), std::min((index + 1) * local, global)};
}

std::vector<int64_t> localShape(const std::vector<int64_t> &global, const Sharding &sharding) {
  std::vector<int64_t> local(global.size());
  for (size_t d = 0; d < global.size(); ++d) {
    int64_t shards = shardCount(sharding[d]);
    local[d] = (global[d] + shards - 1) / shards;
  }
  return local;
}

} // namespace tessera::runtime
