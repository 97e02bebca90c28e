// Two devices in one process; where there is one alone, there is nothing to test.
#include "Kernels.h"

using namespace conformance;

// The context of device 1, current while it lives.
struct Second {
  CUcontext first = nullptr, context = nullptr;
  bool there;
  Second() {
    int count = 0;
    OK(api().cuDeviceGetCount(&count));
    there = count > 1;
    if (!there)
      return;
    OK(api().cuCtxGetCurrent(&first));
    OK(api().cuDevicePrimaryCtxRetain(&context, 1));
    OK(api().cuCtxSetCurrent(context));
  }
  ~Second() {
    if (!there)
      return;
    api().cuCtxSetCurrent(first);
    api().cuDevicePrimaryCtxRelease(1);
  }
};

TEST(DevicesHaveNamesOfTheirOwn) {
  Second second;
  if (!second.there)
    return;
  CUuuid a, b;
  OK(api().cuDeviceGetUuid(&a, 0));
  OK(api().cuDeviceGetUuid(&b, 1));
  CHECK(std::string(a.bytes, 16) != std::string(b.bytes, 16));
  char idA[16], idB[16];
  OK(api().cuDeviceGetPCIBusId(idA, 16, 0));
  OK(api().cuDeviceGetPCIBusId(idB, 16, 1));
  CHECK(std::string(idA) != idB);
}

TEST(EventsOrderStreamsOfTwoDevices) {
  Second second;
  if (!second.there)
    return;
  StreamOf there;
  DeviceMemory memoryThere(4);
  OK(api().cuCtxSetCurrent(second.first));
  StreamOf here;
  EventOf event;
  DeviceMemory memory(4);
  Pinned<uint32_t> out(1);
  OK(api().cuMemsetD32Async(memory, 17, 1, here));
  OK(api().cuEventRecord(event, here));
  OK(api().cuCtxSetCurrent(second.context));
  OK(api().cuStreamWaitEvent(there, event, CU_EVENT_WAIT_DEFAULT));
  OK(api().cuMemcpyPeerAsync(memoryThere, second.context, memory, second.first, 4, there));
  OK(api().cuMemcpyDtoHAsync(out.data, memoryThere, 4, there));
  OK(api().cuStreamSynchronize(there));
  CHECK(out[0] == 17);
  OK(api().cuCtxSetCurrent(second.first));
  OK(api().cuStreamSynchronize(here));
  OK(api().cuCtxSetCurrent(second.context));
}

// What a kernel may touch of a peer, once it was said.
TEST(KernelsTouchMemoryOfPeers) {
  Second second;
  if (!second.there)
    return;
  int can = 0;
  OK(api().cuDeviceCanAccessPeer(&can, 1, 0));
  if (!can)
    return;
  OK(api().cuCtxEnablePeerAccess(second.first, 0));
  OK(api().cuCtxSetCurrent(second.first));
  DeviceMemory words(128);
  OK(api().cuMemsetD32(words, 6, 32));
  OK(api().cuCtxSynchronize());
  OK(api().cuCtxSetCurrent(second.context));
  {
    Kernels kernels;
    StreamOf stream;
    OK(launch(kernels["add"], 1, 32, 0, stream, words.address, 1u, uint64_t(32)));
    OK(api().cuStreamSynchronize(stream));
    CHECK(wordAt(words) == 7);
  }
  OK(api().cuCtxSetCurrent(second.first));
}

TEST(HandlesAreOfADevice) {
  Second second;
  if (!second.there)
    return;
  Kernels kernels; // of device 1
  OK(api().cuCtxSetCurrent(second.first));
  {
    StreamOf stream;
    EventOf event;
    GIVES(CUDA_ERROR_INVALID_HANDLE, launch(kernels["nothing"], 1, 1, 0, stream));
    OK(api().cuCtxSetCurrent(second.context));
    StreamOf other;
    GIVES(CUDA_ERROR_INVALID_HANDLE, api().cuEventRecord(event, other));
    OK(api().cuStreamSynchronize(stream)); // any thread may wait
  }
}
