// What tests of the driver `cuda` on a device share.
#ifndef TESSERA_RUNTIME_TEST_CUDA_CUDAMACHINE_H
#define TESSERA_RUNTIME_TEST_CUDA_CUDAMACHINE_H

#include "../ErrorLine.h"
#include "CudaDevice.h"
#include "CudaKernels.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/cuda/Driver.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

namespace tessera::runtime {

class Variable {
public:
  Variable(const char *name, const std::string &value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }

private:
  const char *name_;
};

struct Machine {
  explicit Machine(int64_t rank = 0, HostPlane *plane = nullptr)
      : pool(2), device(cudaDriver().open({rank, pool, entry, plane})),
        compute(device->createStream(StreamKind::Compute)) {}
  CudaDevice &cuda() { return static_cast<CudaDevice &>(*device); }
  std::vector<float> read(const void *address, size_t count) {
    std::vector<float> values(count);
    compute->download(values.data(), address, count * 4);
    compute->synchronize();
    return values;
  }
  void add(Module &module, void *from, void *to, int64_t what) {
    void *buffers[] = {from, to};
    int64_t scalars[] = {1, what};
    compute->launch(module, {AddKernel, buffers, scalars, kTestSize, 1});
  }
  BoardEntry entry;
  ThreadPool pool;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> compute;
};

// Runs `body` on each of `ranks` threads.
inline void onRanks(int64_t ranks, const std::function<void(HostPlane &)> &body) {
  Board board(ranks);
  std::shared_ptr<HostWorld> world = createHostWorld(ranks, board);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<HostPlane> plane = createHostPlane(world, rank);
      body(*plane);
    });
  for (std::thread &thread : threads)
    thread.join();
}

// --- Products ---

inline Buffer upload(Machine &m, io::DType type, const std::vector<float> &values) {
  std::vector<char> held(size_t(io::bytesOf(type, int64_t(values.size()))));
  io::traits(type).narrow(values.data(), int64_t(values.size()), held.data());
  Buffer buffer = m.device->allocate(held.size() + 16, "an operand", MemoryUse::Arena);
  m.compute->upload(buffer.address(), held.data(), held.size());
  m.compute->synchronize();
  return buffer;
}

inline std::vector<float> numbers(int64_t count, int64_t period) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[size_t(i)] = float((i * 7) % period - period / 2);
  return values;
}

// x [5, 24] by w [37, 24].
struct Operands {
  static constexpr int64_t m = 5, n = 37, k = 24;
  std::vector<float> x = numbers(m * k, 5), w = numbers(n * k, 7);
  float sum(int64_t i, int64_t j) const {
    float total = 0;
    for (int64_t l = 0; l < k; ++l)
      total += x[size_t(i * k + l)] * w[size_t(j * k + l)];
    return total;
  }
};

} // namespace tessera::runtime
#endif
