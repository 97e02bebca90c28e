// Products by group against a simple loop: groups without rows, with one and with many, whose matrices share
// units of rows; weights in every form.
#include "tessera/runtime/cpu/GroupedGemm.h"
#include "FileRows.h"
#include "tessera/runtime/core/Error.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>

namespace tessera::runtime {

using io::DType;

namespace {
// Memory for weights as the runtime gives it: zero, and aligned.
struct Weights {
  explicit Weights(int64_t bytes) : memory(size_t(bytes) + 64, 0) {}
  void *data() {
    return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  }
  std::vector<uint8_t> memory;
};

// `counts` rows of each group; `spare` more that no group has. What x has there counts for nothing.
struct Case {
  std::vector<int32_t> counts;
  int64_t n, k, spare;
  int64_t groups() const { return int64_t(counts.size()); }
  std::vector<int32_t> starts() const {
    std::vector<int32_t> all{0};
    for (int32_t count : counts)
      all.push_back(all.back() + count);
    return all;
  }
  int64_t rows() const { return starts().back(); }
  int64_t m() const { return rows() + spare; }
};

// Few rows beside many, groups without any first, last and in between.
std::vector<Case> casesOf(int64_t k) {
  return {{{0, 1, 7, 0, 2, 40, 0}, 37, k, 3}, // matrices that begin within units
          {{1, 0, 1, 1, 0, 0, 1}, 48, k, 0},  // a token that is decoded
          {{0, 0, 0}, 20, k, 5},              // nobody chose anything
          {{70}, 33, k, 0},                   // one group
          {{3, 4, 5, 0, 9, 130}, 100, k, 1},  // on both sides of where panels begin
          {{2, 2}, 5, k, 0}};                 // several matrices in one unit
}

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = normal(random);
  return values;
}

std::vector<uint8_t> narrowed(DType type, const std::vector<float> &values) {
  std::vector<uint8_t> bytes(size_t(io::bytesOf(type, int64_t(values.size()))));
  io::traits(type).narrow(values.data(), int64_t(values.size()), bytes.data());
  return bytes;
}

std::vector<float> widened(DType type, const std::vector<uint8_t> &bytes) {
  std::vector<float> values(bytes.size() / size_t(io::blockBytes(type)));
  io::traits(type).widen(bytes.data(), int64_t(values.size()), values.data());
  return values;
}

// `w` [groups * n, k]: the numbers that `held` says.
void check(GroupedGemm &product, const Case &c, GemmTypes types, const std::vector<float> &w,
           const void *held) {
  std::vector<float> given = numbers(c.m() * c.k, 11);
  for (int64_t at = c.rows() * c.k; at < c.m() * c.k; ++at)
    given[size_t(at)] = NAN;
  std::vector<uint8_t> x = narrowed(types.x, given), y(size_t(io::bytesOf(types.y, c.m() * c.n)) + 2, 0xff);
  given = widened(types.x, x);
  std::vector<int32_t> starts = c.starts();
  product.run(x.data(), held, starts.data(), y.data());
  EXPECT_EQ(std::pair(y[y.size() - 2], y.back()), std::pair(uint8_t(0xff), uint8_t(0xff)));
  y.resize(y.size() - 2);
  std::vector<float> got = widened(types.y, y);
  double rounding = types.y == DType::F32 ? 2e-6 : types.y == DType::F16 ? 1e-3 : 8e-3;
  for (int64_t g = 0; g < c.groups(); ++g)
    for (int64_t r = starts[size_t(g)]; r < starts[size_t(g) + 1]; ++r)
      for (int64_t i = 0; i < c.n; ++i) {
        double sum = 0, size = 0;
        for (int64_t e = 0; e < c.k; ++e) {
          double term = double(given[size_t(r * c.k + e)]) * w[size_t((g * c.n + i) * c.k + e)];
          sum += term;
          size += std::fabs(term);
        }
        ASSERT_NEAR(got[size_t(r * c.n + i)], sum, 2e-6 * size + rounding * std::fabs(sum) + 1e-30)
            << "group " << g << ", row " << r << ", column " << i;
      }
  for (int64_t at = c.rows() * c.n; at < c.m() * c.n; ++at)
    ASSERT_EQ(got[size_t(at)], 0.0f) << "behind the last row, element " << at;
}
} // namespace

TEST(GroupedGemm, FloatsPackedAndPlain) {
  GemmTypes all[] = {{DType::F32, DType::F32, DType::F32},
                     {DType::BF16, DType::BF16, DType::BF16},
                     {DType::F16, DType::F16, DType::F32},
                     {DType::F32, DType::BF16, DType::F16}};
  for (int threads : {1, 3}) {
    ThreadPool pool(threads, [] {});
    for (GemmTypes types : all)
      for (const Case &c : casesOf(70)) {
        SCOPED_TRACE(testing::Message() << io::dtypeName(types.w) << ", " << threads << " threads, "
                                        << testing::PrintToString(c.counts));
        int64_t rows = c.groups() * c.n;
        std::vector<uint8_t> plain = narrowed(types.w, numbers(rows * c.k, 5));
        std::vector<float> w = widened(types.w, plain);
        PackedLayout layout(rows, c.k, types.w);
        Weights packed(layout.bytes());
        layout.packRows(0, rows, w.data(), packed.data());
        GroupedGemm ofPacked(c.groups(), c.m(), c.n, c.k, types, true, pool),
            ofPlain(c.groups(), c.m(), c.n, c.k, types, false, pool);
        EXPECT_STREQ(ofPacked.implementation(), "packed");
        check(ofPacked, c, types, w, packed.data());
        check(ofPlain, c, types, w, plain.data());
      }
  }
}

