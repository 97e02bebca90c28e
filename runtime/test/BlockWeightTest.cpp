// Weights in quantized blocks: what is laid out anew is what the file says, and products are those of
// expanded weights.
#include "tessera/runtime/cpu/BlockWeight.h"
#include "FileRows.h"
#include "GemmKernels.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace tessera::runtime {

using io::BlockColumns;
using io::BlockHeader;
using io::DType;

// A rank's part of a file's columns, as a shard reader tells of it.
struct Shard {
  const char *what;
  std::vector<int64_t> global, local;
  std::vector<BlockHeader::Chunk> chunks;
};

static std::vector<Shard> shardsOf(DType type) {
  std::vector<Shard> shards = {
      {"all columns", {512}, {512}, {{0, 512}}},
      {"a half", {512}, {256}, {{256, 256}}},
      {"a third, cut within a block", {512}, {171}, {{171, 171}}},
      {"the last of three, padded", {512}, {171}, {{342, 170}}},
      {"the last of seven, cut and padded", {512}, {74}, {{444, 68}}},
      {"a rank that has none", {512}, {103}, {{0, 0}}},
      {"heads cut in pieces", {2, 8, 32}, {2, 4, 32}, {{128, 128}, {384, 128}}},
      {"and within blocks, padded", {4, 8, 16}, {4, 3, 16}, {{96, 32}, {224, 32}, {352, 32}, {480, 32}}}};
  if (io::blockElements(type) == 32)
    shards.push_back({"one block", {32}, {32}, {{0, 32}}});
  return shards;
}

static void checkShard(DType type, const Shard &shard, int64_t n, int64_t m, DType xType, ThreadPool &pool) {
  SCOPED_TRACE(testing::Message() << io::dtypeName(type) << ", " << shard.what << ", " << n << " rows, of x "
                                  << m << " of " << io::dtypeName(xType));
  int64_t fileColumns = 1;
  for (int64_t size : shard.global)
    fileColumns *= size;
  FileRows file(type, n, fileColumns, uint32_t(n * 7 + m));
  BlockColumns columns(shard.global, shard.local);
  ASSERT_EQ(columns.chunks, int64_t(shard.chunks.size()));
  BlockWeight weight(n, columns);
  std::vector<uint8_t> layer(size_t(weight.bytes(type)) + 64, 0);
  auto *held = reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(layer.data()) + 63) / 64 * 64);
  weight.writeHeader(type, shard.chunks, held);
  std::vector<const uint8_t *> rows(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    rows[size_t(i)] = i == 2 ? nullptr : file.row(i); // the third is padding
  for (int64_t begin = 0; begin < n; begin += 32)
    weight.writeRows(type, shard.chunks, begin, std::min<int64_t>(32, n - begin), rows.data() + begin, held);

  // Exactly the numbers of the file; 0 for padding.
  std::vector<double> want(size_t(n * weight.k));
  std::vector<float> row(size_t(weight.k)), panel;
  for (int64_t i = 0; i < n; ++i) {
    weight.readRow(held, i, row.data(), panel);
    for (int64_t c = 0; c < weight.k; ++c) {
      const BlockHeader::Chunk &chunk = shard.chunks[size_t(c / columns.length)];
      int64_t e = c % columns.length;
      float number = i == 2 || e >= chunk.count ? 0 : file.wide[size_t(i * fileColumns + chunk.place + e)];
      want[size_t(i * weight.k + c)] = number;
      EXPECT_EQ(row[size_t(c)], number) << "row " << i << ", column " << c;
    }
  }
  // And their products; what x has at padding is finite, and counts for nothing.
  std::vector<float> x(size_t(m * weight.k)), y(size_t(m * n), NAN);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float &value : x)
    value = normal(random);
  std::vector<uint16_t> narrow(x.size());
  if (xType == DType::BF16) {
    io::traits(xType).narrow(x.data(), int64_t(x.size()), narrow.data());
    io::traits(xType).widen(narrow.data(), int64_t(x.size()), x.data());
  }
  Gemm product(m, weight, {xType, DType::F32, DType::F32}, pool);
  EXPECT_STREQ(product.implementation(), "blocks");
  product.run(xType == DType::BF16 ? static_cast<const void *>(narrow.data()) : x.data(), held, y.data());
  for (int64_t r = 0; r < m; ++r)
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0, size = 0;
      for (int64_t c = 0; c < weight.k; ++c) {
        sum += double(x[size_t(r * weight.k + c)]) * want[size_t(i * weight.k + c)];
        size += std::fabs(double(x[size_t(r * weight.k + c)]) * want[size_t(i * weight.k + c)]);
      }
      EXPECT_NEAR(y[size_t(r * n + i)], sum, 2e-6 * size + 1e-30) << "row " << r << ", column " << i;
    }
}

