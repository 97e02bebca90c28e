// Functions that the runtime does not use yet, and work of the stand-ins of other libraries.
#include "LibraryWork.h"

#include <vector>

using namespace conformance;

TEST(RegisteredMemoryIsPinned) {
  std::vector<char> pages(3 * 4096, 5);
  char *data = pages.data() + (4096 - reinterpret_cast<uintptr_t>(pages.data()) % 4096);
  OK(api().cuMemHostRegister(data, 4096, 0));
  GIVES(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, api().cuMemHostRegister(data, 4096, 0));
  unsigned type = 0;
  OK(api().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(data)));
  CHECK(type == CU_MEMORYTYPE_HOST);
  {
    StreamOf stream;
    DeviceMemory memory(4096);
    OK(api().cuMemcpyHtoDAsync(memory, data, 4096, stream));
    OK(api().cuStreamSynchronize(stream));
    CHECK(wordAt(memory + 4092) == 0x05050505);
  }
  OK(api().cuMemHostUnregister(data));
  GIVES(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, api().cuMemHostUnregister(data));
}

TEST(StreamsWithoutAPriority) {
  CUstream stream;
  DeviceMemory memory(8);
  OK(api().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(api().cuMemsetD16Async(memory, 0x1234, 4, stream));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(memory + 4) == 0x12341234);
  GIVES(CUDA_ERROR_INVALID_VALUE, api().cuMemsetD16Async(memory + 1, 0, 1, stream));
  OK(api().cuStreamDestroy(stream));
  CUdevice device = -1;
  OK(api().cuCtxGetDevice(&device));
  CHECK(device == 0);
}

// A thread may say that it knows what it does.
TEST(CaptureModesOfThreads) {
  StreamOf stream;
  OK(api().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(api().cuThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 256));
  OK(api().cuThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
  CUgraph graph;
  OK(api().cuStreamEndCapture(stream, &graph));
  OK(api().cuGraphDestroy(graph));
  OK(api().cuMemFree(address));
}

namespace {
// Counts what is asked of it; it goes on at the third time.
struct CountedWork {
  int begun = 0, advanced = 0, released = 0;
  StandinWork work() {
    StandinWork work{};
    work.name = "counted work";
    work.context = this;
    work.begin = [](void *context) -> void * {
      ++static_cast<CountedWork *>(context)->begun;
      return new std::pair<CountedWork *, int>(static_cast<CountedWork *>(context), 0);
    };
    work.advance = [](void *run) {
      auto *state = static_cast<std::pair<CountedWork *, int> *>(run);
      ++state->first->advanced;
      if (++state->second < 3)
        return 0;
      delete state;
      return 1;
    };
    work.release = [](void *context) { ++static_cast<CountedWork *>(context)->released; };
    return work;
  }
};
} // namespace

TEST(WorkOfLibrariesRunsAndIsCaptured) {
  if (!api().isStandin)
    return;
  StreamOf stream, other;
  CountedWork once, captured;
  StandinWork work = once.work();
  CHECK(enqueue(stream, work) == 0);
  OK(api().cuStreamSynchronize(stream));
  OK(api().cuStreamQuery(other)); // another one goes on meanwhile
  CHECK(once.begun == 1 && once.advanced == 3);
  work = captured.work();
  OK(api().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(enqueue(stream, work) == 0);
  CUgraph graph;
  CUgraphExec exec;
  OK(api().cuStreamEndCapture(stream, &graph));
  OK(api().cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(api().cuGraphDestroy(graph));
  CHECK(captured.begun == 0);
  for (int launch = 1; launch <= 3; ++launch) {
    OK(api().cuGraphLaunch(exec, stream));
    OK(api().cuStreamSynchronize(stream));
    CHECK(captured.begun == launch && captured.advanced == 3 * launch && captured.released == 0);
  }
  OK(api().cuGraphExecDestroy(exec));
  OK(api().cuCtxSynchronize());
  CHECK(captured.released == 1 && once.released == 1);
  // On failure nothing was taken.
  StandinAccess nowhere{reinterpret_cast<void *>(uintptr_t(4096)), 4, 0};
  work.accesses = &nowhere;
  work.accessCount = 1;
  CHECK(enqueue(stream, work) == CUDA_ERROR_INVALID_VALUE);
  CHECK(captured.released == 1);
}
