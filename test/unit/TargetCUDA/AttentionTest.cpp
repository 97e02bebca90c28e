// Attention kernels of the CUDA target, run by the engine of the stand-in, against a reference in float64.
#include "AttentionReference.h"
#include "DeviceHarness.h"

#include "tessera/Target/CUDA/AttentionKernel.h"

#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace tessera;
using namespace tessera::test;

namespace {

enum class Kind { F32, BF16, F16 };

float rounded(float x, Kind kind) {
  if (kind == Kind::F16)
    return float(_Float16(x));
  if (kind == Kind::F32)
    return x;
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// An array of one kind, aligned as the arena aligns it.
class Array {
public:
  Array(size_t size, Kind kind) : size(size), kind(kind) {
    memory = static_cast<char *>(std::aligned_alloc(64, (bytes() + 63) / 64 * 64));
    std::memset(memory, 0x7f, bytes());
  }
  Array(const Array &) = delete;
  ~Array() { std::free(memory); }
  size_t elementBytes() const { return kind == Kind::F32 ? 4 : 2; }
  size_t bytes() const { return size * elementBytes(); }
  float get(size_t i) const {
    if (kind == Kind::F32)
      return reinterpret_cast<const float *>(memory)[i];
    if (kind == Kind::F16)
      return float(reinterpret_cast<const _Float16 *>(memory)[i]);
    uint32_t bits = uint32_t(reinterpret_cast<const uint16_t *>(memory)[i]) << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
  }
  std::vector<float> floats() const {
    std::vector<float> values(size);
    for (size_t i = 0; i < size; ++i)
      values[i] = get(i);
    return values;
  }
  void set(size_t i, float x) {
    x = rounded(x, kind);
    if (kind == Kind::F32)
      reinterpret_cast<float *>(memory)[i] = x;
    else if (kind == Kind::F16)
      reinterpret_cast<_Float16 *>(memory)[i] = _Float16(x);
    else
      std::memcpy(memory + 2 * i, reinterpret_cast<char *>(&x) + 2, 2);
  }
  void fill(unsigned seed, float low, float high) {
    std::mt19937 generator(seed);
    for (size_t i = 0; i < size; ++i)
      set(i, low + (high - low) * float(generator() >> 8) / float(1 << 24));
  }

  size_t size;
  Kind kind;
  char *memory;
};

struct Case {
  const char *name;
  AttentionShape shape;
  Kind kind = Kind::F32;
  int64_t firstPosition = 0; ///< see AttentionPositions
  int64_t base = 0;
  int64_t inertFrom = -1; ///< rows from here on are padding
  Kind keyKind = kind;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

mlir::Type typeOf(Kind kind, mlir::OpBuilder b) {
  return kind == Kind::F32    ? mlir::Type(b.getF32Type())
         : kind == Kind::BF16 ? mlir::Type(b.getBF16Type())
                              : mlir::Type(b.getF16Type());
}

struct Compiled {
  AttentionTiling tiling;
  DeviceKernels kernels;
};

Compiled compile(const Case &c) {
  AttentionTiling tiling;
  DeviceKernels kernels = DeviceKernels::compile([&](mlir::ModuleOp module) {
    mlir::OpBuilder builder(module.getBodyRegion());
    AttentionShape s = c.shape;
    s.elementType = typeOf(c.kind, builder);
    s.keyType = typeOf(c.keyKind, builder);
    tiling = *tileAttention(s);
    module.push_back(buildCUDAAttentionKernel(module.getLoc(), "attention", s, tiling));
  });
  EXPECT_EQ(kernels.error, "");
  return {tiling, std::move(kernels)};
}

/// The arrays of a launch and what should come out.
class Launch {
public:
  Launch(const Case &c, const AttentionTiling &tiling)
      : c(c), s(this->c.shape), blocks(tiling.blocks), layers(s.layers.value_or(1)),
        q(s.batch * s.seq * s.kvHeads * s.group * s.headDim, c.kind),
        k(layers * s.batch * s.context * s.kvHeads * s.headDim, c.keyKind),
        v(layers * s.batch * s.context * s.kvHeads * s.valueDim, c.keyKind),
        out(s.batch * s.seq * s.kvHeads * s.group * s.valueDim, c.kind),
        lse(out.size / s.valueDim, Kind::F32), scratch(attentionScratch(s, tiling), Kind::F32),
        positions(s, c.firstPosition, c.base, c.inertFrom) {
    q.fill(1, -3, 3);
    k.fill(2, -1, 1);
    v.fill(3, -1, 1);
    int64_t layer = layers - 1;
    expected =
        attentionReference(s, positions, q.floats().data(), k.floats().data(), v.floats().data(), layer);
    // They are no numbers.
    auto hide = [&](int64_t row) {
      for (int64_t i = 0; i < s.headDim; ++i)
        k.set(row * s.headDim + i, NAN);
      for (int64_t i = 0; i < s.valueDim; ++i)
        v.set(row * s.valueDim + i, NAN);
    };
    forUnseenKeys(s, positions, layer, hide);
    hideBeforeWindows(tiling.keys, layer, hide);
    buffers = {memory.add(q.memory, q.bytes(), false), memory.add(k.memory, k.bytes(), false),
               memory.add(v.memory, v.bytes(), false),
               memory.add(positions.rows.data(), positions.rows.size() * 4, false),
               memory.add(out.memory, out.bytes(), true)};
    if (s.logSumExp)
      buffers.push_back(memory.add(lse.memory, lse.bytes(), true));
    if (scratch.size)
      buffers.push_back(memory.add(scratch.memory, scratch.bytes(), true));
    if (s.layers)
      scalars.push_back(layer);
    scalars.push_back(c.base);
  }

  /// The finding of the engine, or of the comparison; nothing where all is well.
  std::string run(const DeviceKernels &kernels, uint64_t seed, bool races) {
    std::memset(out.memory, 0x7f, out.bytes());
    std::memset(lse.memory, 0x7f, lse.bytes());
    std::string finding = kernels.run("attention", buffers, scalars, blocks, memory, seed, races);
    return finding.empty() ? compare() : finding;
  }

private:
  /// Keys that no row of a batch sees any more: they are read by tiles, so whole tiles of them must not be.
  void hideBeforeWindows(int64_t keys, int64_t layer, llvm::function_ref<void(int64_t)> hide) const {
    for (int64_t batch = 0; s.window && batch < s.batch; ++batch) {
      int64_t least = INT32_MAX;
      for (int64_t i = 0; i < s.seq; ++i)
        if (int64_t at = positions.rows[batch * s.seq + i]; at >= 0)
          least = std::min(least, at);
      int64_t first = std::clamp<int64_t>(least - *s.window - positions.base + 1, 0, s.context);
      for (int64_t row = 0; row < first / keys * keys * s.kvHeads; ++row)
        hide((layer * s.batch + batch) * s.context * s.kvHeads + row);
    }
  }

  std::string compare() const {
    // Sums are of float32, weights of the second product of the elements' type.
    double bound = c.kind == Kind::F32 ? 3e-6 : c.kind == Kind::F16 ? 1e-3 : 8e-3;
    auto differs = [](const char *what, size_t i, double is, double should) {
      return llvm::formatv("{0} {1} is {2}, not {3}", what, i, is, should).str();
    };
    for (size_t i = 0; i < expected.out.size(); ++i) {
      double is = out.get(i), should = expected.out[i];
      if (should == 0 ? is != 0 : !(std::fabs(is - should) < bound))
        return differs("result", i, is, should);
    }
    bound = c.kind == Kind::F32 ? 5e-6 : 5e-4;
    for (size_t i = 0; i < expected.logSumExp.size() && s.logSumExp; ++i) {
      double is = lse.get(i), should = expected.logSumExp[i];
      if (std::isinf(should) ? is != should : !(std::fabs(is - should) < bound))
        return differs("log-sum-exp", i, is, should);
    }
    return "";
  }

  const Case c;
  const AttentionShape &s;
  int64_t blocks, layers;
  Array q, k, v, out, lse, scratch;
  AttentionPositions positions;
  AttentionResults expected;
  DeviceMemory memory;
  std::vector<const void *> buffers;
  std::vector<int64_t> scalars;
};

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, MatchesReference) {
  Compiled compiled = compile(GetParam());
  Launch launch(GetParam(), compiled.tiling);
  EXPECT_EQ(launch.run(compiled.kernels, 1, /*races=*/false), "");
  EXPECT_EQ(launch.run(compiled.kernels, 2, /*races=*/true), "");
}

INSTANTIATE_TEST_SUITE_P(
    Float32, Attention,
    ::testing::Values(
        Case{"decode_smollm", with(make(1, 1, 300, 3, 3, 64), [](auto &s) { s.layers = 2; }), Kind::F32, 289},
        Case{"decode_first", make(1, 1, 64, 1, 3, 64)},
        Case{"decode_batch", make(3, 1, 200, 2, 2, 16), Kind::F32, 150},
        Case{"decode_head_10", make(2, 1, 70, 1, 2, 10), Kind::F32, 60},
        Case{"decode_inert", make(1, 1, 64, 1, 2, 8), Kind::F32, 0, 0, 0},
        Case{"decode_window", with(make(1, 1, 300, 1, 2, 16), [](auto &s) { s.window = 33; }), Kind::F32,
             250},
        Case{"decode_softcap", with(make(1, 1, 64, 1, 2, 16), [](auto &s) { s.softcap = 5; }), Kind::F32, 60},
        Case{"decode_log_sum_exp", with(make(2, 1, 200, 1, 3, 16), [](auto &s) { s.logSumExp = true; }),
             Kind::F32, 140},
        Case{"decode_sharded_cache", make(1, 1, 64, 1, 2, 16), Kind::F32, 100, 64},
        Case{"decode_keys_all_later", make(1, 1, 64, 1, 2, 16), Kind::F32, 10, 64},
        Case{"few_rows_window", with(make(1, 3, 128, 2, 1, 16), [](auto &s) { s.window = 5; }), Kind::F32,
             97},
        Case{"prefill_smollm", make(1, 31, 70, 1, 3, 64), Kind::F32, 33},
        Case{"prefill_head_8", make(2, 20, 33, 1, 2, 8)}, Case{"prefill_head_5", make(1, 24, 30, 1, 1, 5)},
        Case{"prefill_padding_rows", make(1, 40, 64, 1, 2, 16), Kind::F32, 0, 0, 21},
        Case{"prefill_window", with(make(1, 50, 128, 1, 2, 16), [](auto &s) { s.window = 17; }), Kind::F32,
             70},
        Case{"prefill_window_padding_rows", with(make(1, 50, 128, 1, 2, 16), [](auto &s) { s.window = 17; }),
             Kind::F32, 70, 0, 40},
        Case{"prefill_value_dim", with(make(1, 32, 64, 1, 1, 16), [](auto &s) { s.valueDim = 40; })},
        Case{"prefill_beyond_cache", make(1, 32, 50, 1, 2, 16), Kind::F32, 60},
        Case{"prefill_log_sum_exp", with(make(2, 21, 64, 1, 2, 16), [](auto &s) { s.logSumExp = true; }),
             Kind::F32, 3, 0, 10}),
    [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Float16, Attention,
    ::testing::Values(
        Case{"decode_llama_bf16", with(make(1, 1, 300, 1, 4, 128), [](auto &s) { s.layers = 2; }), Kind::BF16,
             289},
        Case{"decode_smollm_f16", make(2, 1, 200, 1, 3, 64), Kind::F16, 190},
        Case{"decode_first_bf16", make(1, 1, 64, 1, 3, 64), Kind::BF16},
        Case{"decode_head_10_bf16", make(2, 1, 70, 1, 2, 10), Kind::BF16, 60},
        Case{"decode_head_8_f16", make(1, 1, 130, 2, 1, 8), Kind::F16, 128},
        Case{"decode_head_5_bf16", make(1, 1, 40, 1, 2, 5), Kind::BF16, 33},
        Case{"decode_inert_bf16", make(1, 1, 64, 1, 2, 16), Kind::BF16, 0, 0, 0},
        Case{"decode_window_f16", with(make(1, 1, 300, 1, 2, 16), [](auto &s) { s.window = 33; }), Kind::F16,
             250},
        Case{"decode_log_sum_exp_f16", with(make(2, 1, 200, 1, 3, 16), [](auto &s) { s.logSumExp = true; }),
             Kind::F16, 140},
        Case{"prefill_llama_bf16", make(1, 33, 80, 1, 4, 128), Kind::BF16, 40},
        Case{"prefill_smollm_f16", make(1, 31, 127, 1, 3, 64), Kind::F16, 90},
        Case{"prefill_head_10_f16", make(2, 20, 33, 1, 2, 10), Kind::F16},
        Case{"prefill_padding_rows_bf16", make(1, 40, 64, 1, 2, 16), Kind::BF16, 0, 0, 21},
        Case{"prefill_window_bf16", with(make(1, 50, 128, 1, 2, 16), [](auto &s) { s.window = 17; }),
             Kind::BF16, 70},
        Case{"prefill_softcap_f16", with(make(1, 32, 64, 1, 2, 16), [](auto &s) { s.softcap = 5; }),
             Kind::F16},
        Case{"prefill_head_256_bf16", make(1, 20, 32, 1, 1, 256), Kind::BF16},
        Case{"mixed_float32_over_bf16", make(1, 5, 70, 1, 2, 24), Kind::F32, 60, 0, -1, Kind::BF16}),
    [](const auto &info) { return std::string(info.param.name); });

Case decode(Kind kind) { return {"decode", make(2, 1, 300, 1, 3, 16), kind, 290}; }
Case prefill(Kind kind) { return {"prefill", make(1, 40, 80, 1, 2, 16), kind, 35}; }

/// One kernel, many lengths: blocks that have nothing to do, parts of tiles, all of the context.
TEST(AttentionLengths, OneKernelServesAll) {
  for (Kind kind : {Kind::F32, Kind::BF16}) {
    Case c = decode(kind);
    Compiled compiled = compile(c);
    ASSERT_GT(compiled.tiling.splits, 1);
    for (int64_t length : {1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 192, 255, 256, 299, 300}) {
      c.firstPosition = length - 1;
      Launch launch(c, compiled.tiling);
      EXPECT_EQ(launch.run(compiled.kernels, uint64_t(length), /*races=*/false), "") << length;
    }
  }
}

TEST(AttentionOrder, SameNumbersInEveryOrder) {
  for (Kind kind : {Kind::F32, Kind::F16})
    for (const Case &c : {decode(kind), prefill(kind)}) {
      Compiled compiled = compile(c);
      Launch launch(c, compiled.tiling);
      for (uint64_t seed = 0; seed < 20; ++seed)
        EXPECT_EQ(launch.run(compiled.kernels, seed, /*races=*/seed % 4 == 0), "") << c.name << " " << seed;
    }
}

/// Each barrier, wait and fence taken away is found, or it would not be needed.
TEST(AttentionOrder, EverySynchronizationIsNeeded) {
  for (Kind kind : {Kind::F32, Kind::F16})
    for (const Case &c : {decode(kind), prefill(kind)}) {
      Compiled compiled = compile(c);
      // Results take the place of the tiles: which of them the last one was depends on the length.
      Case shorter = c;
      shorter.firstPosition = 0;
      Launch launch(c, compiled.tiling), other(shorter, compiled.tiling);
      std::vector<std::string> all = compiled.kernels.synchronizations();
      EXPECT_GE(all.size(), 4u);
      for (size_t i = 0; i < all.size(); ++i) {
        DeviceKernels broken = compiled.kernels.without(i);
        std::string finding;
        for (uint64_t seed = 1; seed <= 10 && finding.empty(); ++seed)
          if (finding = launch.run(broken, seed, /*races=*/true); finding.empty())
            finding = other.run(broken, seed, /*races=*/true);
        EXPECT_NE(finding, "") << c.name << " without " << all[i] << ", number " << i;
        if (getenv("TESSERA_TEST_VERBOSE"))
          printf("%s without %s: %s\n", c.name, all[i].c_str(), finding.c_str());
      }
    }
}

/// Shapes nobody thought of.
TEST(AttentionShapes, RandomOnesMatchReference) {
  std::mt19937 generator(7);
  auto upTo = [&](int64_t n) { return int64_t(generator() % n); };
  for (int64_t i = 0; i < 20; ++i) {
    AttentionShape s = make(1 + upTo(2), upTo(2) ? 1 : 1 + upTo(60), 1 + upTo(200), 1 + upTo(2), 1 + upTo(5),
                            1 + upTo(upTo(4) ? 40 : 140));
    if (upTo(4) == 0)
      s.valueDim = 1 + upTo(40);
    if (upTo(4) == 0)
      s.window = 1 + upTo(100);
    if (upTo(6) == 0)
      s.softcap = 4;
    s.logSumExp = upTo(4) == 0;
    Case c{"random", s, Kind(upTo(3)), upTo(s.context)};
    if (upTo(4) == 0)
      c.inertFrom = upTo(s.seq + 1);
    SCOPED_TRACE(
        llvm::formatv("{0}: batch {1}, seq {2}, context {3}, heads {4} x {5} of {6} and {7}, from {8}", i,
                      s.batch, s.seq, s.context, s.kvHeads, s.group, s.headDim, s.valueDim, c.firstPosition)
            .str());
    Compiled compiled = compile(c);
    Launch launch(c, compiled.tiling);
    EXPECT_EQ(launch.run(compiled.kernels, uint64_t(i), /*races=*/true), "");
  }
}

TEST(AttentionShapes, HeadsTooWideAreLeft) { EXPECT_FALSE(tileAttention(make(1, 1, 64, 1, 1, 512))); }

} // namespace
