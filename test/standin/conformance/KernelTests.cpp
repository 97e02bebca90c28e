// Modules, kernels and launches.
#include "Kernels.h"

#include <thread>
#include <vector>

using namespace conformance;

TEST(KernelsTouchMemory) {
  Kernels kernels;
  StreamOf stream;
  DeviceMemory words(1000 * 4);
  OK(api().cuMemsetD32Async(words, 5, 1000, stream));
  for (int round = 0; round < 3; ++round)
    OK(launch(kernels["add"], 8, 128, 0, stream, words.address, 2u, uint64_t(999)));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(words) == 11 && wordAt(words + 998 * 4) == 11 && wordAt(words + 999 * 4) == 5);
}

TEST(KernelsHaveParametersOfEverySize) {
  Kernels kernels;
  StreamOf stream;
  DeviceMemory out(8);
  OK(launch(kernels["sum_parameters"], 1, 1, 0, stream, out.address, uint8_t(1), uint16_t(20), uint32_t(300),
            uint64_t(4000), 50000.0f));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(out) == 54321);
}

// Parameters are copied when the kernel is launched.
TEST(KernelsKeepTheirParameters) {
  Kernels kernels;
  StreamOf stream;
  DeviceMemory words(4);
  Gate gate;
  gate.closeOn(stream);
  OK(api().cuMemsetD32Async(words, 0, 1, stream));
  CUdeviceptr address = words;
  uint32_t value = 3;
  uint64_t count = 1;
  void *parameters[] = {&address, &value, &count};
  OK(api().cuLaunchKernel(kernels["add"], 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  address = 0;
  value = 4;
  count = 0;
  gate.open();
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(words) == 3);
}

TEST(KernelsShareMemoryInABlock) {
  Kernels kernels;
  StreamOf stream;
  Pinned<uint32_t> words(512);
  DeviceMemory memory(512 * 4), counts(8);
  for (uint32_t i = 0; i < 512; ++i)
    words[i] = i;
  OK(api().cuMemcpyHtoDAsync(memory, words.data, 512 * 4, stream));
  OK(launch(kernels["turn_round"], 2, 256, 256 * 4, stream, memory.address));
  OK(launch(kernels["count_threads"], 2, 96, 0, stream, counts.address));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(memory) == 255 && wordAt(memory + 4) == 254 && wordAt(memory + 256 * 4) == 511);
  CHECK(wordAt(counts) == 96 && wordAt(counts + 4) == 96);
}

// More than 48 KiB of dynamic shared memory has to be asked for.
TEST(KernelsAskForMuchSharedMemory) {
  Kernels kernels;
  StreamOf stream;
  DeviceMemory words(256 * 4);
  OK(api().cuMemsetD32Async(words, 1, 256, stream));
  CUfunction function = kernels["turn_round"];
  GIVES(CUDA_ERROR_INVALID_VALUE, launch(function, 1, 256, 64 * 1024, stream, words.address));
  OK(api().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
  OK(launch(function, 1, 256, 64 * 1024, stream, words.address));
  GIVES(CUDA_ERROR_INVALID_VALUE,
        api().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 24));
  OK(api().cuStreamSynchronize(stream));
  int bytes = 0;
  OK(api().cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernels["count_threads"]));
  CHECK(bytes == 1024);
}

TEST(KernelsHaveLimits) {
  Kernels kernels;
  StreamOf stream;
  GIVES(CUDA_ERROR_INVALID_VALUE, launch(kernels["nothing"], 1, 1025, 0, stream));
  GIVES(CUDA_ERROR_INVALID_VALUE, launch(kernels["nothing"], 0, 32, 0, stream));
  GIVES(CUDA_ERROR_INVALID_VALUE, launch(kernels["nothing"], 1, 0, 0, stream));
  OK(launch(kernels["nothing"], 1, 1024, 0, stream));
  OK(api().cuStreamSynchronize(stream));
  int blocks = 0;
  OK(api().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels["nothing"], 128, 0));
  CHECK(blocks >= 1);
}

TEST(KernelsThatAreNotThere) {
  Kernels kernels;
  CUfunction function;
  GIVES(CUDA_ERROR_NOT_FOUND, api().cuModuleGetFunction(&function, kernels.module, "no_such_kernel"));
  CUmodule module;
  GIVES(CUDA_ERROR_INVALID_IMAGE, api().cuModuleLoadDataEx(&module, "no image at all", 0, nullptr, nullptr));
}

TEST(KernelsOfLibraries) {
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  OK(api().cuLibraryLoadData(&library, kernelsPtx(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  GIVES(CUDA_ERROR_NOT_FOUND, api().cuLibraryGetKernel(&kernel, library, "no_such_kernel"));
  OK(api().cuLibraryGetKernel(&kernel, library, "add"));
  OK(api().cuKernelGetFunction(&function, kernel));
  StreamOf stream;
  DeviceMemory words(4);
  OK(api().cuMemsetD32Async(words, 1, 1, stream));
  CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, stream, nullptr, 0};
  CUdeviceptr address = words;
  uint32_t value = 1;
  uint64_t count = 1;
  void *parameters[] = {&address, &value, &count};
  OK(api().cuLaunchKernelEx(&config, function, parameters, nullptr));
  OK(api().cuStreamSynchronize(stream));
  CHECK(wordAt(words) == 2);
  OK(api().cuLibraryUnload(library));
}

TEST(GraphsOfKernels) {
  Kernels kernels;
  StreamOf a, b;
  EventOf fork, join;
  DeviceMemory words(300 * 4), copies(300 * 4);
  OK(api().cuMemsetD32Async(words, 0, 300, a));
  OK(api().cuStreamSynchronize(a));
  beginCapture(a);
  OK(launch(kernels["add"], 3, 100, 0, a, words.address, 1u, uint64_t(300)));
  OK(api().cuEventRecord(fork, a));
  OK(api().cuStreamWaitEvent(b, fork, CU_EVENT_WAIT_DEFAULT));
  OK(launch(kernels["copy_words"], 2, 100, 0, b, copies.address, words.address, uint64_t(150)));
  OK(launch(kernels["copy_words"], 2, 100, 0, a, copies.address + 600, words.address + 600, uint64_t(150)));
  OK(api().cuEventRecord(join, b));
  OK(api().cuStreamWaitEvent(a, join, CU_EVENT_WAIT_DEFAULT));
  CapturedGraph graph(a);
  for (int i = 0; i < 7; ++i)
    OK(api().cuGraphLaunch(graph.exec, a));
  OK(api().cuStreamSynchronize(a));
  CHECK(wordAt(copies) == 7 && wordAt(copies + 299 * 4) == 7);
}

// What a kernel does wrong is an error of the context from then on.
static void kernelFault(CUresult expected, const char *name, uint64_t offset) {
  Kernels kernels;
  StreamOf stream;
  DeviceMemory words(256);
  Gate gate;
  gate.closeOn(stream);
  OK(launch(kernels[name], 1, 1, 0, stream, words.address, offset));
  std::thread opens([&] { // most often while the host waits
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  CUresult result = api().cuStreamSynchronize(stream);
  opens.join();
  GIVES(expected, result);
  GIVES(expected, api().cuCtxSynchronize());
  CUdeviceptr more;
  GIVES(expected, api().cuMemAlloc(&more, 256));
}

TEST_ALONE(FaultsOfAddressesStay) { kernelFault(CUDA_ERROR_ILLEGAL_ADDRESS, "store_at", uint64_t(1) << 45); }
TEST_ALONE(FaultsOfAlignmentStay) { kernelFault(CUDA_ERROR_MISALIGNED_ADDRESS, "store_at", 2); }
