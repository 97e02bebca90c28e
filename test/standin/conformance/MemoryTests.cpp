// Memory and copies.
#include "Suite.h"

#include <vector>

using namespace conformance;

TEST(MemoryIsAligned) {
  for (size_t bytes : {1, 17, 4096, 100000}) {
    DeviceMemory memory(bytes);
    CHECK(memory.address % 256 == 0);
  }
}

TEST(MemoryNothingIsNoAllocation) {
  CUdeviceptr address = 0;
  GIVES(CUDA_ERROR_INVALID_VALUE, api().cuMemAlloc(&address, 0));
  OK(api().cuMemFree(0));
}

TEST(MemoryIsFreedOnce) {
  CUdeviceptr address;
  OK(api().cuMemAlloc(&address, 4096));
  OK(api().cuMemFree(address));
  GIVES(CUDA_ERROR_INVALID_VALUE, api().cuMemFree(address));
}

TEST(MemoryIsFreedByItsBegin) {
  DeviceMemory memory(4096);
  GIVES(CUDA_ERROR_INVALID_VALUE, api().cuMemFree(memory + 256));
}

TEST(MemoryThatIsNotThere) {
  CUdeviceptr address;
  GIVES(CUDA_ERROR_OUT_OF_MEMORY, api().cuMemAlloc(&address, size_t(1) << 50));
  DeviceMemory still(4096); // and the context goes on
}

TEST(MemoryRunsOut) {
  size_t free, total;
  OK(api().cuMemGetInfo(&free, &total));
  if (api().isStandin && total > size_t(1) << 28)
    return; // it would be touched
  CUdeviceptr half, other;
  OK(api().cuMemAlloc(&half, free / 2 + 1024));
  CUresult second = api().cuMemAlloc(&other, free / 2 + 1024);
  OK(api().cuMemFree(half));
  GIVES(CUDA_ERROR_OUT_OF_MEMORY, second);
  DeviceMemory again(free / 2 + 1024);
}

TEST(MemoryInfoCounts) {
  size_t free0, free1, total;
  OK(api().cuMemGetInfo(&free0, &total));
  CHECK(free0 <= total);
  DeviceMemory memory(64 << 20);
  OK(api().cuMemGetInfo(&free1, &total));
  CHECK(free1 + (64 << 20) <= free0);
}

TEST(PointersSayWhatTheyAre) {
  DeviceMemory memory(4096);
  unsigned type = 0;
  OK(api().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 8));
  CHECK(type == CU_MEMORYTYPE_DEVICE);
  CUdeviceptr begin = 0;
  OK(api().cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 8));
  CHECK(begin == memory.address);
  size_t bytes = 0;
  OK(api().cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory + 8));
  CHECK(bytes == 4096);
  int ordinal = -1;
  OK(api().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
  CHECK(ordinal == 0);
  Pinned<int> pinned(4);
  OK(api().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(pinned.data)));
  CHECK(type == CU_MEMORYTYPE_HOST);
  int local = 0;
  GIVES(CUDA_ERROR_INVALID_VALUE,
        api().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(&local)));
}

TEST(PinnedMemoryHasAnAddressOnTheDevice) {
  Pinned<uint32_t> pinned(4);
  CUdeviceptr address = 0;
  OK(api().cuMemHostGetDevicePointer(&address, pinned.data, 0));
  OK(api().cuMemsetD32(address, 7, 4));
  OK(api().cuCtxSynchronize());
  CHECK(pinned[3] == 7);
}

TEST(CopiesWithoutAStream) {
  std::vector<uint32_t> in(1000), out(1000);
  for (uint32_t i = 0; i < 1000; ++i)
    in[i] = i * i;
  DeviceMemory a(4000), b(4000);
  OK(api().cuMemcpyHtoD(a, in.data(), 4000));
  OK(api().cuMemcpyDtoD(b, a, 4000));
  OK(api().cuMemcpyDtoH(out.data(), b, 4000));
  CHECK(in == out);
  OK(api().cuMemcpyDtoH(nullptr, 0, 0)); // nothing is nothing
}

TEST(CopiesOnAStream) {
  StreamOf stream;
  Pinned<uint32_t> in(1000), out(1000);
  for (uint32_t i = 0; i < 1000; ++i)
    in[i] = ~i;
  DeviceMemory a(4000), b(4000);
  OK(api().cuMemcpyHtoDAsync(a, in.data, 4000, stream));
  OK(api().cuMemcpyDtoDAsync(b, a, 4000, stream));
  OK(api().cuMemcpyDtoHAsync(out.data, b, 4000, stream));
  OK(api().cuStreamSynchronize(stream));
  for (uint32_t i = 0; i < 1000; ++i)
    CHECK(out[i] == ~i);
}

// What is read from pageable memory may change as soon as the call returns; what goes there is there then.
TEST(CopiesOfPageableMemory) {
  StreamOf stream;
  std::vector<uint32_t> memory(1000, 5), out(1000);
  DeviceMemory a(4000);
  OK(api().cuMemcpyHtoDAsync(a, memory.data(), 4000, stream));
  memory.assign(1000, 6);
  OK(api().cuMemcpyDtoHAsync(out.data(), a, 4000, stream));
  CHECK(out == std::vector<uint32_t>(1000, 5));
}

TEST(CopiesToPinnedMemoryDoNotWait) {
  StreamOf stream;
  Gate gate;
  Pinned<uint32_t> out(1);
  DeviceMemory a(4);
  OK(api().cuMemsetD32(a, 5, 1));
  OK(api().cuCtxSynchronize());
  gate.closeOn(stream);
  OK(api().cuMemcpyDtoHAsync(out.data, a, 4, stream));
  GIVES(CUDA_ERROR_NOT_READY, api().cuStreamQuery(stream));
  gate.open();
  OK(api().cuStreamSynchronize(stream));
  CHECK(out[0] == 5);
}

