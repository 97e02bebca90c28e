// Memory of a GPU and pinned memory of the host: what was allocated for what, and the way of weights through
// pinned blocks.
#ifndef TESSERA_RUNTIME_CUDA_CUDAMEMORY_H
#define TESSERA_RUNTIME_CUDA_CUDAMEMORY_H

#include "CudaLibrary.h"
#include "tessera/runtime/device/Device.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::runtime {

class CudaDevice;

struct HeldMemory {
  std::string what;
  size_t bytes = 0;
};

// How a GPU holds a parameter: plain, row-major, in the type computed in.
class CudaWeightLayout final : public WeightLayout {
public:
  explicit CudaWeightLayout(const ParamSpec &spec);
};

// Pinned blocks of host memory that rows of weights pass through: several threads round numbers into blocks
// of their own while earlier blocks are on their way to the GPU.
class StagingRing {
public:
  // As many blocks as `threads` can keep busy. Of a thread that has the device's context.
  StagingRing(CudaDevice &device, int threads);
  ~StagingRing(); // after finish()

  // Has `fill` write `bytes` (at most a block's) and sends them to `to`. Any thread.
  void send(size_t bytes, char *to, const std::function<void(char *)> &fill);
  // Waits for all of it.
  void finish();

  static constexpr size_t kBlockBytes = size_t(2) << 20, kLeastBlocks = 4, kMostBlocks = 32;

private:
  struct Block {
    char *data = nullptr;
    cuda::CUevent copied = nullptr;
  };
  Block take();
  void put(Block block);

  CudaDevice &device_;
  HostBuffer memory_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::deque<Block> free_; // the one sent first comes first
  size_t blocks_ = 0;
};

} // namespace tessera::runtime
#endif
