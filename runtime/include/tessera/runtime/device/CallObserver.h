// Who is told of the calls of generated code: for traces, and for the search of a first value that is not
// finite. A rank has none unless somebody asks; a call costs one comparison then.
#ifndef TESSERA_RUNTIME_DEVICE_CALLOBSERVER_H
#define TESSERA_RUNTIME_DEVICE_CALLOBSERVER_H

#include "tessera/runtime/core/CallTree.h"

#include <cstdint>

namespace tessera::runtime {

struct ObservedCall {
  CallKind kind;
  int64_t number = -1; // of a kernel, a matmul, a collective, a parameter
  // Of a launch.
  void *const *buffers = nullptr;
  const int64_t *scalars = nullptr;
  const void *dst = nullptr; // what another call writes
  int64_t token = -1;        // of what was begun (once it was), and of what is waited for
  int64_t flag = -1;         // what was read
};

// Called by the rank's main thread.
class CallObserver {
public:
  virtual ~CallObserver() = default;
  virtual void begin(const ObservedCall &call) = 0;
  virtual void end(const ObservedCall &call) = 0; // it was given to its stream
};

} // namespace tessera::runtime
#endif