TEST(MemsetsOfEveryWidth) {
  StreamOf stream;
  DeviceMemory a(4096);
  OK(api().cuMemsetD8Async(a, 0x11, 4096, stream));
  OK(api().cuMemsetD32Async(a + 8, 0x22334455, 2, stream));
  OK(api().cuMemsetD8Async(a + 13, 0x66, 1, stream));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(a + 4) == 0x11111111);
  CHECK(wordAt(a + 8) == 0x22334455);
  CHECK(wordAt(a + 12) == 0x22336655);
  CHECK(wordAt(a + 16) == 0x11111111);
}

TEST(MemsetsAreAligned) {
  StreamOf stream;
  DeviceMemory a(64);
  GIVES(CUDA_ERROR_INVALID_VALUE, api().cuMemsetD32Async(a + 2, 0, 1, stream));
}

TEST(ValuesAreWrittenInTheOrderOfAStream) {
  StreamOf stream;
  Pinned<uint32_t> flag(1);
  CUdeviceptr address;
  OK(api().cuMemHostGetDevicePointer(&address, flag.data, 0));
  for (uint32_t i = 1; i <= 10; ++i)
    OK(api().cuStreamWriteValue32(stream, address, i, CU_STREAM_WRITE_VALUE_DEFAULT));
  OK(api().cuStreamSynchronize(stream));
  CHECK(flag[0] == 10);
}

// The host need not call the API to see it.
TEST(ValuesAreSeenByAHostThatLooks) {
  StreamOf stream;
  Pinned<std::atomic<uint32_t>> flag(1);
  CUdeviceptr address;
  OK(api().cuMemHostGetDevicePointer(&address, flag.data, 0));
  OK(api().cuStreamWriteValue32(stream, address, 3, CU_STREAM_WRITE_VALUE_DEFAULT));
  while (flag[0] != 3) {
  }
  OK(api().cuStreamSynchronize(stream));
}

// On a GPU it holds anything; on the stand-in what no program takes for a number of its own.
TEST(MemoryIsNotZeroAtFirst) {
  if (!api().isStandin)
    return;
  DeviceMemory memory(64);
  CHECK(wordAt(memory) == 0xffffffff && wordAt(memory + 60) == 0xffffffff);
  uint32_t *pinned = nullptr;
  OK(api().cuMemHostAlloc(reinterpret_cast<void **>(&pinned), 4, CU_MEMHOSTALLOC_PORTABLE));
  CHECK(*pinned == 0xffffffff);
  OK(api().cuMemFreeHost(pinned));
}

// A box of 2 slices of 2 rows of 3 bytes, from the middle of [3, 4, 5] to the middle of [2, 3, 4].
TEST(BoxesAreCopiedInOneCall) {
  StreamOf stream;
  DeviceMemory from(60), to(24);
  Pinned<uint8_t> in(60), out(24);
  for (int i = 0; i < 60; ++i)
    in[size_t(i)] = uint8_t(i);
  OK(api().cuMemcpyHtoDAsync(from, in.data, 60, stream));
  OK(api().cuMemsetD8Async(to, 99, 24, stream));
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = from + 1 * 20 + 1 * 5 + 2;
  box.srcPitch = 5;
  box.srcHeight = 4;
  box.dstDevice = to + 1 * 4 + 1;
  box.dstPitch = 4;
  box.dstHeight = 3;
  box.WidthInBytes = 3;
  box.Height = box.Depth = 2;
  OK(api().cuMemcpy3DAsync(&box, stream));
  OK(api().cuMemcpyDtoHAsync(out.data, to, 24, stream));
  OK(api().cuStreamSynchronize(stream));
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x)
        CHECK(out[size_t(z * 12 + y * 4 + x)] == (y > 0 && x > 0 ? (z + 1) * 20 + y * 5 + x + 1 : 99));
  box.srcPitch = 2; // less than a row
  GIVES(CUDA_ERROR_INVALID_VALUE, api().cuMemcpy3DAsync(&box, stream));
}

TEST(BoxesAreCopiedByGraphs) {
  StreamOf stream;
  DeviceMemory from(16), to(16);
  Pinned<uint8_t> out(16);
  OK(api().cuMemsetD8Async(to, 0, 16, stream));
  OK(api().cuStreamSynchronize(stream));
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = from;
  box.dstDevice = to;
  box.srcPitch = box.dstPitch = 4;
  box.srcHeight = box.dstHeight = 4;
  box.WidthInBytes = 1; // a column
  box.Height = 4;
  box.Depth = 1;
  OK(api().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(api().cuMemcpy3DAsync(&box, stream));
  CUgraph graph;
  CUgraphExec exec;
  OK(api().cuStreamEndCapture(stream, &graph));
  OK(api().cuGraphInstantiateWithFlags(&exec, graph, 0));
  box.Height = 1; // frozen: this changes nothing
  for (uint8_t value : {5, 6}) {
    OK(api().cuMemsetD8Async(from, value, 16, stream));
    OK(api().cuGraphLaunch(exec, stream));
    OK(api().cuMemcpyDtoHAsync(out.data, to, 16, stream));
    OK(api().cuStreamSynchronize(stream));
    for (size_t i = 0; i < 16; ++i)
      CHECK(out[i] == (i % 4 == 0 ? value : 0));
  }
  OK(api().cuGraphExecDestroy(exec));
  OK(api().cuGraphDestroy(graph));
}
