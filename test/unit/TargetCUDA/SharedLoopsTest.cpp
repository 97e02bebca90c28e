// Rounds of a loop that say that they write apart run on groups of threads at once; that they do not is
// found.
#include "DeviceHarness.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

namespace tessera::test {
namespace {

constexpr int64_t kRows = 5, kRow = 12, kPlaces = 16;

/// A row of `x` twice as large goes to the place in `y` that `at` says, if it is one.
DeviceKernels compileRows() {
  return DeviceKernels::compile([](mlir::ModuleOp module) {
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(R"(
      func.func private @rows(%x: tensor<5x12xf32>, %at: tensor<5xi32>, %y: tensor<16x12xf32>, %begin: index, %end: index) -> tensor<16x12xf32> attributes {tessera.kernel} {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c5 = arith.constant 5 : index
        %c16 = arith.constant 16 : index
        %e = tensor.empty() : tensor<5x12xf32>
        %twice = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x12xf32>) outs(%e : tensor<5x12xf32>) {
        ^bb0(%a: f32, %o: f32):
          %s = arith.addf %a, %a : f32
          linalg.yield %s : f32
        } -> tensor<5x12xf32>
        %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%out = %y) -> (tensor<16x12xf32>) {
          %p = tensor.extract %at[%i] : tensor<5xi32>
          %place = arith.index_cast %p : i32 to index
          %inside = arith.cmpi ult, %place, %c16 : index
          %next = scf.if %inside -> (tensor<16x12xf32>) {
            %row = tensor.extract_slice %twice[%i, 0] [1, 12] [1, 1] : tensor<5x12xf32> to tensor<12xf32>
            %old = tensor.extract_slice %out[%place, 0] [1, 12] [1, 1] : tensor<16x12xf32> to tensor<12xf32>
            %copied = linalg.copy ins(%row : tensor<12xf32>) outs(%old : tensor<12xf32>) -> tensor<12xf32>
            %written = tensor.insert_slice %copied into %out[%place, 0] [1, 12] [1, 1] : tensor<12xf32> into tensor<16x12xf32>
            scf.yield %written : tensor<16x12xf32>
          } else {
            scf.yield %out : tensor<16x12xf32>
          }
          scf.yield %next : tensor<16x12xf32>
        } {tessera.apart}
        return %r : tensor<16x12xf32>
      })",
                                                          module.getContext());
    ASSERT_TRUE(parsed);
    module.getBodyRegion().takeBody(parsed->getBodyRegion());
  });
}

/// The finding of one launch, or nothing; `y` is what it leaves.
std::string run(const DeviceKernels &kernels, std::vector<int32_t> at, std::vector<float> &y, uint64_t seed) {
  std::vector<float> x(size_t(kRows * kRow));
  std::iota(x.begin(), x.end(), 1.0f);
  y.assign(size_t(kPlaces * kRow), -1.0f);
  DeviceMemory memory;
  memory.add(x.data(), x.size() * sizeof(float), false);
  memory.add(at.data(), at.size() * sizeof(int32_t), false);
  memory.add(y.data(), y.size() * sizeof(float), true);
  return kernels.run("rows", {x.data(), at.data(), y.data()}, {}, 1, memory, seed, /*races=*/true);
}

TEST(SharedLoops, RowsGoToTheirPlaces) {
  DeviceKernels kernels = compileRows();
  ASSERT_EQ(kernels.error, "");
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<float> y;
    std::vector<int32_t> at = {7, -1, 0, 15, 3};
    ASSERT_EQ(run(kernels, at, y, seed), "");
    for (int64_t place = 0; place < kPlaces; ++place)
      for (int64_t i = 0; i < kRow; ++i) {
        auto row = std::find(at.begin(), at.end(), int32_t(place)) - at.begin();
        float expected = row == kRows ? -1.0f : 2.0f * float(row * kRow + i + 1);
        ASSERT_EQ(y[size_t(place * kRow + i)], expected) << place << " " << i;
      }
  }
}

TEST(SharedLoops, RowsOfOnePlaceAreARace) {
  DeviceKernels kernels = compileRows();
  ASSERT_EQ(kernels.error, "");
  std::vector<float> y;
  std::string finding = run(kernels, {7, -1, 0, 7, 3}, y, 1);
  EXPECT_NE(finding.find("race"), std::string::npos) << finding;
}

TEST(SharedLoops, RowsWaitForWhatTheyRead) {
  DeviceKernels kernels = compileRows();
  ASSERT_EQ(kernels.error, "");
  ASSERT_EQ(kernels.synchronizations().size(), 1u);
  std::string finding;
  for (uint64_t seed = 1; seed <= 20 && finding.empty(); ++seed) {
    std::vector<float> y;
    finding = run(kernels.without(0), {7, -1, 0, 15, 3}, y, seed);
  }
  EXPECT_NE(finding, "");
}

} // namespace
} // namespace tessera::test
