// Launching kernels of test/standin/kernels from tests.
#ifndef TESSERA_STANDIN_KERNELHARNESS_H
#define TESSERA_STANDIN_KERNELHARNESS_H

#include "engine/Engine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace standin {

// What kernels may touch in these tests: a few vectors, each with a page around it that nobody may touch.
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

std::shared_ptr<Image> loadKernels(const std::string &name);

// How a kernel is launched. Its arguments are laid out one after the other.
class TestLaunch {
public:
  TestLaunch(const std::shared_ptr<Image> &image, const std::string &kernel);
  template <typename T> TestLaunch &operator<<(T value) {
    if (next >= request.kernel->parameters.size() || request.kernel->parameters[next].bytes != sizeof(T)) {
      ADD_FAILURE() << request.kernel->name << ": argument " << next << " does not fit";
      return *this;
    }
    std::memcpy(&parameters[request.kernel->parameters[next++].offset], &value, sizeof(T));
    return *this;
  }
  template <typename T> TestLaunch &operator<<(std::vector<T> &data) { return *this << memory.add(data); }
  std::optional<Finding> run() {
    request.parameters = parameters.data();
    request.memory = &memory;
    return standin::run(request);
  }

  LaunchRequest request;

private:
  std::shared_ptr<Image> image;
  TestMemory memory;
  std::vector<char> parameters;
  size_t next = 0;
};

} // namespace standin
#endif
