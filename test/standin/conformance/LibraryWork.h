// Work of another library, as the stand-ins of cuBLASLt and NCCL give it.
#ifndef TESSERA_STANDIN_CONFORMANCE_LIBRARYWORK_H
#define TESSERA_STANDIN_CONFORMANCE_LIBRARYWORK_H

#include "Suite.h"

#include "../cuda/Work.h" // behind the API: both name CUstream_st

#include <dlfcn.h>

namespace conformance {

inline int enqueue(CUstream stream, const StandinWork &work) {
  auto function =
      reinterpret_cast<int (*)(::CUstream_st *, const StandinWork *)>(dlsym(api().library, "standinEnqueue"));
  return function(reinterpret_cast<::CUstream_st *>(stream), &work);
}

// A stream stops here until open() is called. Unlike Gate it is no function of the host, of which the
// stand-in cannot know what it writes.
class WorkGate {
public:
  void closeOn(CUstream stream) {
    StandinWork work{};
    work.name = "a gate";
    work.context = this;
    work.begin = [](void *gate) { return gate; };
    work.advance = [](void *gate) { return int(static_cast<WorkGate *>(gate)->isOpen.load()); };
    CHECK(enqueue(stream, work) == 0);
  }
  void open() { isOpen = true; }

private:
  std::atomic<bool> isOpen{false};
};

} // namespace conformance
#endif
