// Attention kernels of the CUDA target, run by the engine of the stand-in, against a reference in float64.
#include "AttentionLaunch.h"

using namespace tessera;
using namespace tessera::test;

namespace {

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, MatchesReference) { expectReference(GetParam()); }

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

// Pages as large as tiles, and larger.
INSTANTIATE_TEST_SUITE_P(
    Pages, Attention,
    ::testing::Values(
        Case{"decode_pages_f32", with(inPages(make(2, 1, 384, 2, 3, 16), 32), [](auto &s) { s.layers = 2; }),
             Kind::F32, 290},
        Case{"decode_pages_bf16",
             with(inPages(make(2, 1, 384, 1, 4, 64), 128), [](auto &s) { s.layers = 2; }), Kind::BF16, 330},
        Case{"decode_pages_first_f16", inPages(make(1, 1, 256, 1, 3, 16), 128), Kind::F16},
        Case{"decode_pages_inert_bf16", inPages(make(1, 1, 256, 1, 3, 16), 64), Kind::BF16, 0, 0, 0},
        Case{"decode_pages_window_f16",
             with(inPages(make(1, 1, 320, 1, 2, 16), 64), [](auto &s) { s.window = 33; }), Kind::F16, 250},
        Case{"decode_one_page_bf16", inPages(make(3, 1, 128, 1, 2, 16), 128), Kind::BF16, 100},
        Case{"prefill_pages_f32", inPages(make(1, 40, 96, 1, 2, 8), 32), Kind::F32, 50},
        Case{"prefill_pages_bf16", inPages(make(2, 40, 384, 2, 2, 16), 128), Kind::BF16, 300},
        Case{"prefill_pages_window_f16",
             with(inPages(make(1, 50, 512, 1, 2, 16), 128), [](auto &s) { s.window = 170; }), Kind::F16, 400},
        Case{"prefill_pages_padding_rows_bf16", inPages(make(1, 40, 192, 1, 2, 16), 64), Kind::BF16, 100, 0,
             21},
        Case{"prefill_pages_mixed", inPages(make(1, 20, 128, 1, 2, 24), 32), Kind::F32, 60, 0, -1,
             Kind::BF16}),
    [](const auto &info) { return std::string(info.param.name); });

/// A tile never reaches into the next page.
TEST(AttentionShapes, PagesSmallerThanTilesAreLeft) {
  EXPECT_FALSE(tileAttention(inPages(make(1, 1, 96, 1, 1, 16), 3)));
  EXPECT_EQ(tileAttention(inPages(make(1, 40, 96, 1, 2, 16), 16))->keys, 16);
}

/// Of rows that are padding the table may say anything: their keys stand somewhere in their context.
TEST(AttentionPages, TablesOfPaddingMayLeadAnywhere) {
  for (const AttentionShape &shape : {make(2, 1, 384, 1, 3, 16), make(2, 40, 384, 1, 2, 16)}) {
    Case c{"padding", inPages(shape, 128), Kind::BF16, 300};
    Compiled compiled = compile(c);
    for (int32_t entry : {100, -100})
      EXPECT_EQ(Launch(c, compiled.tiling).runWithTable(compiled.kernels, entry), "") << entry;
  }
}

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

TEST(AttentionOrder, EverySynchronizationIsNeeded) {
  for (Kind kind : {Kind::F32, Kind::F16})
    for (const Case &c : {decode(kind), prefill(kind)})
      expectEverySynchronization(c, 4);
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
    if (i % 2) {
      s.page = 64 << i % 4 / 2;
      s.context = (s.context + s.page - 1) / s.page * s.page;
    }
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
