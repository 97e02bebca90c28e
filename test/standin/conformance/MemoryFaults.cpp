// Faults in the life of memory and handles.
#include "Faults.h"
#include "LibraryWork.h"

#include <cstdlib>
#include <thread>

using namespace conformance;

FAULT(FreedTooEarly, "goes, and the host has not waited for cuMemsetD8Async of 4096 bytes") {
  StreamOf stream;
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 4096));
  OK(api().cuMemsetD8Async(address, 1, 4096, stream));
  if (right)
    wait(stream);
  OK(api().cuMemFree(address));
  wait(stream);
}

FAULT(FreedBeforeItsKernel, "goes, and the host has not waited for kernel add") {
  Kernels kernels;
  StreamOf stream;
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 4096));
  OK(api().cuMemsetD8Async(address, 1, 4096, stream));
  wait(stream);
  OK(launch(kernels["add"], 1, 32, 0, stream, address, 1u, uint64_t(32)));
  if (right)
    wait(stream);
  OK(api().cuMemFree(address));
  wait(stream);
}

FAULT(ModuleUnloadedTooEarly, "the module goes, and the host has not waited for its kernel nothing") {
  StreamOf stream;
  Kernels *kernels = new Kernels;
  OK(launch((*kernels)["nothing"], 1, 32, 0, stream));
  if (right)
    wait(stream);
  delete kernels;
  wait(stream);
}

FAULT(PinnedFreedTooEarly, "goes, and the host has not waited for cuMemcpyHtoDAsync") {
  StreamOf stream;
  DeviceMemory memory(4096);
  auto *host = new Pinned<char>(4096);
  OK(api().cuMemcpyHtoDAsync(memory, host->data, 4096, stream));
  if (right)
    wait(stream);
  delete host;
  wait(stream);
}

FAULT(PinnedWrittenTooEarly, "the host changed the memory") {
  StreamOf stream;
  DeviceMemory memory(64);
  Pinned<uint32_t> host(16);
  WorkGate gate; // the copy has not run before the host says so
  gate.closeOn(stream);
  OK(api().cuMemcpyHtoDAsync(memory, host.data, 64, stream));
  if (right) {
    gate.open();
    wait(stream);
  }
  host[3] = 1;
  gate.open();
  wait(stream);
}

FAULT(DownloadWrittenTooEarly, "the host wrote where the copy goes") {
  StreamOf stream;
  DeviceMemory memory(64);
  Pinned<uint32_t> host(16);
  OK(api().cuMemsetD8Async(memory, 1, 64, stream));
  WorkGate gate; // the copy has not run before the host says so
  gate.closeOn(stream);
  OK(api().cuMemcpyDtoHAsync(host.data, memory, 64, stream));
  if (right) {
    gate.open();
    wait(stream);
  }
  host[3] = 1;
  gate.open();
  wait(stream);
}

FAULT(GraphWithAFreedAddress, "which was freed after the capture") {
  StreamOf stream;
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 4096));
  beginCapture(stream);
  OK(api().cuMemsetD32Async(address, 3, 1, stream));
  CapturedGraph graph(stream);
  OK(api().cuGraphLaunch(graph.exec, stream));
  wait(stream);
  if (!right)
    OK(api().cuMemFree(address));
  OK(api().cuGraphLaunch(graph.exec, stream));
  wait(stream);
  if (right)
    OK(api().cuMemFree(address));
}

FAULT(GraphOfAKernelWithAFreedAddress, "node 0 (kernel add) uses") {
  Kernels kernels;
  StreamOf stream;
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 4096));
  OK(api().cuMemsetD8Async(address, 0, 4096, stream));
  wait(stream);
  beginCapture(stream);
  OK(launch(kernels["add"], 1, 32, 0, stream, address, 1u, uint64_t(32)));
  CapturedGraph graph(stream);
  if (!right)
    OK(api().cuMemFree(address));
  OK(api().cuGraphLaunch(graph.exec, stream));
  wait(stream);
  if (right)
    OK(api().cuMemFree(address));
}

FAULT(CopyBeyondTheEnd, "reach beyond allocation") {
  StreamOf stream;
  DeviceMemory memory(100), other(200);
  OK(api().cuMemcpyDtoDAsync(other, memory + 4, right ? 96 : 100, stream));
  wait(stream);
}

