// Caches in blocks: how kernels write and read them, against the table of element types.
#include "AttentionReference.h"
#include "KernelHarness.h"

#include "tessera/Target/CPU/AttentionKernel.h"
#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/Forms/CacheBlocks.h"
#include "tessera/runtime/io/DType.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr io::DType kType = io::DType::Q8_0;
constexpr int64_t kBlock = 32, kBytes = 34;

using Bytes = std::vector<uint8_t>;

Bytes quantized(const float *x, int64_t elements) {
  Bytes bytes(size_t(io::bytesOf(kType, elements)));
  io::traits(kType).narrow(x, elements, bytes.data());
  return bytes;
}

Buffer<uint8_t> buffer(const Bytes &bytes) {
  Buffer<uint8_t> result(bytes.size());
  std::copy(bytes.begin(), bytes.end(), result.data);
  return result;
}

Bytes bytesOf(const Buffer<uint8_t> &buffer) { return Bytes(buffer.data, buffer.data + buffer.size); }

CompiledKernels compile(const BlockUpdate &update, const char *cpu) {
  return CompiledKernels::fromBuilder(
      [&](mlir::ModuleOp module) {
        module.push_back(blockUpdateKernel(module.getLoc(), "update", update).func);
      },
      cpu);
}

constexpr const char *kCPUs[] = {"native", "x86-64-v3"};

// Each row is a case of its own: numbers of any size, ties, a largest one on either side, zeros, scales that
// are subnormal or 0 in f16.
TEST(CacheBlocks, RowsAreWrittenAsTheTableSays) {
  BlockUpdate update;
  update.seq = update.context = 12;
  update.width = 2 * kBlock;
  auto rows = randomFloats(size_t(update.seq * update.width), 5, -2, 2);
  auto row = [&](int64_t number) { return rows.data + number * update.width; };
  for (int64_t i = 0; i < update.width; ++i) {
    row(1)[i] *= 1e-4f;
    row(2)[i] *= 1e-7f;
    row(3)[i] *= 1e-12f;
    row(4)[i] *= 3e4f;
    row(5)[i] = 0;
    row(6)[i] = 0.5f * float(i - 31) / 2; // every second one lies between two codes of 0.5
    row(7)[i] = i == 40 ? -127.0f : float(i) - 16.5f;
    row(8)[i] = i % kBlock == 3 ? 1e-5f : 0;
  }
  row(6)[0] = row(6)[32] = 63.5f;
  std::vector<int32_t> positions(size_t(update.seq));
  std::iota(positions.begin(), positions.end(), 0);
  Bytes expected = quantized(rows.data, int64_t(rows.size));
  for (const char *cpu : kCPUs) {
    CompiledKernels kernels = compile(update, cpu);
    ASSERT_EQ(kernels.error, "");
    EXPECT_EQ(kernels.calls, std::vector<std::string>()) << "a library call in a kernel";
    Buffer<uint8_t> cache(expected.size(), 0x77);
    kernels.run("update", {rows.data, positions.data(), cache.data}, {0}, 0, update.iterations());
    EXPECT_EQ(bytesOf(cache), expected) << cpu;
    EXPECT_TRUE(cache.guardIntact());
  }
}

TEST(CacheBlocks, WhatIsNoNumberComesBackAsNone) {
  BlockUpdate update;
  std::vector<float> row(size_t(kBlock), 1.0f), back(row.size());
  row[9] = NAN;
  int32_t position = 0;
  for (const char *cpu : kCPUs) {
    CompiledKernels kernels = compile(update, cpu);
    Buffer<uint8_t> cache(kBytes);
    kernels.run("update", {row.data(), &position, cache.data}, {0}, 0, 1);
    io::dequantize(kType, cache.data, kBlock, back.data());
    EXPECT_TRUE(std::isnan(back[9]));
  }
}

