// All functions of the API that the stand-in exports.
#ifndef TESSERA_STANDIN_CUDA_DECLARATIONS_H
#define TESSERA_STANDIN_CUDA_DECLARATIONS_H

#include "MoreFunctions.h"

namespace tessera::cuda {
TESSERA_CUDA_DECLARE_FUNCTIONS
extern "C" {
STANDIN_MORE_FUNCTIONS(TESSERA_CUDA_DECLARE_FUNCTION)
}
} // namespace tessera::cuda

#endif
