#include "CollectiveMarks.h"
#include "tessera/runtime/core/Error.h"

#include <cstring>

namespace tessera::runtime {

using namespace cuda;

void CollectiveMarks::expect(CUresult result) const {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr;
  cuda_.cuGetErrorName(result, &name);
  throw Error("cannot communicate", "the watch of rank " + std::to_string(rank_),
              name ? name : "error " + std::to_string(result), "look at nvidia-smi");
}

CollectiveMarks::CollectiveMarks(const Functions &cuda, BoardEntry &entry, int64_t rank)
    : cuda_(cuda), entry_(entry), rank_(rank) {
  void *memory = nullptr;
  expect(cuda_.cuMemHostAlloc(&memory, sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
  memset(memory, 0, sizeof(uint32_t));
  word_ = static_cast<volatile uint32_t *>(memory);
  expect(cuda_.cuMemHostGetDevicePointer(&address_, memory, 0));
  expect(cuda_.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0));
  expect(cuda_.cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
}

CollectiveMarks::~CollectiveMarks() {
  cuda_.cuStreamSynchronize(stream_);
  cuda_.cuEventDestroy(event_);
  cuda_.cuStreamDestroy(stream_);
  cuda_.cuMemFreeHost(const_cast<uint32_t *>(word_));
  entry_.device = 0;
}

// One event is enough: a wait means its last place when the wait was given.
void CollectiveMarks::follow(CUstream stream, CUevent event, uint32_t value) {
  expect(cuda_.cuEventRecord(event, stream));
  expect(cuda_.cuStreamWaitEvent(stream_, event, CU_EVENT_WAIT_DEFAULT));
  expect(cuda_.cuMemsetD32Async(address_, value, 1, stream_));
  behind_ = true;
}

void CollectiveMarks::begin(CUstream stream, int32_t where) {
  follow(stream, event_, markOf(++turn_, where));
}
void CollectiveMarks::end(CUstream stream) { follow(stream, event_, 0); }

void CollectiveMarks::join(CUstream stream) {
  if (!behind_)
    return;
  expect(cuda_.cuEventRecord(event_, stream_));
  expect(cuda_.cuStreamWaitEvent(stream, event_, CU_EVENT_WAIT_DEFAULT));
  behind_ = false;
}

int32_t CollectiveMarks::look() {
  uint32_t mark = *word_;
  if (mark != seen_)
    entry_.deviceProgress.fetch_add(1, std::memory_order_relaxed);
  seen_ = mark;
  return int32_t(mark & 0xffff);
}

} // namespace tessera::runtime
