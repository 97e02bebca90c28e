// Captures and graphs.
#include "Suite.h"

#include <thread>
#include <vector>

using namespace conformance;

// Ends a capture that some call has broken.
static void endBroken(CUstream stream, CUresult expected = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
  CUgraph graph = reinterpret_cast<CUgraph>(8);
  CUresult result = api().cuStreamEndCapture(stream, &graph);
  if (result != expected)
    fail(__FILE__, __LINE__, "cuStreamEndCapture gives " + nameOf(result) + ", expected " + nameOf(expected));
  CHECK(!graph);
  OK(api().cuStreamSynchronize(stream)); // the stream is as before
}

TEST(GraphsRunWhenLaunched) {
  StreamOf stream;
  DeviceMemory a(8);
  OK(api().cuMemsetD32Async(a, 1, 2, stream));
  OK(api().cuStreamSynchronize(stream));
  beginCapture(stream);
  CUstreamCaptureStatus status;
  OK(api().cuStreamIsCapturing(stream, &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK(api().cuMemsetD32Async(a, 2, 1, stream));
  OK(api().cuMemcpyDtoDAsync(a + 4, a, 4, stream));
  CapturedGraph captured(stream);
  OK(api().cuStreamIsCapturing(stream, &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  size_t nodes = 0;
  OK(api().cuGraphGetNodes(captured.graph, nullptr, &nodes));
  CHECK(nodes == 2);
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(a) == 1); // nothing has run
  OK(api().cuGraphUpload(captured.exec, stream));
  for (int round = 0; round < 3; ++round) {
    OK(api().cuMemsetD32Async(a, 9, 2, stream));
    OK(api().cuGraphLaunch(captured.exec, stream));
    OK(api().cuStreamSynchronize(stream));
    CHECK(wordAt(a) == 2 && wordAt(a + 4) == 2);
  }
}

// A graph reads and writes what is there when it is launched, at the addresses of its capture.
TEST(GraphsReadWhenTheyRun) {
  StreamOf stream;
  Pinned<uint32_t> in(1), out(1);
  DeviceMemory a(4);
  beginCapture(stream);
  OK(api().cuMemcpyHtoDAsync(a, in.data, 4, stream));
  OK(api().cuMemcpyDtoHAsync(out.data, a, 4, stream));
  CapturedGraph captured(stream);
  for (uint32_t i = 10; i < 15; ++i) {
    in[0] = i;
    OK(api().cuGraphLaunch(captured.exec, stream));
    OK(api().cuStreamSynchronize(stream));
    CHECK(out[0] == i);
  }
}

TEST(GraphsOutliveWhatTheyWereMadeOf) {
  StreamOf stream;
  DeviceMemory a(4);
  CUgraphExec exec;
  {
    StreamOf other;
    beginCapture(other);
    OK(api().cuMemsetD32Async(a, 6, 1, other));
    CUgraph graph;
    OK(api().cuStreamEndCapture(other, &graph));
    OK(api().cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(api().cuGraphDestroy(graph));
  }
  OK(api().cuGraphLaunch(exec, stream));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(a) == 6);
  OK(api().cuGraphExecDestroy(exec));
}

TEST(GraphsForkAndJoin) {
  StreamOf a, b;
  EventOf fork, join;
  DeviceMemory memory(12);
  beginCapture(a);
  OK(api().cuMemsetD32Async(memory, 3, 1, a));
  OK(api().cuEventRecord(fork, a));
  OK(api().cuStreamWaitEvent(b, fork, CU_EVENT_WAIT_DEFAULT));
  CUstreamCaptureStatus status;
  OK(api().cuStreamIsCapturing(b, &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK(api().cuMemcpyDtoDAsync(memory + 4, memory, 4, b));
  OK(api().cuMemcpyDtoDAsync(memory + 8, memory, 4, a));
  OK(api().cuEventRecord(join, b));
  OK(api().cuStreamWaitEvent(a, join, CU_EVENT_WAIT_DEFAULT));
  OK(api().cuMemsetD32Async(memory, 4, 1, a));
  CapturedGraph captured(a);
  OK(api().cuStreamIsCapturing(b, &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  for (int round = 0; round < 10; ++round)
    OK(api().cuGraphLaunch(captured.exec, a));
  OK(api().cuStreamSynchronize(a));
  CHECK(wordAt(memory) == 4 && wordAt(memory + 4) == 3 && wordAt(memory + 8) == 3);
}

// A graph runs once at a time, also where its launches are on streams that nothing orders.
TEST(GraphsDoNotOverlapThemselves) {
  StreamOf a, b;
  DeviceMemory memory(8);
  beginCapture(a);
  OK(api().cuMemcpyDtoDAsync(memory + 4, memory, 4, a));
  OK(api().cuMemsetD32Async(memory, 1, 1, a));
  CapturedGraph captured(a);
  for (int round = 0; round < 30; ++round) {
    OK(api().cuMemsetD32Async(memory, 0, 2, a));
    OK(api().cuStreamSynchronize(a));
    OK(api().cuGraphLaunch(captured.exec, a));
    OK(api().cuGraphLaunch(captured.exec, b));
    OK(api().cuStreamSynchronize(b));
    OK(api().cuStreamSynchronize(a));
    CHECK(wordAt(memory + 4) == 1);
  }
}

TEST(GraphsRunHostFunctions) {
  StreamOf stream;
  std::atomic<int> count{0};
  beginCapture(stream);
  OK(api().cuLaunchHostFunc(stream, [](void *data) { ++*static_cast<std::atomic<int> *>(data); }, &count));
  CapturedGraph captured(stream);
  for (int i = 0; i < 5; ++i)
    OK(api().cuGraphLaunch(captured.exec, stream));
  OK(api().cuStreamSynchronize(stream));
  CHECK(count == 5);
}

TEST(GraphsMayBeEmpty) {
  StreamOf stream;
  beginCapture(stream);
  CapturedGraph captured(stream);
  OK(api().cuGraphLaunch(captured.exec, stream));
  OK(api().cuStreamSynchronize(stream));
}

TEST(CaptureForbidsWaitingForItself) {
  StreamOf stream;
  beginCapture(stream);
  GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, api().cuStreamSynchronize(stream));
  CUstreamCaptureStatus status;
  OK(api().cuStreamIsCapturing(stream, &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, api().cuLaunchHostFunc(stream, [](void *) {}, nullptr));
  endBroken(stream);
  beginCapture(stream);
  GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, api().cuStreamQuery(stream));
  endBroken(stream);
}

TEST(CaptureForbidsAskingItsEvents) {
  StreamOf stream;
  EventOf event;
  beginCapture(stream);
  OK(api().cuEventRecord(event, stream));
  GIVES(CUDA_ERROR_CAPTURED_EVENT, api().cuEventSynchronize(event));
  endBroken(stream);
  beginCapture(stream);
  OK(api().cuEventRecord(event, stream));
  GIVES(CUDA_ERROR_CAPTURED_EVENT, api().cuEventQuery(event));
  endBroken(stream);
}

TEST(CaptureForbidsAllocations) {
  StreamOf stream;
  CUdeviceptr address;
  for (CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    beginCapture(stream, mode);
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, api().cuMemAlloc(&address, 256));
    endBroken(stream);
  }
  beginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  OK(api().cuMemAlloc(&address, 256));
  CapturedGraph captured(stream);
  OK(api().cuMemFree(address));
}

// Global: of any thread. Local to a thread: others may.
TEST(CaptureForbidsAllocationsOfOtherThreads) {
  StreamOf stream;
  CUcontext context;
  OK(api().cuCtxGetCurrent(&context));
  auto elsewhere = [&] {
    CUresult result;
    std::thread([&] {
      CUdeviceptr address;
      api().cuCtxSetCurrent(context);
      result = api().cuMemAlloc(&address, 256);
      if (!result)
        api().cuMemFree(address);
    }).join();
    return result;
  };
  beginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, elsewhere());
  endBroken(stream);
  beginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  OK(elsewhere());
  CapturedGraph captured(stream);
}

TEST(CaptureForbidsWaitsForWhatIsOutside) {
  StreamOf stream, other;
  EventOf event;
  OK(api().cuEventRecord(event, other));
  beginCapture(stream);
  GIVES(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, api().cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
  endBroken(stream);
}

TEST(CaptureForbidsLooseEnds) {
  StreamOf a, b;
  EventOf fork;
  DeviceMemory memory(4);
  beginCapture(a);
  OK(api().cuEventRecord(fork, a));
  OK(api().cuStreamWaitEvent(b, fork, CU_EVENT_WAIT_DEFAULT));
  OK(api().cuMemsetD32Async(memory, 1, 1, b));
  endBroken(a, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST(CaptureEndsWhereItBegan) {
  StreamOf a, b, c;
  EventOf fork;
  CUgraph graph;
  GIVES(CUDA_ERROR_ILLEGAL_STATE, api().cuStreamEndCapture(c, &graph));
  beginCapture(a);
  GIVES(CUDA_ERROR_ILLEGAL_STATE, api().cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(api().cuEventRecord(fork, a));
  OK(api().cuStreamWaitEvent(b, fork, CU_EVENT_WAIT_DEFAULT));
  GIVES(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, api().cuStreamEndCapture(b, &graph));
  api().cuStreamEndCapture(a, &graph);
}

TEST(CaptureEndsInItsThread) {
  StreamOf stream;
  beginCapture(stream);
  CUcontext context;
  OK(api().cuCtxGetCurrent(&context));
  CUresult result;
  std::thread([&] {
    CUgraph graph;
    api().cuCtxSetCurrent(context);
    result = api().cuStreamEndCapture(stream, &graph);
  }).join();
  GIVES(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, result);
  CUgraph graph = nullptr;
  if (!api().cuStreamEndCapture(stream, &graph))
    OK(api().cuGraphDestroy(graph));
}

TEST(CapturesDoNotMerge) {
  StreamOf a, b;
  EventOf event;
  beginCapture(a);
  beginCapture(b);
  OK(api().cuEventRecord(event, b));
  GIVES(CUDA_ERROR_STREAM_CAPTURE_MERGE, api().cuStreamWaitEvent(a, event, CU_EVENT_WAIT_DEFAULT));
  CUgraph graph = nullptr;
  if (!api().cuStreamEndCapture(b, &graph)) // whether it goes on is not said
    OK(api().cuGraphDestroy(graph));
  endBroken(a);
}

// Parameters are copied when the call is made.
TEST(CaptureFreezesArguments) {
  StreamOf stream;
  Pinned<uint32_t> flag(1);
  CUdeviceptr address;
  OK(api().cuMemHostGetDevicePointer(&address, flag.data, 0));
  beginCapture(stream);
  uint32_t value = 5;
  OK(api().cuStreamWriteValue32(stream, address, value, CU_STREAM_WRITE_VALUE_DEFAULT));
  CapturedGraph captured(stream);
  value = 6;
  OK(api().cuGraphLaunch(captured.exec, stream));
  OK(api().cuStreamSynchronize(stream));
  CHECK(flag[0] == 5);
}
