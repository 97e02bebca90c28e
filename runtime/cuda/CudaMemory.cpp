#include "CudaMemory.h"
#include "CudaDevice.h"

#include <algorithm>

namespace tessera::runtime {

CudaWeightLayout::CudaWeightLayout(const ParamSpec &spec) {
  type = spec.dtype;
  int64_t elements = elementCount(spec.local);
  rows = elementCount(Shape(spec.local.begin(), spec.local.begin() + rowDims(spec)));
  columns = rows ? elements / rows : 0;
  bytes = io::bytesOf(type, elements);
}

StagingRing::StagingRing(CudaDevice &device, int threads) : device_(device) {
  blocks_ = std::clamp(2 * size_t(threads), kLeastBlocks, kMostBlocks);
  memory_ = device.allocateHost(blocks_ * kBlockBytes, "pinned memory that weights pass through");
  for (size_t i = 0; i < blocks_; ++i) {
    Block block;
    block.data = memory_.as<char>() + i * kBlockBytes;
    device.expect(device.cuda().cuEventCreate(&block.copied, cuda::CU_EVENT_DISABLE_TIMING),
                  "create an event");
    free_.push_back(block);
  }
}

StagingRing::~StagingRing() {
  for (Block &block : free_)
    device_.cuda().cuEventDestroy(block.copied);
}

StagingRing::Block StagingRing::take() {
  std::unique_lock<std::mutex> lock(mutex_);
  returned_.wait(lock, [&] { return !free_.empty(); });
  Block block = free_.front();
  free_.pop_front();
  return block;
}

void StagingRing::put(Block block) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(block);
  }
  returned_.notify_one();
}

void StagingRing::send(size_t bytes, char *to, const std::function<void(char *)> &fill) {
  const CudaLibrary &cuda = device_.cuda();
  device_.bindThread();
  Block block = take();
  try {
    device_.expect(cuda.cuEventSynchronize(block.copied), "load weights"); // the copy that used it before
    fill(block.data);
    device_.expect(cuda.cuMemcpyHtoDAsync(reinterpret_cast<cuda::CUdeviceptr>(to), block.data, bytes,
                                          device_.serviceStream()),
                   "load weights");
    device_.expect(cuda.cuEventRecord(block.copied, device_.serviceStream()), "load weights");
  } catch (...) {
    put(block); // others may wait for one
    throw;
  }
  put(block);
}

void StagingRing::finish() { device_.waitForStream(device_.serviceStream()); }

} // namespace tessera::runtime
