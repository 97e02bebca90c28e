// Attention kernels against a reference in float64.
#include "AttentionReference.h"
#include "KernelHarness.h"

#include "tessera/Target/CPU/AttentionKernel.h"
#include "tessera/Target/CPU/TargetInfo.h"

#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::test;

namespace {

struct Case {
  const char *name;
  AttentionShape shape;
  int64_t firstPosition = 0; ///< see AttentionPositions
  int64_t base = 0;
  int64_t inertFrom = -1; ///< rows from here on are padding
};

/// Keys in a ring, and a window.
std::function<void(AttentionShape &)> ring(int64_t window) {
  return [window](AttentionShape &s) {
    s.ring = true;
    s.window = window;
  };
}

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

class Attention : public ::testing::TestWithParam<Case> {};

void check(const Case &c, const char *cpu) {
  AttentionShape s = c.shape;
  auto target = resolveCPUTarget(cpu);
  ASSERT_TRUE(bool(target));
  VectorUnit unit = target->vectorUnit();
  auto kernels = CompiledKernels::fromBuilder(
      [&](mlir::ModuleOp module) {
        module.push_back(buildAttentionKernel(module.getLoc(), "attention", s, unit));
      },
      cpu);
  ASSERT_EQ(kernels.error, "");
  EXPECT_EQ(kernels.calls, std::vector<std::string>()) << "a library call in a kernel";
  int64_t layers = s.layers.value_or(1), layer = layers - 1;
  auto q = randomFloats(s.batch * s.seq * s.kvHeads * s.group * s.headDim, 1, -3, 3);
  auto k = randomFloats(layers * s.batch * s.context * s.kvHeads * s.headDim, 2, -1, 1);
  auto v = randomFloats(layers * s.batch * s.context * s.kvHeads * s.valueDim, 3);
  AttentionPositions positions(s, c.firstPosition, c.base, c.inertFrom);
  auto [expected, logSumExp] = attentionReference(s, positions, q.data, k.data, v.data, layer);
  // They are no numbers.
  forUnseenKeys(s, positions, layer, [&](int64_t row) {
    std::fill_n(k.data + row * s.headDim, s.headDim, NAN);
    std::fill_n(v.data + row * s.valueDim, s.valueDim, NAN);
  });
  Buffer<float> out(expected.size(), 99);
  std::vector<int64_t> scalars;
  if (s.layers)
    scalars.push_back(layer);
  scalars.push_back(c.base);
  int64_t count = attentionIterations(s, unit.lanes), middle = count / 2;
  std::vector<void *> buffers = {q.data, k.data, v.data, positions.given.data(), out.data};
  Buffer<float> lse(logSumExp.size(), 99);
  if (s.logSumExp)
    buffers.push_back(lse.data);
  kernels.run("attention", buffers, scalars, middle, count);
  kernels.run("attention", buffers, scalars, 0, middle);
  EXPECT_LT(maxAbsoluteError(out.data, expected), 2e-6) << cpu;
  EXPECT_TRUE(out.guardIntact());
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i] == 0)
      ASSERT_EQ(out[i], 0) << i;
  EXPECT_TRUE(lse.guardIntact());
  for (size_t i = 0; i < logSumExp.size() && s.logSumExp; ++i)
    if (std::isinf(logSumExp[i]))
      ASSERT_EQ(lse[i], -INFINITY) << i;
    else
      ASSERT_NEAR(lse[i], logSumExp[i], 5e-6) << i;
}

