// How own kernels call a type of weights.
#ifndef TESSERA_RUNTIME_CPU_WEIGHTFORMAT_H
#define TESSERA_RUNTIME_CPU_WEIGHTFORMAT_H

#include "GemmKernels.h"
#include "tessera/runtime/io/DType.h"

namespace tessera::runtime {

// Throws Error for a type that no kernel reads.
WeightFormat formatOf(io::DType type);

} // namespace tessera::runtime
#endif
