// Functions of the API that the runtime does not use yet and other programs do; the form of the table is that
// of runtime/cuda/api/Cuda.h. A function that the runtime begins to use moves there. Declares all that is
// exported.
#ifndef TESSERA_STANDIN_CUDA_MOREFUNCTIONS_H
#define TESSERA_STANDIN_CUDA_MOREFUNCTIONS_H

#include "../../../runtime/cuda/api/Cuda.h"

#define STANDIN_MORE_FUNCTIONS(X)                                                                            \
  X(cuDeviceCanAccessPeer, , 4000, (int *can, CUdevice device, CUdevice peer))                               \
  X(cuCtxGetDevice, , 2000, (CUdevice * device))                                                             \
  X(cuCtxEnablePeerAccess, , 4000, (CUcontext peer, unsigned int flags))                                     \
  X(cuMemHostRegister, _v2, 6050, (void *data, size_t bytes, unsigned int flags))                            \
  X(cuMemHostUnregister, , 4000, (void *data))                                                               \
  X(cuMemsetD16Async, , 3020, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream))         \
  X(cuStreamCreate, , 2000, (CUstream * stream, unsigned int flags))                                         \
  X(cuThreadExchangeStreamCaptureMode, , 10010, (CUstreamCaptureMode * mode))

#endif
