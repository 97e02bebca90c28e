#include "CudaKernels.h"

#include <fstream>
#include <iterator>
#include <string>

namespace tessera::runtime {

const ts_program &cudaTestProgram() {
  static const std::string ptx = [] {
    std::ifstream file(CUDA_TEST_PTX);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  static const ts_image images[] = {{"compute_80", ptx.c_str(), ptx.size()}};
  static const ts_kernel_buffer buffers[] = {{kTestSize * 4, TS_READ}, {kTestSize * 4, TS_UPDATE}};
  static const ts_kernel kernels[] = {{"add", nullptr, buffers, 2, 2, 32, 0, 64},
                                      {"fault", nullptr, buffers + 1, 1, 0, 32, 0, 1},
                                      {"reverse", nullptr, buffers + 1, 1, 0, 64, 56 << 10, 64}};
  static const ts_program program = {TESSERA_ABI_VERSION, 0, 3, "", 0, nullptr, kernels, images, 1};
  return program;
}

} // namespace tessera::runtime
