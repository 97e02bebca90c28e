// The kernels of kernels.c as a program has them.
#ifndef TESSERA_RUNTIME_TEST_CUDA_CUDAKERNELS_H
#define TESSERA_RUNTIME_TEST_CUDA_CUDAKERNELS_H

#include "tessera/runtime/abi.h"

namespace tessera::runtime {

// Numbers of its kernels.
enum TestKernel { AddKernel, FaultKernel, ReverseKernel, MirrorKernel };
constexpr int64_t kTestSize = 1000; // elements of the buffers of `add`

// One image, PTX.
const ts_program &cudaTestProgram();
// Another form of `add`, which no program has yet: it gives a half more.
const ts_sibling &cudaTestSibling();

} // namespace tessera::runtime
#endif