TEST(GroupedGemm, EveryTypeOfBlocks) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads, [] {});
    for (DType type : blockTypes())
      for (const Case &c : casesOf(256)) {
        SCOPED_TRACE(testing::Message() << io::dtypeName(type) << ", " << threads << " threads, "
                                        << testing::PrintToString(c.counts));
        int64_t n = c.groups() * c.n;
        FileRows file(type, n, c.k, 5);
        BlockWeight weight(n, io::BlockColumns({c.k}, {c.k}));
        Weights held(weight.bytes(type));
        weight.writeHeader(type, {{0, int32_t(c.k)}}, held.data());
        std::vector<const uint8_t *> rows;
        for (int64_t i = 0; i < n; ++i)
          rows.push_back(file.row(i));
        weight.writeRows(type, {{0, int32_t(c.k)}}, 0, n, rows.data(), held.data());
        for (GemmTypes types : {GemmTypes{}, GemmTypes{DType::BF16, DType::BF16, DType::BF16}}) {
          GroupedGemm product(c.groups(), c.m(), weight, types, pool);
          EXPECT_STREQ(product.implementation(), "blocks");
          check(product, c, types, file.wide, held.data());
        }
      }
  }
}

// A shard of columns that begins within a block, and is padded: x is put in its place for all groups.
TEST(GroupedGemm, ShardsThatCutBlocks) {
  constexpr int64_t fileColumns = 512, begin = 444, count = 68, length = 74;
  ThreadPool pool(2, [] {});
  for (DType type : {DType::Q8_0, DType::Q4_0, DType::Q6_K}) {
    Case c{{0, 1, 12, 0, 3}, 21, length, 2};
    int64_t n = c.groups() * c.n;
    FileRows file(type, n, fileColumns, 9);
    BlockWeight weight(n, io::BlockColumns({fileColumns}, {length}));
    Weights held(weight.bytes(type));
    std::vector<io::BlockHeader::Chunk> chunks = {{begin, count}};
    weight.writeHeader(type, chunks, held.data());
    std::vector<const uint8_t *> rows;
    std::vector<float> w(size_t(n * length));
    for (int64_t i = 0; i < n; ++i) {
      rows.push_back(file.row(i));
      for (int64_t e = 0; e < count; ++e)
        w[size_t(i * length + e)] = file.wide[size_t(i * fileColumns + begin + e)];
    }
    weight.writeRows(type, chunks, 0, n, rows.data(), held.data());
    GroupedGemm product(c.groups(), c.m(), weight, {}, pool);
    check(product, c, {}, w, held.data());
  }
}

// Memory of groups without rows may not even be there.
TEST(GroupedGemm, ReadsGroupsThatHaveRowsAlone) {
  constexpr int64_t n = 64, k = 64, groups = 3, matrix = n * k;
  ThreadPool pool(2, [] {});
  std::vector<float> w = numbers(groups * matrix, 5);
  size_t bytes = groups * matrix * sizeof(float); // of whole pages
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto *held = static_cast<float *>(memory);
  for (bool packed : {false, true}) {
    ASSERT_EQ(mprotect(held, bytes, PROT_READ | PROT_WRITE), 0);
    if (packed)
      PackedLayout(groups * n, k, DType::F32).packRows(0, groups * n, w.data(), held);
    else
      std::copy(w.begin(), w.end(), held);
    ASSERT_EQ(mprotect(held, matrix * sizeof(float), PROT_NONE), 0);
    ASSERT_EQ(mprotect(held + 2 * matrix, matrix * sizeof(float), PROT_NONE), 0);
    for (int32_t rows : {1, 6}) {
      Case c{{0, rows, 0}, n, k, 2};
      GroupedGemm product(groups, c.m(), n, k, {}, packed, pool);
      check(product, c, {}, w, held);
    }
  }
  munmap(memory, bytes);
}

TEST(GroupedGemm, RefusesRowsThatAreNotThere) {
  ThreadPool pool(1, [] {});
  std::vector<float> w(2 * 16 * 16), x(4 * 16), y(4 * 16);
  GroupedGemm product(2, 4, 16, 16, {}, false, pool);
  for (std::vector<int32_t> starts : {std::vector<int32_t>{0, 3, 5}, {0, 3, 2}, {1, 2, 3}, {0, -1, 2}})
    EXPECT_THROW(product.run(x.data(), w.data(), starts.data(), y.data()), Error)
        << testing::PrintToString(starts);
}

} // namespace tessera::runtime
