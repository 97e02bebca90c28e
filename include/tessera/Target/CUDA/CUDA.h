// NVIDIA GPUs in the list of targets.
#ifndef TESSERA_TARGET_CUDA_CUDA_H
#define TESSERA_TARGET_CUDA_CUDA_H

#include "tessera/Target/Target.h"

namespace tessera {

/// `cuda`: kernels as PTX and cubins, products by cuBLASLt, collectives by NCCL. docs/TargetCUDA.md.
TargetDescription describeCUDA();

} // namespace tessera
#endif
