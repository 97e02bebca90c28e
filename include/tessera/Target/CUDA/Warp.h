// The threads that a GPU runs together.
#ifndef TESSERA_TARGET_CUDA_WARP_H
#define TESSERA_TARGET_CUDA_WARP_H

#include <cstdint>

namespace tessera {

/// Threads of a warp; so many lanes meet in a shuffle.
inline constexpr int64_t kWarp = 32;

} // namespace tessera

#endif