/// The rows of two heads that an update of three positions in two rows of a batch leaves in the second of two
/// layers: for each of [batch, context] the number of the position of the update, -1: none.
void expectPlaces(const BlockUpdate &given, std::vector<int32_t> positions, std::vector<int64_t> scalars,
                  const std::vector<int> &places) {
  BlockUpdate update = given;
  update.layers = 2;
  update.batch = 2;
  update.seq = 3;
  update.heads = 2;
  int64_t row = update.heads * update.width, rowBytes = io::bytesOf(kType, row);
  auto rows = randomFloats(size_t(update.iterations() * row), 7);
  CompiledKernels kernels = compile(update, "native");
  ASSERT_EQ(kernels.error, "");
  Bytes expected(size_t(update.layers * update.batch * update.context * rowBytes), 0x77);
  for (size_t place = 0; place < places.size(); ++place)
    if (places[place] >= 0) {
      Bytes written = quantized(rows.data + places[place] * row, row);
      size_t at = (places.size() + place) * size_t(rowBytes);
      std::copy(written.begin(), written.end(), expected.begin() + ptrdiff_t(at));
    }
  Buffer<uint8_t> cache(expected.size(), 0x77);
  scalars.insert(scalars.begin(), 1);
  kernels.run("update", {rows.data, positions.data(), cache.data}, scalars, 2, update.iterations());
  kernels.run("update", {rows.data, positions.data(), cache.data}, scalars, 0, 2);
  EXPECT_EQ(bytesOf(cache), expected);
}

TEST(CacheBlocks, RowsGoToTheirPositions) {
  BlockUpdate update;
  update.context = 4;
  expectPlaces(update, {1, 2, -1, 0, 3, 4}, {}, {-1, 0, 1, -1, 3, -1, -1, 4});
}
TEST(CacheBlocks, ARingGoesRound) {
  BlockUpdate update;
  update.context = update.ring = 4;
  expectPlaces(update, {3, 4, 9, 7, -1, 2}, {}, {1, 2, -1, 0, -1, -1, 5, 3});
}
TEST(CacheBlocks, APieceOfTheContextKeepsItsOwn) {
  BlockUpdate update;
  update.context = 2;
  update.isSharded = true;
  expectPlaces(update, {1, 2, 3, 4, -1, 3}, {1}, {1, 2, -1, 5});
  update.ring = 4;
  expectPlaces(update, {5, 6, 7, 4, -1, 11}, {1}, {1, 2, -1, 5});
}

TEST(CacheBlocks, BlocksAreExpandedExactly) {
  constexpr int64_t kRows = 3 * 5 * 2, kWidth = 3 * kBlock;
  auto numbers = randomFloats(size_t(kRows * kWidth), 9, -30, 30);
  Buffer<uint8_t> blocks = buffer(quantized(numbers.data, kRows * kWidth));
  Buffer<float> floats(numbers.size), expected(numbers.size);
  io::dequantize(kType, blocks.data, kRows * kWidth, expected.data);
  for (const char *cpu : kCPUs) {
    CompiledKernels kernels = CompiledKernels::fromBuilder(
        [&](mlir::ModuleOp module) {
          auto type =
              mlir::RankedTensorType::get({3, 5, 2, kWidth}, mlir::Float32Type::get(module.getContext()));
          module.push_back(expandBlocksKernel(module.getLoc(), "expand", type).func);
        },
        cpu);
    ASSERT_EQ(kernels.error, "");
    std::fill_n(floats.data, floats.size, NAN);
    kernels.run("expand", {blocks.data, floats.data}, {}, 7, kRows);
    kernels.run("expand", {blocks.data, floats.data}, {}, 0, 7);
    for (size_t i = 0; i < floats.size; ++i)
      ASSERT_EQ(floats[i], expected[i]) << cpu << " " << i;
    EXPECT_TRUE(floats.guardIntact());
  }
}

