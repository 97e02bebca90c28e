#include "TrialNumbers.h"
#include "CudaStream.h"
#include "tessera/runtime/core/CountedRandom.h"

#include <algorithm>

namespace tessera::runtime {

// Made by the host once; the GPU copies it on.
static constexpr size_t kPatternBytes = size_t(1) << 16;

uint16_t TrialNumbers::number(uint64_t i) {
  // Sign and low bits by chance; what is left of a bf16's exponent makes it 2^-3 at least, and 2 at most.
  return uint16_t((randomBits(0, 0, i) & 0x81ff) | 0x3e00);
}

static const std::vector<uint16_t> &pattern() {
  static const std::vector<uint16_t> numbers = [] {
    std::vector<uint16_t> made(kPatternBytes / sizeof(uint16_t));
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = TrialNumbers::number(i);
    return made;
  }();
  return numbers;
}

void TrialNumbers::fill(void *to, size_t bytes) {
  if (bytes == 0)
    return;
  const CudaLibrary &cuda = device_.cuda();
  size_t &used = used_[static_cast<char *>(to)];
  used = std::max(used, bytes);
  cuda::CUdeviceptr at = devicePointer(to);
  size_t done = std::min(bytes, kPatternBytes);
  device_.expect(cuda.cuMemcpyHtoDAsync(at, pattern().data(), done, device_.serviceStream()),
                 "upload numbers");
  for (size_t part; done < bytes; done += part) {
    part = std::min(done, bytes - done);
    device_.expect(cuda.cuMemcpyDtoDAsync(at + done, at, part, device_.serviceStream()), "copy numbers");
  }
}

void TrialNumbers::clear(void *to, size_t bytes) {
  if (bytes == 0)
    return;
  size_t &used = used_[static_cast<char *>(to)];
  used = std::max(used, bytes);
  device_.expect(device_.cuda().cuMemsetD8Async(devicePointer(to), 0, bytes, device_.serviceStream()),
                 "clear memory");
}

TrialNumbers::~TrialNumbers() {
  // What goes wrong here is said by whoever waits next.
  for (auto [at, bytes] : used_)
    device_.cuda().cuMemsetD8Async(devicePointer(at), 0, bytes, device_.serviceStream());
  device_.cuda().cuStreamSynchronize(device_.serviceStream());
}

} // namespace tessera::runtime
