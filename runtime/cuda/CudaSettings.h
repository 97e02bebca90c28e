// What the environment says of how GPUs are used.
#ifndef TESSERA_RUNTIME_CUDA_CUDASETTINGS_H
#define TESSERA_RUNTIME_CUDA_CUDASETTINGS_H

#include <cstdlib>
#include <string>

namespace tessera::runtime {

struct CudaSettings {
  bool synchronous = false;   // TESSERA_CUDA_SYNC=1: each launch is waited for, and a fault names its kernel
  bool graphs = true;         // TESSERA_CUDA_GRAPHS=0: entries are not recorded
  bool deterministic = false; // TESSERA_DETERMINISTIC=1: algorithms of products are not measured
  bool verbose = false;       // TESSERA_VERBOSE=1: remarks on stderr

  static CudaSettings fromEnvironment() {
    auto is = [](const char *name, char value) {
      const char *text = getenv(name);
      return text && text[0] == value && !text[1];
    };
    CudaSettings settings;
    settings.synchronous = is("TESSERA_CUDA_SYNC", '1');
    settings.graphs = !settings.synchronous && !is("TESSERA_CUDA_GRAPHS", '0');
    settings.deterministic = is("TESSERA_DETERMINISTIC", '1');
    settings.verbose = is("TESSERA_VERBOSE", '1');
    return settings;
  }
};

} // namespace tessera::runtime
#endif
