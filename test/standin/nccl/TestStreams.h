// Streams for unit tests of the stand-in of NCCL: a thread goes on with the first work of each stream, in an
// order drawn at random.
#ifndef TESSERA_TEST_STANDIN_NCCL_TESTSTREAMS_H
#define TESSERA_TEST_STANDIN_NCCL_TESTSTREAMS_H

#include "../../../runtime/cuda/api/Cuda.h"

namespace standin::nccl {

// Any number names a stream.
inline tessera::cuda::CUstream testStream(int number) {
  return reinterpret_cast<tessera::cuda::CUstream>(uintptr_t(number) + 1);
}
// Waits until all that was given to the stream is done.
void synchronize(tessera::cuda::CUstream stream);

} // namespace standin::nccl
#endif
