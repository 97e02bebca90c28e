// The device memory of a rank, added up without a device: what `info` says, and what is missing where there
// is too little.
#ifndef TESSERA_RUNTIME_DEVICE_DEVICEMEMORY_H
#define TESSERA_RUNTIME_DEVICE_DEVICEMEMORY_H

#include "tessera/runtime/abi.h"
#include "tessera/runtime/device/Weights.h"

namespace tessera::runtime {

// Bytes. What libraries and drivers keep for themselves (a context, NCCL's buffers) is not known here.
struct DeviceMemory {
  int64_t weights = 0, arena = 0;
  int64_t workspace = 0; // scratch memory of products
  int64_t staging = 0;   // of collectives whose boxes are packed
  int64_t outputs = 0;   // that are kept as inputs of other entries, once those are called: with --logits
  int64_t code = 0;
  // What every run takes.
  int64_t total() const { return weights + arena + workspace + staging + code; }
};

DeviceMemory deviceMemory(const ts_program &program, const Manifest &manifest, const WeightPlan &plan,
                          int64_t rank);

} // namespace tessera::runtime
#endif
