#include "Buffers.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

// Calls f(local element, global element or -1, length) for runs along the last dimension of the shard of
// `rank`.
template <typename F> static void forEachRun(const BufferSpec &spec, const Mesh &mesh, int64_t rank, F &&f) {
  size_t dims = spec.local.size();
  if (dims == 0)
    return f(int64_t(0), int64_t(0), int64_t(1));
  std::vector<ShardRange> ranges(dims);
  for (size_t d = 0; d < dims; ++d)
    ranges[d] = shardRange(spec.shape[d], spec.local[d], mesh.index(rank, spec.sharding[d]));
  int64_t columns = spec.local[dims - 1], rows = columns ? elementCount(spec.local) / columns : 0;
  int64_t held = ranges[dims - 1].end - ranges[dims - 1].begin;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t global = 0, rest = row, scale = 1;
    bool inside = true;
    for (int64_t d = int64_t(dims) - 2; d >= 0; --d) {
      int64_t at = ranges[d].begin + rest % spec.local[d];
      rest /= spec.local[d];
      inside &= at < ranges[d].end;
      global += at * scale;
      scale *= spec.shape[d];
    }
    int64_t valid = inside ? held : 0;
    if (valid)
      f(row * columns, global * spec.shape[dims - 1] + ranges[dims - 1].begin, valid);
    if (valid < columns)
      f(row * columns + valid, int64_t(-1), columns - valid);
  }
}

void takeShard(const BufferSpec &spec, const Mesh &mesh, int64_t rank, const void *global,
               const void *padding, void *local) {
  size_t bytes = size_t(io::bytesOf(spec.dtype, 1));
  forEachRun(spec, mesh, rank, [&](int64_t to, int64_t from, int64_t count) {
    char *out = static_cast<char *>(local) + to * bytes;
    if (from >= 0)
      memcpy(out, static_cast<const char *>(global) + from * bytes, count * bytes);
    else
      for (int64_t i = 0; i < count; ++i)
        memcpy(out + i * bytes, padding, bytes);
  });
}

int64_t takeRow(const BufferSpec &spec, const Mesh &mesh, int64_t rank, int64_t row, const void *global,
                const void *padding, void *local) {
  const ShardRange rows = shardRange(spec.shape[0], spec.local[0], mesh.index(rank, spec.sharding[0]));
  if (row < rows.begin || row >= rows.end)
    return -1;
  BufferSpec one = spec;
  one.shape.erase(one.shape.begin());
  one.local.erase(one.local.begin());
  one.sharding.erase(one.sharding.begin());
  takeShard(one, mesh, rank, global, padding, local);
  return row - rows.begin;
}

void placeShard(const BufferSpec &spec, const Mesh &mesh, int64_t rank, const void *local, void *global) {
  size_t bytes = size_t(io::bytesOf(spec.dtype, 1));
  forEachRun(spec, mesh, rank, [&](int64_t from, int64_t to, int64_t count) {
    if (to >= 0)
      memcpy(static_cast<char *>(global) + to * bytes, static_cast<const char *>(local) + from * bytes,
             count * bytes);
  });
}

bool isReplicated(const BufferSpec &spec) {
  return std::all_of(spec.sharding.begin(), spec.sharding.end(),
                     [](const AxisList &axes) { return shardCount(axes) == 1; });
}

} // namespace tessera::runtime
