// Attention kernels on arrays of 16 bits against a reference in float64 on the same numbers.
#include "AttentionReference.h"
#include "KernelHarness.h"

#include "tessera/Target/CPU/AttentionKernel.h"
#include "tessera/Target/CPU/TargetInfo.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace tessera;
using namespace tessera::test;

namespace {

struct HalfFloat {
  using Stored = _Float16;
  static mlir::Type type(mlir::MLIRContext *context) { return mlir::Float16Type::get(context); }
  static float widen(Stored x) { return float(x); }
  static Stored round(float x) { return Stored(x); }
};

struct BrainFloat {
  using Stored = uint16_t;
  static mlir::Type type(mlir::MLIRContext *context) { return mlir::BFloat16Type::get(context); }
  static float widen(Stored x) {
    uint32_t bits = uint32_t(x) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  static Stored round(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return Stored((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  }
};

/// `values`, rounded, and what they are then.
template <typename T> Buffer<typename T::Stored> narrow(Buffer<float> &values) {
  Buffer<typename T::Stored> result(values.size);
  for (size_t i = 0; i < values.size; ++i) {
    result[i] = T::round(values[i]);
    values[i] = T::widen(result[i]);
  }
  return result;
}

struct Inputs {
  explicit Inputs(const AttentionShape &s)
      : q(randomFloats(s.batch * s.seq * s.kvHeads * s.group * s.headDim, 1)),
        k(randomFloats(s.batch * s.context * s.kvHeads * s.headDim, 2)),
        v(randomFloats(s.batch * s.context * s.kvHeads * s.valueDim, 3)) {}
  Buffer<float> q, k, v;
};

/// The result within `bound`, the log-sum-exp as near as float32 is.
template <typename T>
void check(AttentionShape s, AttentionPositions positions, double bound, Inputs inputs, const char *cpu) {
  VectorUnit unit = llvm::cantFail(resolveCPUTarget(cpu)).vectorUnit();
  auto kernels = CompiledKernels::fromBuilder(
      [&](mlir::ModuleOp module) {
        s.elementType = T::type(module.getContext());
        module.push_back(buildAttentionKernel(module.getLoc(), "attention", s, unit));
      },
      cpu);
  ASSERT_EQ(kernels.error, "");
  EXPECT_EQ(kernels.calls, std::vector<std::string>()) << "a library call in a kernel";
  auto q = narrow<T>(inputs.q), k = narrow<T>(inputs.k), v = narrow<T>(inputs.v);
  auto [expected, logSumExp] =
      attentionReference(s, positions, inputs.q.data, inputs.k.data, inputs.v.data, 0);
  forUnseenKeys(s, positions, 0, [&](int64_t row) {
    std::fill_n(k.data + row * s.headDim, s.headDim, T::round(NAN));
    std::fill_n(v.data + row * s.valueDim, s.valueDim, T::round(NAN));
  });
  Buffer<typename T::Stored> out(expected.size());
  Buffer<float> lse(logSumExp.size(), 99);
  std::vector<void *> buffers = {q.data, k.data, v.data, positions.given.data(), out.data};
  if (s.logSumExp)
    buffers.push_back(lse.data);
  int64_t count = attentionIterations(s, unit.lanes), middle = count / 2;
  kernels.run("attention", buffers, {positions.base}, middle, count);
  kernels.run("attention", buffers, {positions.base}, 0, middle);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(T::widen(out[i]), expected[i], bound) << cpu << " " << i;
  EXPECT_TRUE(out.guardIntact());
  for (size_t i = 0; i < logSumExp.size() && s.logSumExp; ++i)
    if (std::isinf(logSumExp[i]))
      ASSERT_EQ(lse[i], -INFINITY) << i;
    else
      ASSERT_NEAR(lse[i], logSumExp[i], 5e-6) << cpu << " " << i;
  EXPECT_TRUE(lse.guardIntact());
}

/// On this machine, whatever it has, and without instructions on bfloat16.
template <typename T> void check(const AttentionShape &s, const AttentionPositions &positions, double bound) {
  for (const char *cpu : {"native", "x86-64-v3"})
    check<T>(s, positions, bound, Inputs(s), cpu);
}

TEST(AttentionNarrow, HalfPrecision) {
  for (int64_t seq : {1, 40}) {
    AttentionShape s = make(1, seq, 96, 2, 3, 40);
    check<HalfFloat>(s, AttentionPositions(s, 50, 0, -1), 5e-4);
  }
}

struct Case {
  const char *name;
  AttentionShape shape;
  int64_t firstPosition = 0, base = 0, inertFrom = -1; ///< see AttentionPositions
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

class AttentionBFloat16 : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionBFloat16, MatchesReference) {
  const Case &c = GetParam();
  // The result is rounded, and so may be the weights: by 1/512 of values below 1 each.
  check<BrainFloat>(c.shape, AttentionPositions(c.shape, c.firstPosition, c.base, c.inertFrom), 4e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionBFloat16,
    ::testing::Values(
        Case{"decode", make(1, 1, 96, 2, 3, 40), 50}, Case{"head_40", make(1, 40, 96, 2, 3, 40), 50},
        Case{"head_64", with(make(1, 128, 160, 3, 3, 64), [](auto &s) { s.logSumExp = true; })},
        Case{"odd_last_key", make(1, 40, 97, 1, 1, 64), 57}, Case{"one_vector", make(1, 12, 70, 1, 1, 64), 9},
        Case{"odd_rows", with(make(2, 13, 40, 1, 3, 64), [](auto &s) { s.logSumExp = true; }), 5},
        Case{"head_6", make(1, 24, 30, 1, 1, 6)},
        Case{"odd_head", with(make(1, 24, 30, 1, 1, 5), [](auto &s) { s.valueDim = 6; })},
        Case{"odd_value", with(make(1, 24, 30, 1, 1, 6), [](auto &s) { s.valueDim = 7; })},
        Case{"value_dim", with(make(1, 32, 64, 2, 2, 64), [](auto &s) { s.valueDim = 42; })},
        Case{"padding_rows", make(1, 64, 128, 1, 2, 64), 0, 0, 21},
        Case{"window", with(make(1, 96, 200, 2, 2, 64), [](auto &s) { s.window = 17; }), 90},
        Case{"ring",
             with(make(1, 96, 113, 2, 2, 64),
                  [](auto &s) {
                    s.window = 17;
                    s.ring = true;
                  }),
             390},
        Case{"decode_ring",
             with(make(1, 1, 33, 2, 3, 40),
                  [](auto &s) {
                    s.window = 32;
                    s.ring = true;
                  }),
             50},
        Case{"documents", with(make(2, 96, 96, 2, 2, 64), [](auto &s) { s.firsts = s.logSumExp = true; }), 0,
             0, 80},
        Case{"softcap", with(make(1, 32, 64, 2, 2, 64), [](auto &s) { s.softcap = 5; })},
        Case{"sharded_cache", make(1, 64, 64, 2, 2, 64), 80, 64},
        Case{"beyond_cache", make(1, 32, 50, 1, 2, 16), 60}),
    [](const auto &info) { return std::string(info.param.name); });

// A weight of 0.5015 is 0.5 in bfloat16. If many are, sums of unrounded ones would divide by 0.3 % too much,
// and values of 255/128, whose neighbours are 0.4 % away, would come out as the lower neighbour.
TEST(AttentionNarrow, EqualValuesComeBack) {
  AttentionShape s = with(make(1, 32, 300, 1, 1, 2), [](auto &s) {
    s.scale = 1;
    s.logSumExp = true;
  });
  for (const char *cpu : {"native", "x86-64-v3"}) {
    Inputs inputs(s);
    std::fill_n(inputs.q.data, inputs.q.size, 1.0f);
    for (size_t i = 0; i < inputs.k.size; ++i) // the first key's score is 0, the others' log(0.5015)
      inputs.k[i] = i < 2 ? 0.0f : i % 2 ? -0.69140625f : 0.00122f;
    std::fill_n(inputs.v.data, inputs.v.size, 255.0f / 128);
    check<BrainFloat>(s, AttentionPositions(s, 260, 0, -1), 1e-3, std::move(inputs), cpu);
  }
}

} // namespace
