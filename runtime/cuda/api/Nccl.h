// What we use of NCCL, in our own words: types, values and the table of functions. No header of NCCL is
// needed to build or to run; where one is installed, a test compares (runtime/test/NcclApiTest.cpp). Names
// are those of the library, so that its manual is the manual of this file.
//
// The runtime opens libnccl.so.2 and fills a table of pointers (comm/nccl/NcclLibrary.h). The stand-in
// defines the functions: TESSERA_NCCL_DECLARE_FUNCTIONS declares all of them as the library exports them.
#ifndef TESSERA_RUNTIME_CUDA_API_NCCL_H
#define TESSERA_RUNTIME_CUDA_API_NCCL_H

#include "Cuda.h"

namespace tessera::nccl {

using cuda::CUstream;

typedef struct ncclComm *ncclComm_t;

// Ranks that are given the same one find each other.
struct ncclUniqueId {
  char internal[128];
};

// Each list is X(name, value); the enumeration is made of it, and so is the comparison with the real header.
#define TESSERA_NCCL_RESULTS(X)                                                                              \
  X(ncclSuccess, 0)                                                                                          \
  X(ncclUnhandledCudaError, 1)                                                                               \
  X(ncclSystemError, 2)                                                                                      \
  X(ncclInternalError, 3)                                                                                    \
  X(ncclInvalidArgument, 4)                                                                                  \
  X(ncclInvalidUsage, 5)                                                                                     \
  X(ncclRemoteError, 6)                                                                                      \
  X(ncclInProgress, 7)

#define TESSERA_NCCL_OPERATIONS(X)                                                                           \
  X(ncclSum, 0)                                                                                              \
  X(ncclProd, 1)                                                                                             \
  X(ncclMax, 2)                                                                                              \
  X(ncclMin, 3)                                                                                              \
  X(ncclAvg, 4)

#define TESSERA_NCCL_TYPES(X)                                                                                \
  X(ncclInt8, 0)                                                                                             \
  X(ncclUint8, 1)                                                                                            \
  X(ncclInt32, 2)                                                                                            \
  X(ncclUint32, 3)                                                                                           \
  X(ncclInt64, 4)                                                                                            \
  X(ncclUint64, 5)                                                                                           \
  X(ncclFloat16, 6)                                                                                          \
  X(ncclFloat32, 7)                                                                                          \
  X(ncclFloat64, 8)                                                                                          \
  X(ncclBfloat16, 9)

#define TESSERA_NCCL_ENUMERATOR(name, value) name = value,
enum ncclResult_t : unsigned { TESSERA_NCCL_RESULTS(TESSERA_NCCL_ENUMERATOR) };
enum ncclRedOp_t : unsigned { TESSERA_NCCL_OPERATIONS(TESSERA_NCCL_ENUMERATOR) };
enum ncclDataType_t : unsigned { TESSERA_NCCL_TYPES(TESSERA_NCCL_ENUMERATOR) };

constexpr int kNoColor = -1; // NCCL_SPLIT_NOCOLOR: this rank gets no communicator

// ncclGetVersion gives major * 10000 + minor * 100 + patch.
constexpr int kOldestNccl = 21800; // the first with ncclCommSplit

// X(name, result, parameters). The last argument of ncclCommSplit is a configuration; null: that of `comm`.
#define TESSERA_NCCL_FUNCTIONS(X)                                                                            \
  X(ncclGetVersion, ncclResult_t, (int *version))                                                            \
  X(ncclGetErrorString, const char *, (ncclResult_t result))                                                 \
  X(ncclGetLastError, const char *, (ncclComm_t comm))                                                       \
  X(ncclGetUniqueId, ncclResult_t, (ncclUniqueId * id))                                                      \
  X(ncclCommInitRank, ncclResult_t, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank))               \
  X(ncclCommSplit, ncclResult_t, (ncclComm_t comm, int color, int key, ncclComm_t *split, void *config))     \
  X(ncclCommFinalize, ncclResult_t, (ncclComm_t comm))                                                       \
  X(ncclCommDestroy, ncclResult_t, (ncclComm_t comm))                                                        \
  X(ncclCommAbort, ncclResult_t, (ncclComm_t comm))                                                          \
  X(ncclCommGetAsyncError, ncclResult_t, (ncclComm_t comm, ncclResult_t * error))                            \
  X(ncclAllReduce, ncclResult_t,                                                                             \
    (const void *src, void *dst, size_t count, ncclDataType_t type, ncclRedOp_t operation, ncclComm_t comm,  \
     CUstream stream))                                                                                       \
  X(ncclReduceScatter, ncclResult_t,                                                                         \
    (const void *src, void *dst, size_t dstCount, ncclDataType_t type, ncclRedOp_t operation,                \
     ncclComm_t comm, CUstream stream))                                                                      \
  X(ncclAllGather, ncclResult_t,                                                                             \
    (const void *src, void *dst, size_t srcCount, ncclDataType_t type, ncclComm_t comm, CUstream stream))    \
  X(ncclBroadcast, ncclResult_t,                                                                             \
    (const void *src, void *dst, size_t count, ncclDataType_t type, int root, ncclComm_t comm,               \
     CUstream stream))                                                                                       \
  X(ncclReduce, ncclResult_t,                                                                                \
    (const void *src, void *dst, size_t count, ncclDataType_t type, ncclRedOp_t operation, int root,         \
     ncclComm_t comm, CUstream stream))                                                                      \
  X(ncclSend, ncclResult_t,                                                                                  \
    (const void *src, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))        \
  X(ncclRecv, ncclResult_t,                                                                                  \
    (void *dst, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))              \
  X(ncclGroupStart, ncclResult_t, ())                                                                        \
  X(ncclGroupEnd, ncclResult_t, ())

// Pointers to all of them.
struct Functions {
#define TESSERA_NCCL_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  TESSERA_NCCL_FUNCTIONS(TESSERA_NCCL_MEMBER)
#undef TESSERA_NCCL_MEMBER
};

// Declares every function with C linkage: for a library that defines them. Stands in namespace tessera::nccl.
#define TESSERA_NCCL_DECLARE_FUNCTION(name, result, parameters)                                              \
  __attribute__((visibility("default"))) result name parameters;
#define TESSERA_NCCL_DECLARE_FUNCTIONS                                                                       \
  extern "C" {                                                                                               \
  TESSERA_NCCL_FUNCTIONS(TESSERA_NCCL_DECLARE_FUNCTION)                                                      \
  }

} // namespace tessera::nccl
#endif
