// Faults in what comes after what.
#include "Faults.h"
#include "LibraryWork.h"

using namespace conformance;

static void order(CUstream first, CUstream second) {
  EventOf event;
  OK(api().cuEventRecord(event, first));
  OK(api().cuStreamWaitEvent(second, event, CU_EVENT_WAIT_DEFAULT));
}

FAULT(WaitMissing, "nothing orders the two") {
  StreamOf a, b;
  DeviceMemory memory(8);
  OK(api().cuMemsetD32Async(memory, 1, 1, a));
  if (right)
    order(a, b);
  OK(api().cuMemcpyDtoDAsync(memory + 4, memory, 4, b));
  wait(b);
  wait(a);
}

FAULT(WaitMissingOnTheWayBack, "nothing orders the two") {
  StreamOf a, b;
  DeviceMemory memory(8);
  for (int step = 0; step < 2; ++step) {
    OK(api().cuMemsetD32Async(memory, unsigned(step), 1, a));
    order(a, b);
    OK(api().cuMemcpyDtoDAsync(memory + 4, memory, 4, b));
    if (right)
      order(b, a);
  }
  wait(b);
  wait(a);
}

FAULT(EventRecordedTooEarly, "nothing orders the two") {
  StreamOf a, b;
  EventOf event;
  DeviceMemory memory(4);
  if (!right)
    OK(api().cuEventRecord(event, a));
  OK(api().cuMemsetD8Async(memory, 1, 4, a));
  if (right)
    OK(api().cuEventRecord(event, a));
  OK(api().cuStreamWaitEvent(b, event, CU_EVENT_WAIT_DEFAULT));
  OK(api().cuMemsetD8Async(memory, 2, 4, b));
  wait(b);
  wait(a);
}

FAULT(WaitGivenBeforeTheRecord, "nothing orders the two") {
  StreamOf a, b;
  EventOf event;
  DeviceMemory memory(4);
  OK(api().cuMemsetD8Async(memory, 1, 4, a));
  if (right)
    OK(api().cuEventRecord(event, a));
  OK(api().cuStreamWaitEvent(b, event, CU_EVENT_WAIT_DEFAULT));
  if (!right)
    OK(api().cuEventRecord(event, a));
  OK(api().cuMemsetD8Async(memory, 2, 4, b));
  wait(b);
  wait(a);
}

FAULT(WorkOnTheWrongStream, "nothing orders the two") {
  StreamOf compute, copies;
  DeviceMemory memory(4);
  Pinned<uint32_t> host(1);
  OK(api().cuMemcpyHtoDAsync(memory, host.data, 4, copies));
  order(copies, compute);
  OK(api().cuMemsetD32Async(memory, 3, 1, right ? compute : copies));
  OK(api().cuMemsetD32Async(memory, 4, 1, compute));
  wait(compute);
  wait(copies);
}

FAULT(SynchronizedTheWrongStream, "nothing orders the two") {
  StreamOf a, b;
  DeviceMemory memory(4);
  OK(api().cuMemsetD32Async(memory, 3, 1, a));
  wait(right ? a : b);
  OK(api().cuMemsetD32Async(memory, 4, 1, b));
  wait(b);
  wait(a);
}

// cuMemcpyDtoD returns before it has run, and streams that do not block are not ordered with it.
FAULT(CopyWithoutAStream, "nothing orders the two") {
  StreamOf stream;
  DeviceMemory memory(8);
  OK(api().cuMemsetD32Async(memory, 3, 1, stream));
  wait(stream);
  if (right)
    OK(api().cuMemcpyDtoDAsync(memory + 4, memory, 4, stream));
  else
    OK(api().cuMemcpyDtoD(memory + 4, memory, 4));
  OK(api().cuMemsetD32Async(memory, 5, 1, stream));
  wait(stream);
  OK(api().cuCtxSynchronize());
}

FAULT(MemsetWithoutAStream, "nothing orders the two") {
  StreamOf stream;
  DeviceMemory memory(8);
  OK(api().cuMemsetD8(memory, 0, 8));
  if (right)
    OK(api().cuCtxSynchronize());
  OK(api().cuMemsetD32Async(memory, 5, 1, stream));
  wait(stream);
  OK(api().cuCtxSynchronize());
}

FAULT(GraphBesideAnotherStream, "nothing orders the two") {
  StreamOf a, b;
  DeviceMemory memory(4);
  beginCapture(a);
  OK(api().cuMemsetD32Async(memory, 3, 1, a));
  CapturedGraph graph(a);
  OK(api().cuGraphLaunch(graph.exec, a));
  if (right)
    order(a, b);
  OK(api().cuMemsetD32Async(memory, 4, 1, b));
  wait(b);
  wait(a);
}

FAULT(BranchesOfAGraph, "nothing orders the two") {
  StreamOf a, b;
  DeviceMemory memory(8);
  beginCapture(a);
  order(a, b);
  OK(api().cuMemsetD32Async(memory, 3, 1, b));
  if (right)
    order(b, a);
  OK(api().cuMemsetD32Async(memory, 4, 1, a));
  order(b, a);
  CapturedGraph graph(a);
  OK(api().cuGraphLaunch(graph.exec, a));
  wait(a);
}