FAULT(CopyOfFreedMemory, "lies in memory that was freed") {
  StreamOf stream;
  DeviceMemory memory(100);
  CUdeviceptr other;
  OK(api().cuMemAlloc(&other, 100));
  if (!right)
    OK(api().cuMemFree(other));
  OK(api().cuMemcpyDtoDAsync(memory, other, 100, stream));
  wait(stream);
  OK(api().cuMemFree(other));
}

FAULT(CopyOntoItself, "source and destination overlap") {
  StreamOf stream;
  DeviceMemory memory(100);
  OK(api().cuMemcpyDtoDAsync(memory + (right ? 50 : 49), memory, 50, stream));
  wait(stream);
}

// Rows of one box between those of another: right while they lie side by side.
FAULT(BoxOntoItself, "source and destination overlap") {
  StreamOf stream;
  DeviceMemory memory(64);
  OK(api().cuMemsetD8Async(memory, 1, 64, stream));
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = memory;
  box.dstDevice = memory + (right ? 4 : 3);
  box.srcPitch = box.dstPitch = 8;
  box.srcHeight = box.dstHeight = 8;
  box.WidthInBytes = 4;
  box.Height = right ? 8 : 7;
  box.Depth = 1;
  OK(api().cuMemcpy3DAsync(&box, stream));
  wait(stream);
}

FAULT(HostAddressAsDevice, "nothing is allocated at") {
  StreamOf stream;
  DeviceMemory memory(64);
  static char host[64];
  OK(api().cuMemcpyDtoDAsync(memory, right ? memory.address + 32 : CUdeviceptr(host), 32, stream));
  wait(stream);
}

FAULT(DeviceAddressAsHost, "memory of the device") {
  StreamOf stream;
  DeviceMemory memory(64), other(64);
  Pinned<char> host(64);
  OK(api().cuMemsetD8Async(memory, 1, 64, stream));
  OK(api().cuMemcpyDtoHAsync(right ? host.data : reinterpret_cast<void *>(other.address), memory, 64,
                             stream));
  wait(stream);
}

FAULT(FreedTwice, "lies in memory that was freed") {
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 4096));
  OK(api().cuMemFree(address));
  if (!right)
    OK(api().cuMemFree(address));
}

FAULT(MisalignedMemset, "is no multiple of 4") {
  StreamOf stream;
  DeviceMemory memory(64);
  OK(api().cuMemsetD32Async(memory + (right ? 4 : 2), 0, 1, stream));
  wait(stream);
}

FAULT(MemoryLeaked, "leaked 1 allocation of 4096 bytes") {
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 4096));
  if (right)
    OK(api().cuMemFree(address));
}

