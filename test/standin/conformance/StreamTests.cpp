// Streams, events, host functions.
#include "Suite.h"

#include <thread>
#include <vector>

using namespace conformance;

TEST(StreamsRunInOrder) {
  StreamOf stream;
  DeviceMemory a(4);
  for (uint32_t i = 0; i < 100; ++i)
    OK(api().cuMemsetD32Async(a, i, 1, stream));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(a) == 99);
}

TEST(StreamsSayWhetherTheyAreDone) {
  StreamOf stream;
  OK(api().cuStreamQuery(stream));
  Gate gate;
  gate.closeOn(stream);
  GIVES(CUDA_ERROR_NOT_READY, api().cuStreamQuery(stream));
  gate.open();
  OK(api().cuStreamSynchronize(stream));
  OK(api().cuStreamQuery(stream));
}

TEST(StreamsGoOnBesideOneThatStands) {
  StreamOf standing, going;
  DeviceMemory a(4);
  Gate gate;
  gate.closeOn(standing);
  OK(api().cuMemsetD32Async(a, 8, 1, going));
  OK(api().cuStreamSynchronize(going));
  GIVES(CUDA_ERROR_NOT_READY, api().cuStreamQuery(standing));
  gate.open();
  OK(api().cuStreamSynchronize(standing));
}

TEST(HostFunctionsRunInTheOrderOfAStream) {
  StreamOf stream;
  std::vector<int> seen;
  struct Note {
    std::vector<int> *seen;
    int number;
  };
  std::vector<Note> notes;
  for (int i = 0; i < 20; ++i)
    notes.push_back({&seen, i});
  for (Note &note : notes)
    OK(api().cuLaunchHostFunc(
        stream,
        [](void *data) {
          auto *note = static_cast<Note *>(data);
          note->seen->push_back(note->number);
        },
        &note));
  OK(api().cuStreamSynchronize(stream));
  CHECK(seen.size() == 20);
  for (int i = 0; i < 20; ++i)
    CHECK(seen[i] == i);
}

TEST(EventsOrderStreams) {
  for (int round = 0; round < 20; ++round) {
    StreamOf a, b;
    EventOf event;
    DeviceMemory memory(8);
    OK(api().cuMemsetD32Async(memory, 1, 1, a));
    OK(api().cuEventRecord(event, a));
    OK(api().cuStreamWaitEvent(b, event, CU_EVENT_WAIT_DEFAULT));
    OK(api().cuMemcpyDtoDAsync(memory + 4, memory, 4, b));
    OK(api().cuStreamSynchronize(b));
    CHECK(wordAt(memory + 4) == 1);
  }
}

TEST(EventsSayWhetherTheyHavePassed) {
  StreamOf stream;
  EventOf event;
  OK(api().cuEventQuery(event)); // never recorded: nothing to wait for
  OK(api().cuEventSynchronize(event));
  Gate gate;
  gate.closeOn(stream);
  OK(api().cuEventRecord(event, stream));
  GIVES(CUDA_ERROR_NOT_READY, api().cuEventQuery(event));
  gate.open();
  OK(api().cuEventSynchronize(event));
  OK(api().cuEventQuery(event));
  OK(api().cuStreamSynchronize(stream));
}

