#include "CudaKernels.h"

// The PTX itself, so that this program runs on a machine that has nothing else of ours.
asm(".pushsection .rodata\n"
    ".global tessera_test_ptx, tessera_test_ptx_end\n"
    "tessera_test_ptx: .incbin \"" CUDA_TEST_PTX "\"\n"
    "tessera_test_ptx_end: .byte 0\n"
    ".popsection\n");
extern "C" const char tessera_test_ptx[], tessera_test_ptx_end[];

namespace tessera::runtime {

const ts_program &cudaTestProgram() {
  static const ts_image images[] = {
      {"compute_80", tessera_test_ptx, uint64_t(tessera_test_ptx_end - tessera_test_ptx)}};
  static const ts_kernel_buffer buffers[] = {{kTestSize * 4, TS_READ}, {kTestSize * 4, TS_UPDATE}};
  static const ts_kernel kernels[] = {{"add", nullptr, buffers, 2, 2, 32, 0, 64},
                                      {"fault", nullptr, buffers + 1, 1, 0, 32, 0, 1},
                                      {"reverse", nullptr, buffers + 1, 1, 0, 64, 56 << 10, 64},
                                      {"mirror", nullptr, buffers + 1, 1, 0, 64, 16 << 10, 64}};
  static const ts_program program = {
      TESSERA_ABI_VERSION, 0, 4, "", 0, nullptr, kernels, images, 1, nullptr, 0};
  return program;
}

const ts_sibling &cudaTestSibling() {
  static const ts_sibling sibling = {"add$narrow", "add of 1000",        AddKernel, 16, 0, 0, 10, 5,
                                     kTestSize,    (kTestSize + 15) / 16};
  return sibling;
}

} // namespace tessera::runtime
