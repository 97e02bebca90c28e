// Attention kernels of the CUDA target, run by the engine of the stand-in, against a reference in float64.
#include "DeviceHarness.h"

#include "tessera/Target/CUDA/AttentionKernel.h"

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
  int64_t firstPosition = 0; ///< row i of batch b stands at firstPosition + i - 5 b
  int64_t base = 0;
  int64_t inertFrom = -1; ///< rows from here on are padding
  Kind keyKind = kind;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

AttentionShape make(int64_t batch, int64_t seq, int64_t context, int64_t kvHeads, int64_t group,
                    int64_t headDim) {
  AttentionShape shape;
  shape.batch = batch;
  shape.seq = seq;
  shape.context = context;
  shape.kvHeads = kvHeads;
  shape.group = group;
  shape.headDim = shape.valueDim = headDim;
  shape.scale = 1 / std::sqrt(double(headDim));
  return shape;
}

AttentionShape with(AttentionShape shape, std::function<void(AttentionShape &)> change) {
  change(shape);
  return shape;
}

struct Expected {
  std::vector<double> out, logSumExp;
};

Expected reference(const Case &c, const Array &q, const Array &k, const Array &v,
                   const std::vector<int32_t> &positions, int64_t layer) {
  const AttentionShape &s = c.shape;
  Expected result;
  result.out.assign(s.batch * s.seq * s.kvHeads * s.group * s.valueDim, 0.0);
  for (int64_t row = 0; row < s.batch * s.seq * s.kvHeads * s.group; ++row) {
    int64_t h = row / s.group % s.kvHeads, token = row / s.group / s.kvHeads, batch = token / s.seq;
    int64_t position = positions[token];
    auto key = [&](int64_t j) { return ((layer * s.batch + batch) * s.context + j) * s.kvHeads + h; };
    std::vector<double> p(s.context, 0);
    double top = -INFINITY, sum = 0;
    auto visible = [&](int64_t j) {
      return position >= 0 && c.base + j <= position && (!s.window || c.base + j > position - *s.window);
    };
    for (int64_t j = 0; j < s.context; ++j) {
      if (!visible(j))
        continue;
      for (int64_t d = 0; d < s.headDim; ++d)
        p[j] += double(q.get(row * s.headDim + d)) * k.get(key(j) * s.headDim + d);
      p[j] *= s.scale;
      if (s.softcap)
        p[j] = *s.softcap * std::tanh(p[j] / *s.softcap);
      top = std::max(top, p[j]);
    }
    for (int64_t j = 0; j < s.context; ++j)
      sum += p[j] = visible(j) ? std::exp(p[j] - top) : 0;
    result.logSumExp.push_back(sum > 0 ? top + std::log(sum) : -INFINITY);
    for (int64_t j = 0; j < s.context && sum > 0; ++j)
      for (int64_t d = 0; d < s.valueDim && visible(j); ++d)
        result.out[row * s.valueDim + d] += p[j] / sum * v.get(key(j) * s.valueDim + d);
  }
  return result;
}

mlir::Type typeOf(Kind kind, mlir::OpBuilder b) {
  return kind == Kind::F32    ? mlir::Type(b.getF32Type())
         : kind == Kind::BF16 ? mlir::Type(b.getBF16Type())
                              : mlir::Type(b.getF16Type());
}

