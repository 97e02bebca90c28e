// Which GPU of its machine a rank takes.
#ifndef TESSERA_RUNTIME_CUDA_CUDAPLACEMENT_H
#define TESSERA_RUNTIME_CUDA_CUDAPLACEMENT_H

#include "CudaLibrary.h"
#include "tessera/runtime/comm/HostPlane.h"

#include <string>
#include <vector>

namespace tessera::runtime {

// What ranks tell each other of where they are; sent as it is.
struct RankPlace {
  char machine[64] = {}; // its name, or TESSERA_MACHINE
  cuda::CUuuid gpu = {};
  int32_t shown = 0; // how many GPUs its process sees
};

// The number, among those that this process sees, of the GPU that `rank` takes: its place among the ranks of
// its machine, round the number of GPUs where each process is shown its own. TESSERA_CUDA_DEVICE names it
// instead. Every rank calls it, with `plane` (null: alone). Throws Error where two ranks would share a GPU,
// unless the variable says so.
cuda::CUdevice chooseDevice(const CudaLibrary &cuda, int64_t rank, HostPlane *plane);

// The place of `rank` among the ranks of its machine.
int64_t localRank(const std::vector<RankPlace> &places, int64_t rank);
// Throws Error naming the first rank that shares its GPU with one before it.
void checkNoneShared(const std::vector<RankPlace> &places);

} // namespace tessera::runtime
#endif
