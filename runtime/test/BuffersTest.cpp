// Global arrays to shards and back, of any rank: `generate` has tokens [batch, seq] only.
#include "Buffers.h"

#include <gtest/gtest.h>
#include <numeric>

namespace tessera::runtime {

static BufferSpec spec(const Shape &shape, const Sharding &sharding) {
  BufferSpec buffer;
  buffer.dtype = io::DType::I32;
  buffer.shape = shape;
  buffer.sharding = sharding;
  buffer.local = localShape(shape, sharding);
  return buffer;
}

// Element by element: where each of a shard comes from.
template <typename T> static void expectShardsOf(const Mesh &mesh, BufferSpec buffer, io::DType type) {
  buffer.dtype = type;
  std::vector<T> global(size_t(elementCount(buffer.shape))), back(global.size(), T(-7));
  std::iota(global.begin(), global.end(), T(100));
  T padding = T(-1);
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    std::vector<T> local(size_t(elementCount(buffer.local)), T(-5));
    takeShard(buffer, mesh, rank, global.data(), &padding, local.data());
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
      EXPECT_EQ(local[i], inside ? global[size_t(at)] : padding) << "rank " << rank << ", element " << i;
    }
    placeShard(buffer, mesh, rank, local.data(), back.data());
  }
  EXPECT_EQ(back, global);
}

static void expectShards(const Mesh &mesh, const BufferSpec &buffer) {
  expectShardsOf<int32_t>(mesh, buffer, io::DType::I32);
  expectShardsOf<uint16_t>(mesh, buffer, io::DType::BF16);
  expectShardsOf<int64_t>(mesh, buffer, io::DType::I64);
  expectShardsOf<uint8_t>(mesh, buffer, io::DType::Bool);
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
