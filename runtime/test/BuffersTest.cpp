// Global arrays to shards and back, of any rank: `generate` has tokens [batch, seq] only.
#include "Buffers.h"

#include <gtest/gtest.h>
#include <numeric>

namespace tessera::runtime {

static BufferSpec spec(const Shape &shape, const Sharding &sharding) {
  BufferSpec buffer;
  buffer.shape = shape;
  buffer.sharding = sharding;
  buffer.local = localShape(shape, sharding);
  return buffer;
}

// Element by element: where each of a shard comes from.
static void expectShards(const Mesh &mesh, const BufferSpec &buffer) {
  std::vector<int32_t> global(size_t(elementCount(buffer.shape))), back(global.size(), -7);
  std::iota(global.begin(), global.end(), 100);
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    std::vector<int32_t> local(size_t(elementCount(buffer.local)), -5);
    takeShard(buffer, mesh, rank, global.data(), -1, local.data());
    for (size_t i = 0; i < local.size(); ++i) {
      int64_t rest = int64_t(i), at = 0, stride = 1;
      bool inside = true;
      for (size_t d = buffer.local.size(); d-- > 0;) {
        int64_t index = rest % buffer.local[d] + mesh.index(rank, buffer.sharding[d]) * buffer.local[d];
        rest /= buffer.local[d];
        inside &= index < buffer.shape[d];
        at += index * stride;
        stride *= buffer.shape[d];
      }
      EXPECT_EQ(local[i], inside ? global[size_t(at)] : -1) << "rank " << rank << ", element " << i;
    }
    placeShard(buffer, mesh, rank, local.data(), back.data());
  }
  EXPECT_EQ(back, global);
}

TEST(Buffers, ShardsOfAnyDimension) {
  Mesh mesh({{"a", 2}, {"b", 3}});
  AxisList a = {{"a", 1, 2}}, b = {{"b", 1, 3}}, both = {{"b", 1, 3}, {"a", 1, 2}};
  expectShards(mesh, spec({4, 6}, {a, b}));
  expectShards(mesh, spec({5, 7, 2}, {{}, b, {}}));
  expectShards(mesh, spec({3, 4, 5}, {a, {}, b}));
  expectShards(mesh, spec({2, 3, 4, 5}, {{}, a, b, {}}));
  expectShards(mesh, spec({4, 5}, {both, {}})); // some shards are all padding
  expectShards(mesh, spec({2, 1, 7}, {{}, {}, both}));
  expectShards(mesh, spec({3}, {{}}));
  expectShards(mesh, spec({}, {}));
}

TEST(Buffers, OneShardIsReplicated) {
  EXPECT_TRUE(isReplicated(spec({4, 2}, {{}, {{"a", 1, 1}}})));
  EXPECT_FALSE(isReplicated(spec({4, 2}, {{}, {{"a", 1, 2}}})));
}

} // namespace tessera::runtime
