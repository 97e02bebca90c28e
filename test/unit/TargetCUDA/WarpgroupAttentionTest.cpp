// Attention by products of warpgroups (wgmma), run by the engine of the stand-in, against float64.
#include "AttentionLaunch.h"

using namespace tessera;
using namespace tessera::test;

namespace {

Case warpgroups(const char *name, AttentionShape shape, Kind kind, int64_t firstPosition = 0,
                int64_t base = 0, int64_t inertFrom = -1) {
  return {name, shape, kind, firstPosition, base, inertFrom, kind, true};
}

class WarpgroupAttention : public ::testing::TestWithParam<Case> {};

TEST_P(WarpgroupAttention, MatchesReference) { expectReference(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Shapes, WarpgroupAttention,
    ::testing::Values(
        warpgroups("llama_bf16", with(make(1, 33, 300, 1, 4, 128), [](auto &s) { s.layers = 2; }), Kind::BF16,
                   250),
        warpgroups("smollm_f16", make(1, 31, 400, 2, 3, 64), Kind::F16, 360),
        warpgroups("one_tile_bf16", make(1, 64, 64, 1, 2, 32), Kind::BF16),
        warpgroups("two_tiles_bf16", make(1, 64, 256, 1, 1, 16), Kind::BF16, 130),
        warpgroups("two_warpgroups_bf16", make(2, 70, 300, 50, 2, 16), Kind::BF16, 230),
        warpgroups("head_48_f16", make(1, 30, 200, 1, 3, 48), Kind::F16, 170),
        warpgroups("head_80_bf16", make(1, 64, 260, 1, 1, 80), Kind::BF16, 190),
        warpgroups("head_96_bf16", make(1, 64, 260, 1, 1, 96), Kind::BF16, 190),
        warpgroups("head_192_bf16", make(1, 64, 200, 1, 1, 192), Kind::BF16, 100),
        warpgroups("head_256_f16", make(1, 64, 200, 1, 1, 256), Kind::F16, 100),
        warpgroups("value_dim_f16", with(make(1, 64, 200, 1, 1, 64), [](auto &s) { s.valueDim = 32; }),
                   Kind::F16, 100),
        warpgroups("padding_rows_bf16", make(1, 80, 128, 1, 2, 16), Kind::BF16, 0, 0, 21),
        warpgroups("all_inert_bf16", make(1, 64, 128, 1, 2, 16), Kind::BF16, 0, 0, 0),
        warpgroups("window_bf16", with(make(1, 70, 600, 1, 2, 16), [](auto &s) { s.window = 170; }),
                   Kind::BF16, 500),
        warpgroups("softcap_f16", with(make(1, 64, 200, 1, 2, 16), [](auto &s) { s.softcap = 5; }), Kind::F16,
                   130),
        warpgroups("beyond_cache_bf16", make(1, 64, 200, 1, 2, 16), Kind::BF16, 260),
        warpgroups("sharded_cache_f16", make(1, 64, 200, 1, 2, 16), Kind::F16, 300, 200),
        warpgroups("log_sum_exp_bf16", with(make(2, 65, 150, 1, 2, 16), [](auto &s) { s.logSumExp = true; }),
                   Kind::BF16, 80, 0, 50)),
    [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Pages, WarpgroupAttention,
    ::testing::Values(
        warpgroups("pages_llama_bf16",
                   with(inPages(make(2, 33, 384, 1, 4, 128), 128), [](auto &s) { s.layers = 2; }), Kind::BF16,
                   330),
        warpgroups("pages_of_two_tiles_f16", inPages(make(1, 64, 512, 1, 1, 16), 256), Kind::F16, 430),
        // More tiles than stages: the loop copies values from the page that its last round found for keys.
        warpgroups("pages_many_tiles_bf16", inPages(make(1, 64, 640, 1, 1, 16), 128), Kind::BF16, 570),
        warpgroups("pages_head_192_bf16", inPages(make(1, 64, 256, 1, 1, 192), 64), Kind::BF16, 190),
        warpgroups("pages_one_bf16", inPages(make(1, 64, 128, 1, 2, 32), 128), Kind::BF16),
        warpgroups("pages_window_bf16",
                   with(inPages(make(1, 70, 640, 1, 2, 16), 128), [](auto &s) { s.window = 170; }),
                   Kind::BF16, 500),
        warpgroups("pages_all_inert_f16", inPages(make(1, 64, 256, 1, 2, 16), 128), Kind::F16, 0, 0, 0)),
    [](const auto &info) { return std::string(info.param.name); });

TEST(WarpgroupAttentionShapes, PagesSmallerThanTilesAreLeft) {
  mlir::MLIRContext context;
  AttentionShape shape = inPages(make(1, 64, 256, 1, 1, 64), 64);
  shape.elementType = mlir::BFloat16Type::get(&context);
  EXPECT_FALSE(tileWarpgroupAttention(shape));
  shape.page = 128;
  EXPECT_TRUE(tileWarpgroupAttention(shape));
}

Case longer() { return warpgroups("longer", make(1, 64, 700, 1, 2, 16), Kind::BF16, 600); }

TEST(WarpgroupAttentionLengths, OneKernelServesAll) {
  Case c = longer();
  Compiled compiled = compile(c);
  for (int64_t first : {0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 400, 636}) {
    c.firstPosition = first;
    Launch launch(c, compiled.tiling);
    EXPECT_EQ(launch.run(compiled.kernels, uint64_t(first), /*races=*/false), "") << first;
  }
}

TEST(WarpgroupAttentionOrder, SameNumbersInEveryOrder) {
  Case c = longer();
  Compiled compiled = compile(c);
  Launch launch(c, compiled.tiling);
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(launch.run(compiled.kernels, seed, /*races=*/seed % 4 == 0), "") << seed;
}

TEST(WarpgroupAttentionOrder, EverySynchronizationIsNeeded) { expectEverySynchronization(longer(), 18); }

TEST(WarpgroupAttentionShapes, OthersAreLeft) {
  auto takes = [](AttentionShape s, Kind kind) {
    mlir::MLIRContext context;
    mlir::OpBuilder builder(&context);
    s.elementType = s.keyType = typeOf(kind, builder);
    return tileWarpgroupAttention(s).has_value();
  };
  EXPECT_TRUE(takes(make(1, 32, 64, 1, 2, 16), Kind::BF16));
  EXPECT_FALSE(takes(make(1, 32, 64, 1, 2, 16), Kind::F32));
  EXPECT_FALSE(takes(make(1, 32, 64, 1, 2, 24), Kind::BF16));
  EXPECT_FALSE(takes(make(1, 32, 64, 1, 2, 272), Kind::BF16));
  EXPECT_FALSE(takes(make(8, 31, 64, 1, 2, 16), Kind::BF16));
}

} // namespace
