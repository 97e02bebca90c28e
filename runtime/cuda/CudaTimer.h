// How long the GPU takes for some work: for choices between ways of doing one thing.
#ifndef TESSERA_RUNTIME_CUDA_CUDATIMER_H
#define TESSERA_RUNTIME_CUDA_CUDATIMER_H

#include "CudaDevice.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tessera::runtime {

// Measures on the device's service stream, between two events of its own.
class CudaTimer {
public:
  explicit CudaTimer(CudaDevice &device) : device_(device) {
    for (cuda::CUevent *event : {&begin_, &end_})
      device.expect(device.cuda().cuEventCreate(event, cuda::CU_EVENT_DEFAULT), "create an event");
  }
  ~CudaTimer() {
    device_.cuda().cuEventDestroy(begin_);
    device_.cuda().cuEventDestroy(end_);
  }
  CudaTimer(const CudaTimer &) = delete;

  // The median of a few turns, in milliseconds. `give(turn, stream)` gives the work of a turn, from 0 on, to
  // the stream; where it returns false it cannot, and nothing is measured. `what` completes "cannot ...".
  static constexpr int kTurns = 6;
  template <typename Give> std::optional<float> median(const char *what, Give &&give) {
    const CudaLibrary &cuda = device_.cuda();
    cuda::CUstream stream = device_.serviceStream();
    std::vector<float> times;
    for (int turn = 0; turn < kTurns; ++turn) {
      device_.expect(cuda.cuEventRecord(begin_, stream), what);
      if (!give(turn, stream))
        return std::nullopt;
      device_.given(cuda.cuEventRecord(end_, stream), what);
      device_.waitForStream(stream);
      float time = 0;
      device_.expect(cuda.cuEventElapsedTime(&time, begin_, end_), what);
      if (turn > 0) // the first one loads the code
        times.push_back(time);
    }
    std::nth_element(times.begin(), times.begin() + long(times.size()) / 2, times.end());
    return times[times.size() / 2];
  }

private:
  CudaDevice &device_;
  cuda::CUevent begin_ = nullptr, end_ = nullptr;
};

} // namespace tessera::runtime
#endif