TEST_P(Attention, MatchesReference) {
  check(GetParam(), "native");
  check(GetParam(), "x86-64-v3");
  if (GetParam().shape.seq * GetParam().shape.context < 2048)
    check(GetParam(), "x86-64"); // vectors of 4, no fma
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    ::testing::Values(
        Case{"prefill_smollm", with(make(1, 128, 160, 3, 3, 64), [](auto &s) { s.layers = 2; })},
        Case{"prefill_later_chunk", make(1, 32, 256, 2, 3, 64), 170},
        Case{"prefill_odd_rows", make(2, 13, 40, 1, 3, 64), 5},
        Case{"prefill_head_8", make(1, 20, 33, 2, 2, 8)},
        Case{"prefill_head_80", make(1, 40, 100, 2, 1, 80), 7},
        Case{"prefill_head_128", make(1, 17, 70, 1, 4, 128), 30},
        Case{"prefill_head_5", make(1, 24, 30, 1, 1, 5)},
        Case{"prefill_padding_rows", make(1, 64, 128, 1, 2, 64), 0, 0, 21},
        Case{"prefill_all_inert", make(1, 32, 64, 1, 1, 64), 0, 0, 0},
        Case{"prefill_window", with(make(1, 96, 200, 2, 2, 64), [](auto &s) { s.window = 17; }), 90},
        Case{"prefill_documents",
             with(make(2, 96, 96, 2, 2, 64), [](auto &s) { s.firsts = s.logSumExp = true; }), 0, 0, 80},
        Case{"prefill_documents_window",
             with(make(1, 40, 60, 1, 2, 16),
                  [](auto &s) {
                    s.firsts = true;
                    s.window = 4;
                  }),
             17},
        Case{"few_rows_documents", with(make(1, 3, 64, 8, 1, 64), [](auto &s) { s.firsts = true; }), 19},
        Case{"prefill_softcap", with(make(1, 32, 64, 2, 2, 64), [](auto &s) { s.softcap = 5; })},
        Case{"prefill_sharded_cache", make(1, 64, 64, 2, 2, 64), 80, 64},
        Case{"prefill_keys_all_later", make(1, 32, 64, 1, 1, 64), 0, 64},
        Case{"prefill_value_dim", with(make(1, 32, 64, 2, 2, 64), [](auto &s) { s.valueDim = 40; })},
        Case{"prefill_beyond_cache", make(1, 32, 50, 1, 2, 16), 60},
        Case{"decode_smollm", with(make(1, 1, 512, 3, 3, 64), [](auto &s) { s.layers = 2; }), 500},
        Case{"decode_first", make(1, 1, 64, 3, 3, 64)}, Case{"decode_batch", make(3, 1, 200, 2, 2, 64), 150},
        Case{"decode_many_heads", make(1, 1, 300, 8, 4, 128), 299},
        Case{"decode_mqa", make(1, 1, 130, 1, 7, 64), 129},
        Case{"decode_head_8", make(2, 1, 40, 2, 1, 8), 30},
        Case{"decode_head_40", make(1, 1, 70, 2, 2, 40), 65},
        Case{"decode_head_80", make(1, 1, 140, 4, 1, 80), 139},
        Case{"decode_head_5", make(1, 1, 20, 2, 1, 5), 19},
        Case{"decode_inert", make(1, 1, 64, 2, 2, 64), 0, 0, 0},
        Case{"decode_window", with(make(1, 1, 300, 2, 2, 64), [](auto &s) { s.window = 33; }), 250},
        Case{"decode_softcap", with(make(1, 1, 64, 2, 2, 64), [](auto &s) { s.softcap = 5; }), 60},
        Case{"decode_sharded_cache", make(1, 1, 64, 2, 2, 64), 100, 64},
        Case{"decode_keys_all_later", make(1, 1, 64, 2, 2, 64), 10, 64},
        Case{"prefill_log_sum_exp", with(make(2, 21, 64, 2, 2, 64), [](auto &s) { s.logSumExp = true; }), 3,
             10},
        Case{"decode_log_sum_exp", with(make(2, 1, 64, 2, 3, 64), [](auto &s) { s.logSumExp = true; }), 11,
             11},
        Case{"few_rows", make(1, 3, 64, 2, 1, 64), 20},
        // Rows of one tile begin at different keys.
        Case{"few_rows_window", with(make(1, 3, 64, 8, 1, 64), [](auto &s) { s.window = 5; }), 20},
        // The shortest rings that hold a chunk and the window in front of it, all the way round.
        Case{"prefill_ring", with(make(2, 96, 17 + 95, 2, 2, 64), ring(17)), 390},
        Case{"prefill_ring_layers",
             with(with(make(1, 32, 64, 1, 3, 16), ring(17)), [](auto &s) { s.layers = 2; }), 64},
        Case{"prefill_ring_first_round", with(make(1, 40, 60, 1, 2, 64), ring(17))},
        Case{"prefill_ring_padding", with(make(2, 33, 41, 2, 1, 40), ring(9)), 100, 0, 20},
        Case{"few_rows_ring", with(make(1, 3, 7, 8, 1, 64), ring(5)), 33},
        Case{"decode_ring", with(make(3, 1, 33, 2, 2, 64), ring(33)), 1000},
        Case{"decode_ring_first_round", with(make(1, 1, 40, 2, 2, 64), ring(33)), 7},
        Case{"decode_ring_inert", with(make(1, 1, 40, 2, 2, 64), ring(33)), 0, 0, 0}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(AttentionNumbers, WhatIsNoNumberIsNotHidden) {
  for (int64_t seq : {1, 32}) {
    AttentionShape s = make(1, seq, 64, 1, 1, 16);
    VectorUnit unit = llvm::cantFail(resolveCPUTarget("native")).vectorUnit();
    auto kernels = CompiledKernels::fromBuilder([&](mlir::ModuleOp module) {
      module.push_back(buildAttentionKernel(module.getLoc(), "attention", s, unit));
    });
    ASSERT_EQ(kernels.error, "");
    auto q = randomFloats(seq * 16, 1), k = randomFloats(64 * 16, 2), v = randomFloats(64 * 16, 3);
    k[5 * 16 + 3] = NAN;
    Buffer<int32_t> positions(seq);
    for (int64_t i = 0; i < seq; ++i)
      positions[i] = int32_t(seq == 1 ? 40 : i);
    Buffer<float> out(seq * 16);
    kernels.run("attention", {q.data, k.data, v.data, positions.data, out.data}, {0}, 0,
                attentionIterations(s, unit.lanes));
    for (int64_t i = 0; i < seq; ++i)
      EXPECT_EQ(std::isnan(out[i * 16]), positions[i] >= 5) << i; // rows that do not see key 5 are clean
  }
}

TEST(AttentionCost, KernelsAreSmall) {
  for (int64_t seq : {1, 128}) {
    auto kernels = CompiledKernels::fromBuilder([&](mlir::ModuleOp module) {
      module.push_back(
          buildAttentionKernel(module.getLoc(), "attention", make(1, seq, 2048, 3, 3, 64), {/*lanes=*/16}));
    });
    ASSERT_EQ(kernels.error, "");
    printf("attention seq %ld: %ld instructions\n", long(seq), long(kernels.instructions));
    EXPECT_LT(kernels.instructions, 10000); // code that grew with the context would have many times as many
  }
}

} // namespace
