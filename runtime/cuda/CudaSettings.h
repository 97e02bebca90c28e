// What the environment says of how GPUs are used.
#ifndef TESSERA_RUNTIME_CUDA_CUDASETTINGS_H
#define TESSERA_RUNTIME_CUDA_CUDASETTINGS_H

#include "tessera/runtime/core/Environment.h"

namespace tessera::runtime {

struct CudaSettings {
  bool synchronous = false;   // TESSERA_CUDA_SYNC=1: each launch is waited for, and a fault names its kernel
  bool graphs = true;         // TESSERA_CUDA_GRAPHS=0: entries are not recorded
  bool deterministic = false; // TESSERA_DETERMINISTIC=1: neither products nor siblings are measured
  std::string sibling;        // TESSERA_SIBLING=FORM: kernels that have one of that form take it; none
  bool verbose = false;       // TESSERA_VERBOSE=1: remarks on stderr

  // Throws Error if a variable is neither 0 nor 1.
  static CudaSettings fromEnvironment() {
    CudaSettings settings;
    settings.synchronous = environmentSwitch("TESSERA_CUDA_SYNC", false);
    settings.graphs = environmentSwitch("TESSERA_CUDA_GRAPHS", true) && !settings.synchronous;
    settings.deterministic = environmentSwitch("TESSERA_DETERMINISTIC", false);
    const char *sibling = getenv("TESSERA_SIBLING");
    settings.sibling = sibling ? sibling : "";
    settings.verbose = environmentSwitch("TESSERA_VERBOSE", false);
    return settings;
  }
};

} // namespace tessera::runtime
#endif
