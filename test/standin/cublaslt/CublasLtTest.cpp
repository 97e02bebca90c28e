// The stand-in of cuBLASLt: its numbers, and the calls that it refuses. Work runs at once, in memory of the
// host.
#include "../cuda/Work.h"
#include "MoreFunctions.h"
#include "tessera/runtime/io/DType.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace tessera::cuda {
TESSERA_CUBLASLT_DECLARE_FUNCTIONS
extern "C" {
STANDIN_MORE_CUBLASLT_FUNCTIONS(TESSERA_CUBLASLT_DECLARE_FUNCTION)
}
} // namespace tessera::cuda
using namespace tessera::cuda;

static std::vector<StandinAccess> lastAccesses;

extern "C" int standinEnqueue(::CUstream_st *, const StandinWork *work) {
  lastAccesses.assign(work->accesses, work->accesses + work->accessCount);
  void *run = work->begin(work->context);
  int done = work->advance(run);
  work->release(work->context);
  return done == 1 ? 0 : 719;
}

namespace {

// y[m, n] = x[m, k] . w[n, k]^T, as the runtime asks for it.
class CublasLtStandin : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    describe(CUDA_R_32F, CUDA_R_32F);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(int(i * 7 % 11) - 5);
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = float(int(i * 5 % 13) - 6);
  }
  void TearDown() override {
    unsetenv("TESSERA_STANDIN_ALGORITHMS");
    forget();
    EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS);
  }
  void describe(cudaDataType in, cudaDataType out, uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT) {
    forget();
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    int32_t transposed = CUBLAS_OP_T;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, 4);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 4);
    cublasLtMatrixLayoutCreate(&a, in, k, n, int64_t(k));
    cublasLtMatrixLayoutCreate(&b, in, k, m, int64_t(k));
    cublasLtMatrixLayoutCreate(&d, out, n, m, int64_t(n));
    cublasLtMatmulPreferenceCreate(&preference);
    uint64_t most = sizeof(workspace);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, 8);
  }
  void forget() {
    if (!desc)
      return;
    cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t layout : {a, b, d})
      cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
    desc = nullptr;
  }
  std::vector<cublasLtMatmulHeuristicResult_t> propose(int most = 8) {
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(most));
    int found = 0;
    if (cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, d, d, preference, most, results.data(), &found) !=
        CUBLAS_STATUS_SUCCESS)
      found = 0;
    results.resize(size_t(found));
    return results;
  }
  cublasStatus_t run(const cublasLtMatmulAlgo_t &algo, const void *x, const void *w, void *y, float beta = 0,
                     size_t bytes = sizeof(workspace)) {
    float alpha = 1;
    return cublasLtMatmul(handle, desc, &alpha, w, a, x, b, &beta, y, d, y, d, &algo, workspace, bytes,
                          nullptr);
  }
  float sum(uint64_t i, uint64_t j) const {
    float total = 0;
    for (uint64_t l = 0; l < k; ++l)
      total += x[i * k + l] * w[j * k + l];
    return total;
  }

  static constexpr uint64_t m = 3, n = 4, k = 40;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  std::vector<float> x = std::vector<float>(m * k), w = std::vector<float>(n * k),
                     y = std::vector<float>(m * n, NAN);
  alignas(256) char workspace[4096];
};

TEST_F(CublasLtStandin, RowMajorProducts) {
  setenv("TESSERA_STANDIN_ALGORITHMS", "3", 1);
  auto found = propose();
  ASSERT_GE(found.size(), 3u);
  found.resize(3);
  for (const auto &result : found) {
    std::fill(y.begin(), y.end(), NAN);
    ASSERT_EQ(run(result.algo, x.data(), w.data(), y.data()), CUBLAS_STATUS_SUCCESS);
    for (uint64_t i = 0; i < m; ++i)
      for (uint64_t j = 0; j < n; ++j)
        ASSERT_EQ(y[i * n + j], sum(i, j)) << i << " " << j;
    EXPECT_EQ(lastAccesses.size(), result.workspaceSize ? 4u : 3u);
    EXPECT_EQ(lastAccesses[0].bytes, n * k * 4);
    EXPECT_EQ(lastAccesses[2].bytes, m * n * 4);
    EXPECT_EQ(lastAccesses[2].writes, 1);
  }
}

// A setting that is none is not taken for another.
TEST_F(CublasLtStandin, ANumberOfAlgorithmsThatIsNone) {
  for (const char *bad : {"many", "0", "3x"}) {
    setenv("TESSERA_STANDIN_ALGORITHMS", bad, 1);
    EXPECT_TRUE(propose().empty()) << bad;
  }
  setenv("TESSERA_STANDIN_ALGORITHMS", "", 1);
  EXPECT_EQ(propose().size(), 1u);
}