FAULT(TwoGraphsWithOneScratch, "nothing orders the two") {
  StreamOf a, b;
  DeviceMemory scratch(4);
  CUgraphExec exec[2];
  for (CUgraphExec &one : exec) {
    CUgraph graph;
    OK(api().cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(api().cuMemsetD32Async(scratch, 3, 1, a));
    OK(api().cuStreamEndCapture(a, &graph));
    OK(api().cuGraphInstantiateWithFlags(&one, graph, 0));
    OK(api().cuGraphDestroy(graph));
  }
  OK(api().cuGraphLaunch(exec[0], a));
  OK(api().cuGraphLaunch(exec[1], right ? a : b));
  wait(a);
  wait(b);
  for (CUgraphExec one : exec)
    OK(api().cuGraphExecDestroy(one));
}

// Kernels say what they touched when they have run.
FAULT(KernelsUnordered, "kernel copy_words") {
  Kernels kernels;
  StreamOf a, b;
  DeviceMemory words(400), copies(400);
  OK(api().cuMemsetD8Async(words, 0, 400, a));
  order(a, b);
  OK(launch(kernels["add"], 1, 100, 0, a, words.address, 1u, uint64_t(50)));
  if (right)
    order(a, b);
  OK(launch(kernels["copy_words"], 1, 100, 0, b, copies.address, words.address, uint64_t(100)));
  wait(b);
  wait(a);
}

// Two kernels that share a buffer and touch different halves need no order, a word in the middle does.
FAULT(KernelsOverlapByAWord, "kernel add") {
  Kernels kernels;
  StreamOf a, b;
  DeviceMemory words(400);
  OK(api().cuMemsetD8Async(words, 0, 400, a));
  order(a, b);
  OK(launch(kernels["add"], 1, 64, 0, a, words.address, 1u, uint64_t(right ? 50 : 51)));
  OK(launch(kernels["add"], 1, 64, 0, b, words.address + 200, 1u, uint64_t(50)));
  wait(b);
  wait(a);
}

// The last word of 64 bytes, and the first behind them.
FAULT(KernelsOverlapByTheLastOfSixteenWords, "kernel add") {
  Kernels kernels;
  StreamOf a, b;
  DeviceMemory words(400), copy(4);
  OK(api().cuMemsetD8Async(words, 0, 400, a));
  order(a, b);
  OK(launch(kernels["add"], 1, 64, 0, a, words.address, 1u, uint64_t(16)));
  OK(api().cuMemcpyDtoDAsync(copy, words + (right ? 64 : 60), 4, b));
  wait(b);
  wait(a);
}

FAULT(KernelBesideACopy, "kernel add") {
  Kernels kernels;
  StreamOf a, b;
  Pinned<uint32_t> out(100);
  DeviceMemory words(400);
  OK(api().cuMemsetD8Async(words, 0, 400, a));
  order(a, b);
  OK(launch(kernels["add"], 1, 100, 0, a, words.address, 1u, uint64_t(100)));
  if (right)
    order(a, b);
  OK(api().cuMemcpyDtoHAsync(out.data, words, 400, b));
  wait(b);
  wait(a);
}

// What an image keeps from launch to launch is shared by its launches, whatever they are given.
FAULT(KernelsShareTheImagesMemory, "global variables of a module") {
  Kernels kernels;
  StreamOf a, b;
  DeviceMemory first(4), second(4);
  OK(launch(kernels["count_arrivals"], 1, 1, 0, a, first.address, 0u));
  OK(launch(kernels["count_arrivals"], 1, 1, 0, b, second.address, right ? 1u : 0u));
  wait(b);
  wait(a);
}

// Work of another library, by test/standin/cuda/Work.h.
FAULT(LibraryWorkUnordered, "which a product writes") {
  StreamOf a, b;
  DeviceMemory memory(8);
  StandinAccess access{reinterpret_cast<void *>(memory.address), 4, 1};
  StandinWork work{};
  work.name = "a product";
  work.accesses = &access;
  work.accessCount = 1;
  work.context = reinterpret_cast<void *>(memory.address);
  work.begin = [](void *context) { return context; };
  work.advance = [](void *run) {
    *static_cast<uint32_t *>(run) = 5;
    return 1;
  };
  CHECK(enqueue(a, work) == 0);
  if (right)
    order(a, b);
  OK(api().cuMemcpyDtoDAsync(memory + 4, memory, 4, b));
  wait(b);
  wait(a);
  CHECK(wordAt(memory + 4) == 5);
}

// What was given long before is remembered as long as nothing comes after it.
FAULT(WaitMissingSinceLong, "nothing orders the two") {
  StreamOf a, b;
  DeviceMemory memory(8);
  OK(api().cuMemsetD32Async(memory, 1, 1, a));
  if (right)
    order(a, b);
  for (unsigned i = 0; i < 300; ++i)
    OK(api().cuMemsetD32Async(memory + 4, i, 1, b));
  OK(api().cuMemsetD32Async(memory, 2, 1, b));
  wait(b);
  wait(a);
}

// A stream that is destroyed goes on with what it was given; one made after it is not ordered with it.
FAULT(StreamDestroyedAndMadeAgain, "nothing orders the two") {
  DeviceMemory memory(4);
  {
    StreamOf first;
    OK(api().cuMemsetD32Async(memory, 1, 1, first));
    if (right)
      wait(first);
  }
  StreamOf second;
  OK(api().cuMemsetD32Async(memory, 2, 1, second));
  wait(second);
  OK(api().cuCtxSynchronize());
}
