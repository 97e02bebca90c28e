// Kernels in C with nothing wrong in them: the right numbers in every order, and no finding.
#include "KernelHarness.h"

#include <cmath>
#include <numeric>

namespace standin {
namespace {

std::vector<float> numbers(size_t count) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = float(i * 7 % 23) - 11;
  return all;
}

// Runs `body(request)` in 200 orders, the first of which is ascending; every tenth with the race check.
template <typename Body> void inEveryOrder(TestLaunch &launch, Body body) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    launch.request.seed = seed;
    launch.request.races = seed % 10 < 2;
    std::optional<Finding> finding = launch.run();
    ASSERT_FALSE(finding) << "seed " << seed << ": " << finding->text;
    body();
    if (testing::Test::HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

TEST(Engine, AddsVectors) {
  std::vector<float> a = numbers(1000), b = numbers(1000), out(1000);
  TestLaunch launch(loadKernels("basics"), "add");
  launch << a << b << out << 1000;
  launch.request.grid = {8};
  launch.request.block = {128};
  inEveryOrder(launch, [&] {
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], a[i] + b[i]);
  });
}

TEST(Engine, SumsRows) {
  std::vector<float> in = numbers(16 * 500), out(16);
  TestLaunch launch(loadKernels("basics"), "row_sums");
  EXPECT_EQ(launch.request.kernel->staticShared, 128u);
  launch << in << out << 500;
  launch.request.grid = {16};
  launch.request.block = {256};
  inEveryOrder(launch, [&] {
    for (size_t row = 0; row < out.size(); ++row)
      ASSERT_EQ(out[row], std::accumulate(&in[row * 500], &in[row * 500] + 500, 0.0f));
  });
}

TEST(Engine, SumsInDynamicSharedMemory) {
  std::vector<float> in = numbers(4 * 128 * 4), out(4 * 4);
  TestLaunch launch(loadKernels("basics"), "tree_sum");
  launch << in << out;
  launch.request.grid = {4};
  launch.request.block = {128};
  launch.request.dynamicShared = 128 * 16;
  inEveryOrder(launch, [&] {
    for (size_t block = 0; block < 4; ++block)
      for (size_t part = 0; part < 4; ++part) {
        float sum = 0;
        for (size_t i = 0; i < 128; ++i)
          sum += in[block * 512 + i * 4 + part];
        ASSERT_EQ(out[block * 4 + part], sum);
      }
  });
}

TEST(Engine, PassesStructures) {
  struct Scale {
    float by;
    long offset;
  };
  std::vector<float> data(100, 2);
  TestLaunch launch(loadKernels("basics"), "scale");
  launch << data << Scale{3, 5} << 100;
  launch.request.block = {128};
  ASSERT_FALSE(launch.run());
  EXPECT_EQ(data, std::vector<float>(100, 11));
}

TEST(Engine, LanesExchange) {
  std::vector<float> in = numbers(32), out(320);
  TestLaunch launch(loadKernels("good"), "warp_operations");
  launch << in << out;
  launch.request.block = {32};
  inEveryOrder(launch, [&] {
    for (int i = 0; i < 32; ++i) {
      ASSERT_EQ(out[i], in[i < 3 ? i : i - 3]);
      ASSERT_EQ(out[32 + i], in[i + 5 > 31 ? i : i + 5]);
      ASSERT_EQ(out[64 + i], in[7]);
      ASSERT_EQ(out[96 + i], in[i ^ 9]);
      ASSERT_EQ(out[128 + i], in[i / 8 * 8 + 1]);
      ASSERT_EQ(out[160 + i], in[i] > 0);
      ASSERT_EQ(out[192 + i], 3);
      ASSERT_EQ(out[224 + i], 4);
      ASSERT_EQ(out[256 + i], 496 + 31);
      ASSERT_EQ(out[288 + i], in[i < 8 ? i ^ 1 : i ^ 3]);
    }
  });
}