TEST(BlockWeight, EveryTypeAndShardGivesTheFilesNumbers) {
  ThreadPool pool(2, [] {});
  for (DType type : blockTypes())
    for (const Shard &shard : shardsOf(type))
      for (auto [n, m] : {std::pair<int64_t, int64_t>{37, 1}, {16, 2}, {100, 3}, {33, 4}, {70, 9}})
        for (DType xType : {DType::F32, DType::BF16})
          checkShard(type, shard, n, m, xType, pool);
}

// What a model's matrix takes is what it takes in the file, but for scales of K-quants, whose 6 bits are
// bytes.
TEST(BlockWeight, TakesNoMoreThanTheFile) {
  for (DType type : blockTypes())
    for (auto [n, k] : {std::pair<int64_t, int64_t>{1536, 768}, {512, 1536}, {49152, 512}}) {
      double file = double(io::bytesOf(type, n * k));
      EXPECT_LE(double(BlockWeight(n, BlockColumns({k}, {k})).bytes(type)), 1.03 * file + 64)
          << io::dtypeName(type);
    }
}

// Numbers are the same on every CPU.
TEST(BlockWeight, EveryInstructionSetExpandsToTheSameBits) {
  for (DType type : blockTypes()) {
    constexpr int64_t n = 16, k = 256;
    FileRows file(type, n, k, 5);
    BlockWeight weight(n, BlockColumns({k}, {k}));
    std::vector<uint8_t> layer(size_t(weight.bytes(type)), 0);
    weight.writeHeader(type, {{0, k}}, layer.data());
    std::vector<const uint8_t *> rows;
    for (int64_t i = 0; i < n; ++i)
      rows.push_back(file.row(i));
    weight.writeRows(type, {{0, k}}, 0, n, rows.data(), layer.data());
    io::BlockLayout layout(type, n, weight.columns);
    const uint8_t phase = 0;
    BlockUnits units = {
        layer.data() + layout.headerBytes, layout.unitBytes, n, 1, layout.blocks, layout.supers, &phase};
    std::vector<float> x(k), sums(k / 32), panel(size_t(n * k)), y(n);
    for (int64_t c = 0; c < k; ++c)
      sums[size_t(c / 32)] += x[size_t(c)] = float(c % 17) - 8;
    for (const GemmKernels *set : runnableKernels()) {
      const BlockKernelSet &kernels = set->blocks[int(type) - int(DType::Q8_0)];
      // In two parts.
      kernels.expand(units, 0, 0, 3, panel.data(), 16);
      kernels.expand(units, 0, 3, layout.blocks - 3, panel.data() + 3 * 32 * 16, 16);
      kernels.fewRows(units, 1, x.data(), sums.data(), y.data(), 0, 1);
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0, size = 0;
        for (int64_t c = 0; c < k; ++c) {
          EXPECT_EQ(panel[size_t(c * 16 + i)], file.wide[size_t(i * k + c)]) << io::dtypeName(type);
          sum += double(x[size_t(c)]) * file.wide[size_t(i * k + c)];
          size += std::fabs(double(x[size_t(c)]) * file.wide[size_t(i * k + c)]);
        }
        EXPECT_NEAR(y[size_t(i)], sum, 2e-6 * size) << io::dtypeName(type);
      }
    }
  }
}

} // namespace tessera::runtime
