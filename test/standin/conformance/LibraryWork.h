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

} // namespace conformance
#endif