TEST(Engine, WarpsAndHalvesOfBlocksExchange) {
  std::vector<float> in = numbers(128), out(128);
  auto image = loadKernels("good");
  TestLaunch exchange(image, "warp_exchange");
  exchange << in << out;
  exchange.request.block = {128};
  inEveryOrder(exchange, [&] {
    for (int i = 0; i < 128; ++i)
      ASSERT_EQ(out[i], in[i ^ 31] + 3);
  });
  TestLaunch halves(image, "named_barriers");
  halves << in << out;
  halves.request.block = {128};
  inEveryOrder(halves, [&] {
    for (int i = 0; i < 128; ++i)
      ASSERT_EQ(out[i], in[i ^ 63] + 2);
  });
}

TEST(Engine, BarriersReduce) {
  std::vector<float> in = numbers(96), out(96);
  TestLaunch launch(loadKernels("good"), "barrier_reductions");
  launch << in << out;
  launch.request.block = {96};
  float positive = 0;
  for (float value : in)
    positive += value > 0;
  inEveryOrder(launch, [&] { ASSERT_EQ(out, std::vector<float>(96, positive * 4 + 2)); });
}

TEST(Engine, TheLastBlockSumsUp) {
  std::vector<float> in = numbers(10 * 128), out(1), partial(10);
  TestLaunch launch(loadKernels("good"), "last_block");
  launch << in << out << partial;
  launch.request.grid = {10};
  launch.request.block = {128};
  inEveryOrder(launch, [&] {
    ASSERT_EQ(out[0], std::accumulate(in.begin(), in.end(), 0.0f));
    out[0] = 0;
  });
}

TEST(Engine, BlocksWaitForOneAnother) {
  std::vector<float> in = numbers(12), out(1);
  TestLaunch launch(loadKernels("good"), "chain");
  launch << in << out;
  launch.request.grid = {12};
  launch.request.block = {32};
  float expected = 0;
  for (float value : in)
    expected = expected * 2 + value;
  inEveryOrder(launch, [&] {
    ASSERT_EQ(out[0], expected);
    out[0] = 0;
  });
}

TEST(Engine, CopiesLandWhenWaitedFor) {
  std::vector<float> in = numbers(256 * 6), out(64);
  TestLaunch launch(loadKernels("good"), "pipeline");
  launch << in << out << 6;
  launch.request.block = {64};
  inEveryOrder(launch, [&] {
    for (int i = 0; i < 64; ++i) {
      float sum = 0;
      for (int tile = 0; tile < 6; ++tile)
        for (int part = 0; part < 4; ++part)
          sum += in[tile * 256 + (63 - i) * 4 + part];
      ASSERT_EQ(out[i], sum);
    }
  });
}

uint16_t bfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits >> 16;
}

// Small whole numbers, which every type holds exactly.
template <typename T, typename Convert> void multiply(const char *kernel, int depth, Convert convert) {
  std::vector<float> a(16 * depth), b(8 * depth), out(128);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i * 5 % 13) - 6;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(i * 3 % 11) - 5;
  std::vector<T> narrowA, narrowB;
  for (float value : a)
    narrowA.push_back(convert(value));
  for (float value : b)
    narrowB.push_back(convert(value));
  TestLaunch launch(loadKernels("good"), kernel);
  launch << narrowA << narrowB << out;
  launch.request.block = {32};
  inEveryOrder(launch, [&] {
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        float sum = 1;
        for (int k = 0; k < depth; ++k)
          sum += a[row * depth + k] * b[column * depth + k];
        ASSERT_EQ(out[row * 8 + column], sum) << row << ", " << column;
      }
  });
}

TEST(Engine, MultipliesMatrices) {
  multiply<uint16_t>("product_bf16", 16, bfloat);
  multiply<uint16_t>("product_f16", 16, [](float value) {
    _Float16 half = value;
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    return bits;
  });
  multiply<float>("product_tf32", 8, [](float value) { return value; });
}

