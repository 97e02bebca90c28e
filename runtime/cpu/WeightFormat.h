// What own kernels are given: how they call a type of weights, and x in float32.
#ifndef TESSERA_RUNTIME_CPU_WEIGHTFORMAT_H
#define TESSERA_RUNTIME_CPU_WEIGHTFORMAT_H

#include "GemmKernels.h"
#include "tessera/runtime/core/ThreadPool.h"
#include "tessera/runtime/io/DType.h"

namespace tessera::runtime {

// Throws Error for a type that no kernel reads.
WeightFormat formatOf(io::DType type);

// to[0, count), by all threads.
void widenAll(ThreadPool &pool, io::DType type, const void *from, int64_t count, float *to);

} // namespace tessera::runtime
#endif