struct Case {
  const char *name;
  AttentionShape shape;
  int64_t firstPosition = 0, base = 0, inertFrom = -1; ///< see AttentionPositions
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

class AttentionOfBlocks : public ::testing::TestWithParam<Case> {};

/// Blocks of `values`, which become what the blocks are read as.
Buffer<uint8_t> inBlocks(Buffer<float> &values) {
  Buffer<uint8_t> blocks = buffer(quantized(values.data, int64_t(values.size)));
  io::dequantize(kType, blocks.data, int64_t(values.size), values.data);
  return blocks;
}

// The reference has the numbers that blocks stand for: what is left is what float32 makes of attention.
TEST_P(AttentionOfBlocks, MatchesReference) {
  const Case &c = GetParam();
  for (const char *cpu : kCPUs) {
    AttentionShape s = c.shape;
    VectorUnit unit = llvm::cantFail(resolveCPUTarget(cpu)).vectorUnit();
    auto kernels = CompiledKernels::fromBuilder(
        [&](mlir::ModuleOp module) {
          s.keyType = mlir::IntegerType::get(module.getContext(), 8);
          module.push_back(buildAttentionKernel(module.getLoc(), "attention", s, unit));
        },
        cpu);
    ASSERT_EQ(kernels.error, "");
    EXPECT_EQ(kernels.calls, std::vector<std::string>()) << "a library call in a kernel";
    int64_t layers = s.layers.value_or(1), rows = layers * s.batch * s.context * s.kvHeads;
    auto q = randomFloats(size_t(s.batch * s.seq * s.kvHeads * s.group * s.headDim), 1, -3, 3);
    auto keys = randomFloats(size_t(rows * s.headDim), 2),
         values = randomFloats(size_t(rows * s.valueDim), 3);
    auto k = inBlocks(keys), v = inBlocks(values);
    AttentionPositions positions(s, c.firstPosition, c.base, c.inertFrom);
    auto [expected, logSumExp] = attentionReference(s, positions, q.data, keys.data, values.data, layers - 1);
    // Scales that are no numbers.
    forUnseenKeys(s, positions, layers - 1, [&](int64_t row) {
      std::fill_n(k.data + io::bytesOf(kType, row * s.headDim), io::bytesOf(kType, s.headDim), 0x7f);
      std::fill_n(v.data + io::bytesOf(kType, row * s.valueDim), io::bytesOf(kType, s.valueDim), 0x7f);
    });
    Buffer<float> out(expected.size(), 99), lse(logSumExp.size(), 99);
    std::vector<void *> buffers = {q.data, k.data, v.data, positions.given.data(), out.data};
    if (s.logSumExp)
      buffers.push_back(lse.data);
    std::vector<int64_t> scalars;
    if (s.layers)
      scalars.push_back(layers - 1);
    scalars.push_back(c.base);
    int64_t count = attentionIterations(s, unit.lanes), middle = count / 2;
    kernels.run("attention", buffers, scalars, middle, count);
    kernels.run("attention", buffers, scalars, 0, middle);
    EXPECT_LT(maxAbsoluteError(out.data, expected), 2e-6) << cpu;
    EXPECT_TRUE(out.guardIntact());
    for (size_t i = 0; i < logSumExp.size() && s.logSumExp; ++i)
      if (std::isfinite(logSumExp[i]))
        ASSERT_NEAR(lse[i], logSumExp[i], 5e-6) << cpu << " " << i;
  }
}

std::function<void(AttentionShape &)> ring(int64_t window) {
  return [window](AttentionShape &s) {
    s.ring = true;
    s.window = window;
  };
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionOfBlocks,
    ::testing::Values(
        Case{"decode", make(2, 1, 200, 3, 3, 64), 150}, Case{"decode_head_32", make(1, 1, 96, 2, 3, 32), 70},
        Case{"decode_head_96", make(1, 1, 300, 1, 8, 96), 299},
        Case{"decode_layer", with(make(1, 1, 70, 2, 2, 64), [](auto &s) { s.layers = 3; }), 60},
        Case{"decode_window", with(make(1, 1, 200, 2, 3, 64), [](auto &s) { s.window = 33; }), 190},
        Case{"decode_ring", with(make(1, 1, 33, 2, 3, 64), ring(32)), 50},
        Case{"decode_value_dim", with(make(1, 1, 90, 2, 3, 64), [](auto &s) { s.valueDim = 32; }), 80},
        Case{"short_prompt", make(1, 16, 64, 3, 3, 64), 20},
        Case{"prefill", with(make(2, 40, 160, 2, 3, 64), [](auto &s) { s.logSumExp = true; }), 90},
        Case{"prefill_head_32", make(1, 70, 70, 1, 1, 32)},
        Case{"prefill_layer", with(make(1, 40, 80, 2, 2, 96), [](auto &s) { s.layers = 2; }), 9},
        Case{"prefill_padding", make(1, 64, 128, 1, 2, 64), 0, 0, 21},
        Case{"prefill_window", with(make(1, 96, 200, 2, 2, 64), [](auto &s) { s.window = 17; }), 90},
        Case{"prefill_ring", with(make(1, 96, 113, 2, 2, 64), ring(17)), 390},
        Case{"prefill_softcap", with(make(1, 32, 64, 2, 2, 64), [](auto &s) { s.softcap = 5; })},
        Case{"prefill_value_dim", with(make(1, 32, 64, 2, 2, 64), [](auto &s) { s.valueDim = 96; })},
        Case{"sharded", make(1, 64, 64, 2, 2, 64), 80, 64}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