// What wgmma gives: out [64, 16] = a [64, 64] * b [16, 64]^T of small integers as bfloat16.
struct WideProduct {
  std::vector<uint16_t> a, b;
  std::vector<float> out, expected;
  WideProduct() : a(64 * 64), b(16 * 64), out(64 * 16), expected(64 * 16) {
    auto fill = [](std::vector<uint16_t> &to, int by) {
      for (size_t i = 0; i < to.size(); ++i) {
        float value = float(int(i) * by % 13 - 6);
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        to[i] = uint16_t(bits >> 16);
      }
    };
    auto value = [](uint16_t bits) {
      uint32_t wide = uint32_t(bits) << 16;
      float result;
      std::memcpy(&result, &wide, 4);
      return result;
    };
    fill(a, 7);
    fill(b, 5);
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < 16; ++column)
        for (int k = 0; k < 64; ++k)
          expected[row * 16 + column] += value(a[row * 64 + k]) * value(b[column * 64 + k]);
  }
};

TEST(Engine, MultipliesWarpgroupsInEveryLayout) {
  for (int mode = 0; mode < 4; ++mode) {
    WideProduct product;
    TestLaunch launch(loadKernels("good"), "wgmma_layouts");
    launch << product.a << product.b << product.out << mode;
    launch.request.block = {128};
    inEveryOrder(launch, [&] { ASSERT_EQ(product.out, product.expected) << "mode " << mode; });
  }
}

TEST(Engine, MultipliesWarpgroupsBesideCopies) {
  WideProduct product;
  TestLaunch launch(loadKernels("good"), "wgmma_pipeline");
  launch << product.a << product.b << product.out;
  launch.request.block = {128};
  inEveryOrder(launch, [&] { ASSERT_EQ(product.out, product.expected); });
}

TEST(Engine, TransposesMatrices) {
  std::vector<uint16_t> in(256), out(256);
  std::iota(in.begin(), in.end(), 0);
  TestLaunch launch(loadKernels("good"), "transpose");
  launch << in << out;
  launch.request.block = {32};
  inEveryOrder(launch, [&] {
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 16; ++column)
        ASSERT_EQ(out[column * 16 + row], in[row * 16 + column]) << row << ", " << column;
  });
}

TEST(Engine, CountsAtomically) {
  std::vector<uint32_t> out(4);
  TestLaunch launch(loadKernels("good"), "atomics");
  launch << out;
  launch.request.grid = {7};
  launch.request.block = {64};
  inEveryOrder(launch, [&] {
    float sum;
    std::memcpy(&sum, &out[3], 4);
    ASSERT_EQ(out[0], 448u);
    ASSERT_EQ(out[1], 63u);
    ASSERT_EQ(out[2], 896u);
    ASSERT_EQ(sum, 224.0f);
    std::fill(out.begin(), out.end(), 0);
  });
}

TEST(Engine, ComputesWhatOnlyTheDeviceHas) {
  std::vector<float> in(64), out(704);
  for (int i = 0; i < 64; ++i)
    in[i] = float(i - 32) * 0.37f;
  TestLaunch launch(loadKernels("good"), "arithmetic");
  launch << in << out;
  launch.request.block = {64};
  auto finding = launch.run();
  ASSERT_FALSE(finding) << finding->text;
  for (int i = 0; i < 64; ++i) {
    float x = in[i], y = x * x + 1;
    EXPECT_NEAR(out[i], std::exp2(x), 1e-6f * std::exp2(x));
    EXPECT_NEAR(out[64 + i], std::log2(y), 1e-5f);
    EXPECT_NEAR(out[128 + i], 1 / y, 1e-6f);
    EXPECT_NEAR(out[192 + i], 1 / std::sqrt(y), 1e-6f);
    EXPECT_EQ(out[256 + i], std::fma(x, x, 0.25f));
    EXPECT_EQ(out[320 + i], x);
    EXPECT_NEAR(out[384 + i], x, std::fabs(x) / 2048);
    EXPECT_NEAR(out[448 + i], x, std::fabs(x) / 256);
    EXPECT_NEAR(out[512 + i], x, std::fabs(x) / 2048);
    EXPECT_EQ(out[640 + i], float(0x2200));
  }
}

