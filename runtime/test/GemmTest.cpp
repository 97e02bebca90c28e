#include "tessera/runtime/cpu/Gemm.h"
#include "GemmKernels.h"
#include "tessera/runtime/core/Wait.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace tessera::runtime {

static std::vector<float> randomVector(int64_t n, int seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> v(n);
  for (float &x : v)
    x = uniform(rng);
  return v;
}

static void checkProduct(int64_t m, int64_t n, int64_t k, bool packed, int threads) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " packed " << packed
                                  << " threads " << threads);
  ThreadPool pool(threads);
  std::vector<float> x = randomVector(m * k, 1), w = randomVector(n * k, 2);
  std::vector<float> y(m * n + 1, 123.0f);
  PackedLayout layout(n, k);
  Memory packedData(layout.elements() * 4, "test");
  float *p = reinterpret_cast<float *>(packedData.data());
  for (int64_t i = 0; i < n; i += layout.block)
    layout.packRows(i, std::min(layout.block, n - i), w.data() + i * k, p);
  std::vector<float> row(k);
  for (int64_t i = 0; i < n; ++i) {
    layout.unpackRow(i, p, row.data());
    ASSERT_EQ(row, std::vector<float>(w.begin() + i * k, w.begin() + (i + 1) * k));
  }
  Gemm gemm(m, n, k, packed, pool);
  for (int round = 0; round < 2; ++round)
    gemm.run(x.data(), packed ? p : w.data(), y.data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double want = 0;
      for (int64_t l = 0; l < k; ++l)
        want += double(x[i * k + l]) * w[j * k + l];
      ASSERT_NEAR(y[i * n + j], want, 1e-5 * std::sqrt(double(k)) + 1e-6)
          << i << ", " << j << " by " << gemm.implementation();
    }
  EXPECT_EQ(y.back(), 123.0f);
}

TEST(Gemm, AllShapesAgainstPlainLoops) {
  setBusyThreads(1000);
  for (int threads : {1, 2, 3})
    for (bool packed : {true, false})
      for (int64_t m : {1, 2, 3, 4, 6, 7, 13, 33, 128})
        for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1},
                            {16, 16},
                            {27, 80},
                            {80, 27},
                            {64, 48},
                            {192, 577},
                            {389, 48},
                            {257, 130},
                            {130, 300}})
          checkProduct(m, n, k, packed, threads);
}

TEST(Gemm, ManyRowsDoNotFallBackToReferenceCode) {
  ThreadPool pool(2);
  for (bool packed : {true, false})
    for (auto [n, k] : {std::pair<int64_t, int64_t>{576, 576}, {192, 576}, {27, 80}, {49152, 64}}) {
      Gemm gemm(128, n, k, packed, pool);
      EXPECT_NE(std::string(gemm.implementation()).substr(0, 3), "ref");
    }
}

TEST(Gemm, EmptyInnerDimensionGivesZeros) {
  ThreadPool pool(1);
  std::vector<float> y(6, 5.0f);
  Gemm(2, 3, 0, true, pool).run(nullptr, nullptr, y.data());
  EXPECT_EQ(y, std::vector<float>(6, 0.0f));
}

#if defined(__x86_64__)
extern const GemmKernels gemmKernelsBaseline, gemmKernelsAvx2, gemmKernelsAvx512;

// Machines differ; the code for all of them must be right on this one, as far as it can run them.
TEST(Gemm, KernelsOfEveryInstructionSet) {
  std::vector<const GemmKernels *> sets = {&gemmKernelsBaseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets.push_back(&gemmKernelsAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    sets.push_back(&gemmKernelsAvx512);
  for (const GemmKernels *kernels : sets)
    for (int64_t m : {1, 2, 5, 6, 11})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {17, 33}, {64, 48}, {150, 577}}) {
        std::vector<float> x = randomVector(m * k, 1), w = randomVector(n * k, 2), y(m * n), z(m * n);
        PackedLayout layout(n, k);
        std::vector<float> packed(layout.elements());
        for (int64_t i = 0; i < n; ++i)
          layout.packRow(i, w.data() + i * k, packed.data());
        PackedWeight weight = {layout.n, layout.k, layout.block, layout.paddedN, layout.paddedK};
        int64_t units = (n + 15) / 16;
        // In two uneven shares of the columns.
        kernels->packedColumns(weight, packed.data(), m, x.data(), y.data(), 0, units / 3);
        kernels->packedColumns(weight, packed.data(), m, x.data(), y.data(), units / 3, units);
        kernels->plainColumns(m, n, k, x.data(), w.data(), z.data(), 0, n / 3);
        kernels->plainColumns(m, n, k, x.data(), w.data(), z.data(), n / 3, n);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double want = 0;
            for (int64_t l = 0; l < k; ++l)
              want += double(x[i * k + l]) * w[j * k + l];
            ASSERT_NEAR(y[i * n + j], want, 1e-5 * std::sqrt(double(k)));
            ASSERT_NEAR(z[i * n + j], want, 1e-5 * std::sqrt(double(k)));
          }
      }
}
#endif

} // namespace tessera::runtime