// Algorithms that round in between say so, and do.
TEST_F(CublasLtStandin, RoughAlgorithms) {
  setenv("TESSERA_STANDIN_ALGORITHMS", "2", 1);
  auto numerics = [](const cublasLtMatmulHeuristicResult_t &result) {
    uint64_t flags = 0;
    size_t written = 0;
    cublasLtMatmulAlgoCapGetAttribute(&result.algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, 8,
                                      &written);
    return flags;
  };
  std::fill(x.begin(), x.end(), 1.0f);
  std::fill(w.begin(), w.end(), 4097.0f);
  auto found = propose();
  ASSERT_EQ(found.size(), 4u); // plain, in two parts, TF32, parts in D's type
  EXPECT_FALSE(numerics(found[0]) & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32);
  EXPECT_TRUE(numerics(found[2]) & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32);
  ASSERT_EQ(run(found[2].algo, x.data(), w.data(), y.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(y[0], 40 * 4096.0f);
  uint32_t computeType = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &computeType,
                                       4);
  EXPECT_EQ(propose().size(), 3u);
  describe(CUDA_R_16F, CUDA_R_16F);
  found = propose();
  EXPECT_TRUE(numerics(found[2]) & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F);
  std::vector<_Float16> ones(m * k, _Float16(1)), large(n * k, _Float16(1)), half(m * n);
  for (uint64_t i = 0; i < n; ++i)
    large[i * k] = _Float16(2048), large[i * k + k - 1] = _Float16(-2048);
  for (const auto &[which, sum] : {std::pair<size_t, float>(0, 38), {2, 0}}) {
    ASSERT_EQ(run(found[which].algo, ones.data(), large.data(), half.data()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(float(half[0]), sum);
  }
}

TEST_F(CublasLtStandin, NarrowTypes) {
  for (auto type : {tessera::io::DType::BF16, tessera::io::DType::F16})
    for (bool wide : {false, true}) {
      cudaDataType in = type == tessera::io::DType::BF16 ? CUDA_R_16BF : CUDA_R_16F;
      describe(in, wide ? CUDA_R_32F : in);
      std::vector<uint16_t> x16(x.size()), w16(w.size()), y16(m * n * 2);
      const auto &traits = tessera::io::traits(type);
      traits.narrow(x.data(), int64_t(x.size()), x16.data());
      traits.narrow(w.data(), int64_t(w.size()), w16.data());
      ASSERT_EQ(run(propose()[0].algo, x16.data(), w16.data(), y16.data()), CUBLAS_STATUS_SUCCESS);
      if (wide)
        memcpy(y.data(), y16.data(), m * n * 4);
      else
        traits.widen(y16.data(), int64_t(m * n), y.data());
      for (uint64_t i = 0; i < m; ++i)
        for (uint64_t j = 0; j < n; ++j)
          EXPECT_NEAR(y[i * n + j], sum(i, j), wide ? 0 : std::fabs(sum(i, j)) / 128);
    }
}

TEST_F(CublasLtStandin, Epilogues) {
  std::vector<float> bias = {1, -2, 3, -400};
  const float *address = bias.data();
  describe(CUDA_R_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_RELU_BIAS);
  cublasLtMatmulAlgo_t algo = propose()[0].algo;
  EXPECT_EQ(run(algo, x.data(), w.data(), y.data()), CUBLAS_STATUS_INVALID_VALUE); // no bias given
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address, sizeof(address));
  std::fill(y.begin(), y.end(), 0.5f);
  ASSERT_EQ(run(algo, x.data(), w.data(), y.data(), /*beta=*/1), CUBLAS_STATUS_SUCCESS);
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < n; ++j)
      EXPECT_EQ(y[i * n + j], std::max(sum(i, j) + 0.5f + bias[j], 0.0f));
  describe(CUDA_R_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_GELU);
  std::fill(w.begin(), w.end(), 0.01f);
  ASSERT_EQ(run(propose()[0].algo, x.data(), w.data(), y.data()), CUBLAS_STATUS_SUCCESS);
  float v = sum(1, 2);
  EXPECT_NEAR(y[1 * n + 2], 0.5f * v * (1 + std::tanh(0.79788456f * (v + 0.044715f * v * v * v))), 1e-6);
}

TEST_F(CublasLtStandin, RefusesWhatCannotBe) {
  setenv("TESSERA_STANDIN_ALGORITHMS", "2", 1);
  auto found = propose();
  ASSERT_GE(found.size(), 2u);
  // Less aligned than the algorithm was promised.
  std::vector<float> shifted(w.size() + 1);
  EXPECT_EQ(run(found[0].algo, x.data(), shifted.data() + 1, y.data()), CUBLAS_STATUS_INVALID_VALUE);
  // A workspace that is too small.
  EXPECT_EQ(run(found[1].algo, x.data(), w.data(), y.data(), 0, 16), CUBLAS_STATUS_INVALID_VALUE);
  // A result where the operands are.
  EXPECT_EQ(run(found[0].algo, x.data(), w.data(), x.data() + 4), CUBLAS_STATUS_INVALID_VALUE);
  // An algorithm of another product, and one that is none.
  cublasLtMatmulAlgo_t none = {};
  EXPECT_EQ(run(none, x.data(), w.data(), y.data()), CUBLAS_STATUS_INVALID_VALUE);
  describe(CUDA_R_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_RELU);
  EXPECT_EQ(run(found[0].algo, x.data(), w.data(), y.data()), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulHeuristicResult_t result;
  EXPECT_EQ(cublasLtMatmulAlgoCheck(handle, desc, a, b, d, d, &found[0].algo, &result),
            CUBLAS_STATUS_NOT_SUPPORTED);
  // Sizes and leading dimensions that do not fit.
  int64_t leading = 1;
  cublasLtMatrixLayoutSetAttribute(b, CUBLASLT_MATRIX_LAYOUT_LD, &leading, 8);
  EXPECT_TRUE(propose().empty());
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(b, CUBLASLT_MATRIX_LAYOUT_LD, &leading, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  describe(CUDA_R_32F, CUDA_R_32F);
  uint64_t columns = m + 1;
  cublasLtMatrixLayoutSetAttribute(d, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, 8);
  EXPECT_TRUE(propose().empty());
  // Types that the library has no code for.
  describe(CUDA_R_32F, CUDA_R_16BF);
  EXPECT_TRUE(propose().empty());
}

TEST_F(CublasLtStandin, HandlesAreChecked) {
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtHandle_t other = nullptr;
  EXPECT_EQ(cublasLtDestroy(other), CUBLAS_STATUS_INVALID_VALUE);
}

} // namespace