TEST(Engine, CallsFunctionsAndPassesLocalMemory) {
  std::vector<float> in = numbers(64), out(32);
  TestLaunch launch(loadKernels("good"), "calls");
  launch << in << out;
  launch.request.block = {32};
  inEveryOrder(launch, [&] {
    for (int i = 0; i < 32; ++i) {
      float local[4] = {1, 2, 3, 4}, sum = 0;
      for (int k = 0; k < 8; ++k) {
        local[k % 4] += in[i + k];
        sum += local[(k + 1) % 4];
      }
      ASSERT_EQ(out[i], sum);
    }
  });
}

TEST(Engine, CallsTheHostsLibraries) {
  std::vector<float> in(32), out(128);
  for (int i = 0; i < 32; ++i)
    in[i] = float(i - 16) * 0.3f;
  TestLaunch launch(loadKernels("good"), "library_calls");
  launch << in << out << (1ul << 60);
  launch.request.block = {32};
  auto finding = launch.run();
  ASSERT_FALSE(finding) << finding->text;
  for (int i = 0; i < 32; ++i) {
    EXPECT_NEAR(out[i], std::sin(in[i]) * std::cos(in[i]), 1e-6f);
    EXPECT_NEAR(out[32 + i], in[i] * in[i] * in[i], 1e-4f);
    EXPECT_EQ(out[64 + i], float(i * 16));
    EXPECT_NEAR(out[96 + i], std::fmod(in[i], 0.75f), 1e-6f);
  }
}

TEST(Engine, KnowsRegistersAndRoundings) {
  std::vector<float> in(32);
  for (int i = 0; i < 32; ++i)
    in[i] = float(i - 16) * 0.5f;
  std::vector<int> out(256);
  TestLaunch launch(loadKernels("good"), "registers_and_rounding");
  launch << in << out;
  launch.request.block = {32};
  inEveryOrder(launch, [&] {
    for (int i = 0; i < 32; ++i) {
      ASSERT_EQ(out[i], 3);
      ASSERT_EQ(out[32 + i], 0);
      ASSERT_EQ(out[64 + i], int(std::nearbyint(in[i])));
      ASSERT_EQ(out[96 + i], int(in[i]));
      ASSERT_EQ(out[128 + i], int(std::floor(in[i])));
      ASSERT_EQ(out[160 + i], int((int64_t(in[i] * 1000) * (1 << 24)) >> 32));
      ASSERT_EQ(out[192 + i], 33);
      ASSERT_EQ(out[224 + i], i % 2 == 0);
    }
  });
}

TEST(Engine, Prints) {
  TestLaunch launch(loadKernels("good"), "prints");
  launch << 7;
  testing::internal::CaptureStdout();
  auto finding = launch.run();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "7 0.50 text %\n");
  EXPECT_FALSE(finding);
}

TEST(Engine, GivesEachImageVariablesOfItsOwn) {
  auto one = loadKernels("good"), other = loadKernels("good");
  const DeviceGlobal *first = one->global("count"), *second = other->global("count");
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->address, second->address);
  EXPECT_EQ(first->bytes, 4u);
  EXPECT_EQ(one->global("nothing"), nullptr);
  EXPECT_EQ(one->kernel("nothing"), nullptr);
}

TEST(Engine, RefusesWhatIsNoDeviceCode) {
  auto image = Image::load(std::string(STANDIN_KERNEL_SOURCES) + "/good.c");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.failure().message().rfind("cannot load kernels", 0), 0u) << image.failure().message();
  EXPECT_FALSE(Image::load("/nowhere/at/all.bc"));
}

} // namespace
} // namespace standin
