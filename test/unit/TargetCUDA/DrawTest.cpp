// Threads of a block that draw a token together, in all orders that the engine of the stand-in tries. Which
// tokens they draw test/unit/Kernels/DrawKernelTest.cpp holds.
#include "DeviceHarness.h"

#include "tessera/Target/CUDA/DrawKernel.h"

#include "gtest/gtest.h"

#include <numeric>
#include <vector>

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr int64_t kRows = 2, kVocab = 600; // a block of 512 threads: some have two ids

class Draws {
public:
  Draws() {
    for (int64_t i = 0; i < kRows * kVocab; ++i)
      logits.push_back(float(i * 7919 % 1000) / 100);
    memory.add(logits.data(), logits.size() * 4, false);
    memory.add(rows.data(), sizeof(int32_t) * kRows, false);
    memory.add(&seed, sizeof(seed), false);
    memory.add(&temperature, sizeof(temperature), false);
    memory.add(&topK, sizeof(topK), false);
    memory.add(&topP, sizeof(topP), false);
    memory.add(&minP, sizeof(minP), false);
    memory.add(ids.data(), sizeof(int32_t) * kRows, true);
    memory.add(scratch.data(), scratch.size() * 8, true);
  }
  std::string run(const DeviceKernels &kernels, uint64_t order, bool cut) {
    topK = cut ? 500 : 0;
    topP = cut ? 0.9 : 1;
    minP = cut ? 0.01 : 0;
    return kernels.run("draw",
                       {logits.data(), rows.data(), rows.data(), &seed, &temperature, &topK, &topP, &minP,
                        ids.data(), scratch.data()},
                       {}, kRows, memory, order, /*races=*/true);
  }

  std::vector<int32_t> ids = std::vector<int32_t>(kRows, -7);

private:
  std::vector<float> logits;
  std::vector<int32_t> rows = std::vector<int32_t>(kRows, 3);
  std::vector<int64_t> scratch = std::vector<int64_t>(kRows * 2 * kVocab);
  int64_t seed = 5;
  double temperature = 2, topP = 1, minP = 0;
  int32_t topK = 0;
  DeviceMemory memory;
};

DeviceKernels compile() {
  DeviceKernels kernels = DeviceKernels::compile([](mlir::ModuleOp module) {
    mlir::Builder b(module.getContext());
    module.push_back(buildCUDADrawKernel(b.getUnknownLoc(), "draw", {kRows, kVocab, b.getF32Type()}));
  });
  EXPECT_EQ(kernels.error, "");
  return kernels;
}

TEST(DrawOrder, SameTokensInEveryOrder) {
  DeviceKernels kernels = compile();
  for (bool cut : {false, true}) {
    Draws draws;
    std::vector<int32_t> first;
    for (uint64_t order = 1; order <= 10; ++order) {
      ASSERT_EQ(draws.run(kernels, order, cut), "");
      if (first.empty())
        first = draws.ids;
      EXPECT_EQ(draws.ids, first) << "order " << order << (cut ? ", cut" : "");
    }
  }
}

TEST(DrawOrder, EverySynchronizationIsNeeded) {
  DeviceKernels kernels = compile();
  std::vector<std::string> all = kernels.synchronizations();
  EXPECT_GE(all.size(), 6u);
  for (size_t i = 0; i < all.size(); ++i) {
    DeviceKernels broken = kernels.without(i);
    Draws draws;
    std::string finding;
    for (uint64_t order = 1; order <= 5 && finding.empty(); ++order)
      for (bool cut : {false, true})
        if (finding.empty())
          finding = draws.run(broken, order, cut);
    EXPECT_NE(finding, "") << "without " << all[i] << ", number " << i;
  }
}

} // namespace
