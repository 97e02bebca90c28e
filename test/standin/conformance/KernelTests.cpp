// Modules, kernels and launches.
#include "Kernels.h"

#include <cstddef>
#include <cstring>
#include <elf.h>
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

// PTX and cubins for another architecture alone are refused by later devices, too, of whatever generation.
TEST(ImagesForOneArchitectureAlone) {
  int major = 0, minor = 0;
  OK(api().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  OK(api().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  std::string ptx = kernelsPtx(), target = ".target sm_80";
  auto loadFor = [&](const char *architecture) {
    std::string text = ptx;
    text.replace(text.find(target), target.size(), std::string(".target sm_") + architecture);
    CUmodule module;
    return api().cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr);
  };
  for (auto [architecture, number] : {std::pair("90a", 90), {"100a", 100}, {"103a", 103}, {"120a", 120}})
    if (number != 10 * major + minor)
      GIVES(CUDA_ERROR_INVALID_PTX, loadFor(architecture));
  for (auto [architecture, number] : {std::pair("100f", 100), {"120f", 120}})
    if (number / 10 != major)
      GIVES(CUDA_ERROR_INVALID_PTX, loadFor(architecture));
  if (!api().isStandin) // where it fits it would be loaded, and the stand-in has no module of that name
    return;
  GIVES(major == 9 ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_PTX, loadFor("90a"));
  GIVES(major >= 10 && major < 11 ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_PTX, loadFor("100f"));
}

// What ptxas writes for `target`, as far as it matters: a header, .nv.compat and the names of the two.
static std::vector<char> cubinFor(int number, bool alone) {
  struct {
    Elf64_Ehdr header = {};
    Elf64_Shdr sections[2] = {};
    char names[24] = "\0.nv.compat\0.shstrtab";
    char compat[16] = {4, 11, 4, 0, 2, 9, 1, 0, 2, 9, 0, 0};
  } file;
  memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_ABIVERSION] = 8;
  file.header.e_machine = 190;
  file.header.e_flags = unsigned(number) << 8 | 0x06000004;
  file.header.e_shoff = offsetof(decltype(file), sections);
  file.header.e_shentsize = sizeof(Elf64_Shdr);
  file.header.e_shnum = 2;
  file.header.e_shstrndx = 1;
  file.compat[10] = alone; // the four bytes before are the value of another attribute
  file.sections[0].sh_name = 1;
  file.sections[0].sh_offset = offsetof(decltype(file), compat);
  file.sections[0].sh_size = 12;
  file.sections[1].sh_name = 12;
  file.sections[1].sh_offset = offsetof(decltype(file), names);
  file.sections[1].sh_size = sizeof(file.names);
  auto *bytes = reinterpret_cast<char *>(&file);
  return {bytes, bytes + sizeof(file)};
}

TEST(CubinsForOneArchitectureAlone) {
  if (!api().isStandin) // nothing can be run of these
    return;
  int major = 0, minor = 0;
  OK(api().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  OK(api().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  CUmodule module;
  for (int number : {80, 86, 90, 100, 103})
    for (bool alone : {false, true}) {
      bool fits = alone ? number == 10 * major + minor : number / 10 == major && number % 10 <= minor;
      GIVES(fits ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_NO_BINARY_FOR_GPU,
            api().cuModuleLoadDataEx(&module, cubinFor(number, alone).data(), 0, nullptr, nullptr));
    }
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