void check(const Case &c, std::initializer_list<uint64_t> seeds) {
  AttentionShape s = c.shape;
  AttentionTiling tiling;
  DeviceKernels kernels = DeviceKernels::compile([&](mlir::ModuleOp module) {
    mlir::OpBuilder builder(module.getBodyRegion());
    s.elementType = typeOf(c.kind, builder);
    s.keyType = typeOf(c.keyKind, builder);
    tiling = *tileAttention(s);
    buildCUDAAttentionKernel(builder, module.getLoc(), "attention", s, tiling);
  });
  ASSERT_EQ(kernels.error, "");
  int64_t layers = s.layers.value_or(1), layer = layers - 1;
  Array q(s.batch * s.seq * s.kvHeads * s.group * s.headDim, c.kind),
      k(layers * s.batch * s.context * s.kvHeads * s.headDim, c.keyKind),
      v(layers * s.batch * s.context * s.kvHeads * s.valueDim, c.keyKind),
      out(s.batch * s.seq * s.kvHeads * s.group * s.valueDim, c.kind), lse(out.size / s.valueDim, Kind::F32),
      scratch(attentionScratch(s, tiling), Kind::F32);
  q.fill(1, -3, 3);
  k.fill(2, -1, 1);
  v.fill(3, -1, 1);
  std::vector<int32_t> positions(s.batch * s.seq);
  std::vector<int64_t> largest(s.batch, -1);
  for (int64_t token = 0; token < s.batch * s.seq; ++token) {
    int64_t batch = token / s.seq, i = token % s.seq;
    int64_t at =
        c.inertFrom >= 0 && i >= c.inertFrom ? -1 : std::max<int64_t>(c.firstPosition + i - 5 * batch, 0);
    positions[token] = int32_t(at);
    largest[batch] = std::max(largest[batch], at);
  }
  Expected expected = reference(c, q, k, v, positions, layer);
  // Keys that no row sees must not be read: they are no numbers.
  for (int64_t l = 0; l < layers; ++l)
    for (int64_t batch = 0; batch < s.batch; ++batch)
      for (int64_t j = 0; j < s.context; ++j)
        if (l != layer || c.base + j > largest[batch]) {
          int64_t row = ((l * s.batch + batch) * s.context + j) * s.kvHeads;
          for (int64_t i = 0; i < s.kvHeads * s.headDim; ++i)
            k.set(row * s.headDim + i, NAN);
          for (int64_t i = 0; i < s.kvHeads * s.valueDim; ++i)
            v.set(row * s.valueDim + i, NAN);
        }
  DeviceMemory memory;
  std::vector<const void *> buffers = {
      memory.add(q.memory, q.bytes(), false), memory.add(k.memory, k.bytes(), false),
      memory.add(v.memory, v.bytes(), false), memory.add(positions.data(), positions.size() * 4, false),
      memory.add(out.memory, out.bytes(), true)};
  if (s.logSumExp)
    buffers.push_back(memory.add(lse.memory, lse.bytes(), true));
  if (scratch.size)
    buffers.push_back(memory.add(scratch.memory, scratch.bytes(), true));
  std::vector<int64_t> scalars;
  if (s.layers)
    scalars.push_back(layer);
  scalars.push_back(c.base);
  // Of the largest value; sums are of float32, weights of the second product of the elements' type.
  double bound = c.kind == Kind::F32 ? 3e-6 : c.kind == Kind::F16 ? 1e-3 : 8e-3;
  for (uint64_t seed : seeds) {
    std::memset(out.memory, 0x7f, out.bytes());
    ASSERT_EQ(kernels.run("attention", buffers, scalars, tiling.blocks, memory, seed, seed != 1), "") << seed;
    double worst = 0;
    for (size_t i = 0; i < expected.out.size(); ++i) {
      double error = std::fabs(out.get(i) - expected.out[i]);
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
      if (expected.out[i] == 0)
        ASSERT_EQ(out.get(i), 0) << i;
    }
    EXPECT_LT(worst, bound) << "seed " << seed;
    for (size_t i = 0; i < expected.logSumExp.size() && s.logSumExp; ++i)
      if (std::isinf(expected.logSumExp[i]))
        ASSERT_EQ(lse.get(i), -INFINITY) << i;
      else
        ASSERT_NEAR(lse.get(i), expected.logSumExp[i], c.kind == Kind::F32 ? 5e-6 : 5e-4) << i;
  }
}

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, MatchesReference) { check(GetParam(), {1, 2}); }

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

} // namespace
