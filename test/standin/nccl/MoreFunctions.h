// Functions of NCCL that the runtime does not use; a library need not have them for it. The form of the table
// is that of runtime/cuda/api/Nccl.h. One that the runtime begins to use moves there.
#ifndef TESSERA_STANDIN_NCCL_MOREFUNCTIONS_H
#define TESSERA_STANDIN_NCCL_MOREFUNCTIONS_H

#include "../../../runtime/cuda/api/Nccl.h"

#define STANDIN_MORE_NCCL_FUNCTIONS(X)                                                                       \
  X(ncclBroadcast, ncclResult_t,                                                                             \
    (const void *src, void *dst, size_t count, ncclDataType_t type, int root, ncclComm_t comm,               \
     CUstream stream))

#endif