FAULT(HandlesLeaked, "leaked 1 stream, 1 event") {
  CUstream stream;
  CUevent event;
  OK(api().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  OK(api().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (!right)
    return;
  OK(api().cuStreamDestroy(stream));
  OK(api().cuEventDestroy(event));
}

FAULT(LeftAtTheEndOfTheProcess, "leaked 1 stream") {
  CUstream stream;
  OK(api().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  if (right)
    OK(api().cuStreamDestroy(stream));
  else
    exit(0);
}

FAULT(StreamUsedAfterItsEnd, "was destroyed") {
  CUstream stream;
  DeviceMemory memory(4);
  OK(api().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  if (!right)
    OK(api().cuStreamDestroy(stream));
  OK(api().cuMemsetD32Async(memory, 0, 1, stream));
  wait(stream);
  OK(api().cuStreamDestroy(stream));
}

FAULT(EventUsedAfterItsEnd, "was destroyed") {
  StreamOf stream;
  CUevent event;
  OK(api().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (!right)
    OK(api().cuEventDestroy(event));
  OK(api().cuEventRecord(event, stream));
  wait(stream);
  OK(api().cuEventDestroy(event));
}

FAULT(HandleOfAnotherKind, "this is the handle of no event") {
  StreamOf stream;
  EventOf event;
  OK(api().cuEventRecord(right ? event.handle : reinterpret_cast<CUevent>(stream.handle), stream));
  wait(stream);
}

FAULT(DefaultStream, "the default stream") {
  StreamOf stream;
  DeviceMemory memory(4);
  OK(api().cuMemsetD32Async(memory, 0, 1, right ? stream.handle : nullptr));
  wait(stream);
}

FAULT(ThreadWithoutAContext, "no context is current in this thread") {
  CUcontext context;
  OK(api().cuCtxGetCurrent(&context));
  CUresult result;
  std::thread([&] {
    if (right)
      api().cuCtxSetCurrent(context);
    CUdeviceptr address;
    result = api().cuMemAlloc(&address, 64);
    if (!result)
      api().cuMemFree(address);
  }).join();
  OK(result);
}

FAULT(ApiInAHostFunction, "called by a host function") {
  StreamOf stream;
  static std::atomic<unsigned> result{0};
  auto bad = [](void *) {
    size_t free, total;
    result = api().cuMemGetInfo(&free, &total);
  };
  auto good = [](void *) {};
  OK(api().cuLaunchHostFunc(stream, right ? CUhostFn(good) : CUhostFn(bad), nullptr));
  wait(stream);
  OK(CUresult(result.load()));
}

FAULT(SynchronizedInACapture, "nothing there has run") {
  StreamOf stream;
  DeviceMemory memory(4);
  OK(api().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(api().cuMemsetD32Async(memory, 0, 1, stream));
  if (!right)
    wait(stream);
  CUgraph graph;
  OK(api().cuStreamEndCapture(stream, &graph));
  OK(api().cuGraphDestroy(graph));
}

FAULT(ForkNotJoined, "work of another stream is not waited for") {
  StreamOf a, b;
  EventOf fork, join;
  DeviceMemory memory(4);
  OK(api().cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(api().cuEventRecord(fork, a));
  OK(api().cuStreamWaitEvent(b, fork, CU_EVENT_WAIT_DEFAULT));
  OK(api().cuMemsetD32Async(memory, 0, 1, b));
  OK(api().cuEventRecord(join, b));
  if (right)
    OK(api().cuStreamWaitEvent(a, join, CU_EVENT_WAIT_DEFAULT));
  CUgraph graph;
  OK(api().cuStreamEndCapture(a, &graph));
  OK(api().cuGraphDestroy(graph));
}

FAULT(ParameterNoAddress, "access out of bounds") {
  Kernels kernels;
  StreamOf stream;
  DeviceMemory words(128);
  OK(api().cuMemsetD8Async(words, 0, 128, stream));
  OK(launch(kernels["add"], 1, 64, 0, stream, words.address, 1u, uint64_t(right ? 32 : 33)));
  wait(stream);
}

FAULT(StreamOfAnotherDevice, "and the current context of device 1") {
  CUcontext first, second;
  OK(api().cuCtxGetCurrent(&first));
  OK(api().cuDevicePrimaryCtxRetain(&second, 1));
  {
    StreamOf stream;
    DeviceMemory memory(4);
    if (!right)
      OK(api().cuCtxSetCurrent(second));
    OK(api().cuMemsetD32Async(memory, 0, 1, stream));
    wait(stream);
  }
  OK(api().cuDevicePrimaryCtxRelease(1));
}

// A kernel may not touch a peer's memory before access was enabled.
FAULT(MemoryOfAnotherDevice, "which device 0 has no access to") {
  CUcontext first, second;
  OK(api().cuCtxGetCurrent(&first));
  OK(api().cuDevicePrimaryCtxRetain(&second, 1));
  OK(api().cuCtxSetCurrent(second));
  CUdeviceptr there;
  OK(api().cuMemAlloc(&there, 128));
  OK(api().cuMemsetD32(there, 0, 32));
  OK(api().cuCtxSynchronize());
  OK(api().cuCtxSetCurrent(first));
  {
    Kernels kernels;
    StreamOf stream;
    DeviceMemory words(128);
    OK(api().cuMemsetD8Async(words, 0, 128, stream));
    OK(launch(kernels["add"], 1, 32, 0, stream, right ? words.address : there, 1u, uint64_t(32)));
    wait(stream);
  }
  OK(api().cuCtxSetCurrent(second));
  OK(api().cuMemFree(there));
  OK(api().cuCtxSetCurrent(first));
  OK(api().cuDevicePrimaryCtxRelease(1));
}
