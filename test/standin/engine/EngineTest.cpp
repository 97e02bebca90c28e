// Kernels in C, compiled by clang for NVPTX and run by the engine: the right numbers in every order.
#include "engine/Engine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>

namespace standin {
namespace {

// What kernels may touch in these tests: a few vectors.
class TestMemory : public MemoryMap {
public:
  template <typename T> T *add(std::vector<T> &data) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(data.data());
    ranges[begin] = {begin, begin + data.size() * sizeof(T), true};
    return data.data();
  }
  std::optional<MemoryRange> find(uintptr_t address) const override {
    auto after = ranges.upper_bound(address);
    if (after == ranges.begin() || std::prev(after)->second.end <= address)
      return std::nullopt;
    return std::prev(after)->second;
  }

private:
  std::map<uintptr_t, MemoryRange> ranges;
};

// Lays out the arguments of a launch.
class Arguments {
public:
  explicit Arguments(const Kernel &kernel) : kernel(kernel), bytes(kernel.parameterBytes + 1) {}
  template <typename T> Arguments &operator<<(T value) {
    EXPECT_EQ(kernel.parameters.at(next).bytes, sizeof(T));
    std::memcpy(&bytes[kernel.parameters.at(next++).offset], &value, sizeof(T));
    return *this;
  }
  const void *data() const { return bytes.data(); }

private:
  const Kernel &kernel;
  std::vector<char> bytes;
  size_t next = 0;
};

std::shared_ptr<Image> load(const std::string &name) {
  auto image = Image::load(std::string(STANDIN_KERNELS) + "/" + name + ".bc");
  EXPECT_TRUE(bool(image)) << (image ? "" : image.failure().message());
  return image ? *image : nullptr;
}

std::vector<float> numbers(size_t count) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = float(i * 7 % 23) - 11;
  return all;
}

TEST(Engine, AddsVectors) {
  auto image = load("basics");
  const Kernel &kernel = *image->kernel("add");
  std::vector<float> a = numbers(1000), b = numbers(1000), out(1000);
  TestMemory memory;
  Arguments arguments(kernel);
  arguments << memory.add(a) << memory.add(b) << memory.add(out) << 1000;
  LaunchRequest request;
  request.kernel = &kernel;
  request.grid = {8};
  request.block = {128};
  request.parameters = arguments.data();
  request.memory = &memory;
  auto finding = run(request);
  ASSERT_FALSE(finding) << finding->text;
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], a[i] + b[i]);
}

TEST(Engine, SumsRowsInEveryOrder) {
  auto image = load("basics");
  const Kernel &kernel = *image->kernel("row_sums");
  EXPECT_EQ(kernel.staticShared, 128u);
  std::vector<float> in = numbers(16 * 500), out(16);
  TestMemory memory;
  Arguments arguments(kernel);
  arguments << memory.add(in) << memory.add(out) << 500;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    LaunchRequest request;
    request.kernel = &kernel;
    request.grid = {16};
    request.block = {256};
    request.parameters = arguments.data();
    request.memory = &memory;
    request.seed = seed;
    auto finding = run(request);
    ASSERT_FALSE(finding) << finding->text;
    for (size_t row = 0; row < out.size(); ++row)
      ASSERT_EQ(out[row], std::accumulate(&in[row * 500], &in[row * 500 + 500], 0.0f));
  }
}

} // namespace
} // namespace standin
