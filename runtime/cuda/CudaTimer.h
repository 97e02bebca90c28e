// How long the GPU takes for some work: for choices between ways of doing one thing.
#ifndef TESSERA_RUNTIME_CUDA_CUDATIMER_H
#define TESSERA_RUNTIME_CUDA_CUDATIMER_H

#include "CudaDevice.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tessera::runtime {

// Measures on the device's service stream, between events of its own.
class CudaTimer {
public:
  explicit CudaTimer(CudaDevice &device) : device_(device) {
    for (cuda::CUevent &event : events_)
      device.expect(device.cuda().cuEventCreate(&event, cuda::CU_EVENT_DEFAULT), "create an event");
  }
  ~CudaTimer() {
    for (cuda::CUevent event : events_)
      device_.cuda().cuEventDestroy(event);
  }
  CudaTimer(const CudaTimer &) = delete;

  // The median of a few turns, in milliseconds. `give(turn, stream)` gives the work of a turn, from 0 on, to
  // the stream; where it returns false it cannot, and nothing is measured. `what` completes "cannot ...".
  // Turns are given one after another and waited for at the end: what the host takes to give one passes while
  // the GPU is at those before.
  static constexpr int kTurns = 6;
  template <typename Give> std::optional<float> median(const char *what, Give &&give) {
    const CudaLibrary &cuda = device_.cuda();
    cuda::CUstream stream = device_.serviceStream();
    device_.expect(cuda.cuEventRecord(events_[0], stream), what);
    for (int turn = 0; turn < kTurns; ++turn) {
      if (!give(turn, stream))
        return std::nullopt;
      device_.given(cuda.cuEventRecord(events_[turn + 1], stream), what);
    }
    device_.waitForStream(stream);
    std::vector<float> times;
    for (int turn = 1; turn < kTurns; ++turn) { // the first one loads the code
      float time = 0;
      device_.expect(cuda.cuEventElapsedTime(&time, events_[turn], events_[turn + 1]), what);
      times.push_back(time);
    }
    std::nth_element(times.begin(), times.begin() + long(times.size()) / 2, times.end());
    return times[times.size() / 2];
  }

private:
  CudaDevice &device_;
  cuda::CUevent events_[kTurns + 1] = {};
};

} // namespace tessera::runtime
#endif