TEST(EventsNeverRecordedHoldNothingUp) {
  StreamOf stream;
  EventOf event;
  OK(api().cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
  OK(api().cuStreamSynchronize(stream));
}

// A wait is for the place that was recorded last when it was given.
TEST(EventsStandForTheirLastPlace) {
  StreamOf a, b, c;
  EventOf event;
  Gate first, second;
  first.closeOn(a);
  OK(api().cuEventRecord(event, a));
  OK(api().cuStreamWaitEvent(b, event, CU_EVENT_WAIT_DEFAULT)); // for the first gate
  first.open();
  OK(api().cuStreamSynchronize(a));
  second.closeOn(a);
  OK(api().cuEventRecord(event, a));
  OK(api().cuStreamWaitEvent(c, event, CU_EVENT_WAIT_DEFAULT)); // for the second
  OK(api().cuStreamSynchronize(b));
  GIVES(CUDA_ERROR_NOT_READY, api().cuStreamQuery(c));
  second.open();
  OK(api().cuStreamSynchronize(c));
  OK(api().cuStreamSynchronize(a));
}

TEST(EventsMeasureTime) {
  StreamOf stream;
  EventOf begin(CU_EVENT_DEFAULT), end(CU_EVENT_DEFAULT), silent;
  float time = -1;
  GIVES(CUDA_ERROR_INVALID_HANDLE, api().cuEventElapsedTime(&time, begin, end)); // never recorded
  Gate gate;
  OK(api().cuEventRecord(begin, stream));
  gate.closeOn(stream);
  OK(api().cuEventRecord(end, stream));
  GIVES(CUDA_ERROR_NOT_READY, api().cuEventElapsedTime(&time, begin, end));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.open();
  OK(api().cuEventSynchronize(end));
  OK(api().cuEventElapsedTime(&time, begin, end));
  CHECK(time > 0);
  OK(api().cuEventRecord(silent, stream));
  OK(api().cuStreamSynchronize(stream));
  GIVES(CUDA_ERROR_INVALID_HANDLE, api().cuEventElapsedTime(&time, begin, silent));
}

TEST(EventsMayGoBeforeTheyHavePassed) {
  StreamOf a, b;
  Gate gate;
  DeviceMemory memory(4);
  {
    EventOf event;
    gate.closeOn(a);
    OK(api().cuMemsetD32Async(memory, 4, 1, a));
    OK(api().cuEventRecord(event, a));
    OK(api().cuStreamWaitEvent(b, event, CU_EVENT_WAIT_DEFAULT));
  }
  OK(api().cuMemsetD32Async(memory, 5, 1, b));
  gate.open();
  OK(api().cuStreamSynchronize(b));
  OK(api().cuStreamSynchronize(a));
  CHECK(wordAt(memory) == 5);
}

TEST(ContextsAreOfAThread) {
  CUresult without = CUDA_SUCCESS, with = CUDA_ERROR_UNKNOWN;
  CUcontext context = nullptr;
  OK(api().cuCtxGetCurrent(&context));
  std::thread([&] {
    size_t free, total;
    without = api().cuMemGetInfo(&free, &total);
    api().cuCtxSetCurrent(context);
    with = api().cuMemGetInfo(&free, &total);
  }).join();
  GIVES(CUDA_ERROR_INVALID_CONTEXT, without);
  OK(with);
}

TEST(ContextsWaitForAll) {
  StreamOf a, b;
  DeviceMemory memory(8);
  OK(api().cuMemsetD32Async(memory, 1, 1, a));
  OK(api().cuMemsetD32Async(memory + 4, 2, 1, b));
  OK(api().cuCtxSynchronize());
  OK(api().cuStreamQuery(a));
  OK(api().cuStreamQuery(b));
}

TEST(DevicesAreCounted) {
  int count = 0;
  OK(api().cuDeviceGetCount(&count));
  CHECK(count >= 1);
  CUdevice device;
  OK(api().cuDeviceGet(&device, 0));
  GIVES(CUDA_ERROR_INVALID_DEVICE, api().cuDeviceGet(&device, count));
  GIVES(CUDA_ERROR_INVALID_DEVICE, api().cuDeviceGet(&device, -1));
  int warp = 0, major = 0, shared = 0;
  OK(api().cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  OK(api().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  OK(api().cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
  CHECK(warp == 32 && major >= 8 && shared > 48 * 1024);
  CUuuid one, again;
  OK(api().cuDeviceGetUuid(&one, 0));
  OK(api().cuDeviceGetUuid(&again, 0));
  CHECK(std::string(one.bytes, 16) == std::string(again.bytes, 16));
}

TEST(FunctionsAreFoundByNameAndVersion) {
  void *function = nullptr;
  CUdriverProcAddressQueryResult status;
  OK(api().cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &status));
  CHECK(function && status == CU_GET_PROC_ADDRESS_SUCCESS);
  // Whether not to find one is an error differs from driver to driver (580 calls it none); the status says
  // it.
  auto unfound = [&](const char *name, int version) {
    CUresult result = api().cuGetProcAddress(name, &function, version, 0, &status);
    return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_FOUND;
  };
  CHECK(unfound("cuNoSuchThing", 12000) && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CHECK(unfound("cuGraphLaunch", 8000) && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST(ErrorsHaveNames) {
  CHECK(nameOf(CUDA_ERROR_ILLEGAL_ADDRESS) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  const char *text = nullptr;
  GIVES(CUDA_ERROR_INVALID_VALUE, api().cuGetErrorName(CUresult(77777), &text));
}

// Streams that block, unlike the others, are ordered with what has no stream.
TEST(StreamsThatBlockAreOrderedWithCopiesWithoutOne) {
  StreamOf stream(CU_STREAM_DEFAULT);
  DeviceMemory memory(8);
  Gate gate;
  gate.closeOn(stream);
  OK(api().cuMemsetD32Async(memory, 21, 2, stream));
  gate.open();
  OK(api().cuMemcpyDtoD(memory + 4, memory, 4));
  OK(api().cuMemsetD32Async(memory, 22, 1, stream));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(memory) == 22 && wordAt(memory + 4) == 21);
}

// A GPU may well take the same order every time; the stand-in must not.
TEST(OrdersThatNothingFixesDiffer) {
  if (!api().isStandin)
    return;
  StreamOf a, b;
  Pinned<std::atomic<uint32_t>> order(3);
  int first = 0;
  for (int round = 0; round < 100; ++round) {
    order[2] = 0;
    struct Note {
      std::atomic<uint32_t> *count, *place;
    } notes[2] = {{&order[2], &order[0]}, {&order[2], &order[1]}};
    auto note = [](void *data) {
      auto *note = static_cast<Note *>(data);
      *note->place = (*note->count)++;
    };
    OK(api().cuLaunchHostFunc(a, note, &notes[0]));
    OK(api().cuLaunchHostFunc(b, note, &notes[1]));
    OK(api().cuStreamSynchronize(a));
    OK(api().cuStreamSynchronize(b));
    first += order[0] < order[1];
  }
  CHECK(first > 0 && first < 100);
}
