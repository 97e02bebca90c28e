// Functions of the API that the runtime does not use, and other programs and the suite of conformance do; the
// form of the table is that of runtime/cuda/api/Cuda.h, whose functions a driver must have. One that the
// runtime begins to use moves there. Declares all that is exported.
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
  X(cuDeviceGetPCIBusId, , 4010, (char *id, int length, CUdevice device))                                    \
  X(cuMemcpyHtoD, _v2, 3020, (CUdeviceptr to, const void *from, size_t bytes))                               \
  X(cuMemcpyDtoH, _v2, 3020, (void *to, CUdeviceptr from, size_t bytes))                                     \
  X(cuMemcpyDtoD, _v2, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                               \
  X(cuMemcpyPeerAsync, , 4000,                                                                               \
    (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t bytes,             \
     CUstream stream))                                                                                       \
  X(cuMemsetD8, _v2, 3020, (CUdeviceptr to, unsigned char value, size_t count))                              \
  X(cuMemsetD32, _v2, 3020, (CUdeviceptr to, unsigned int value, size_t count))                              \
  X(cuPointerGetAttribute, , 4000, (void *value, CUpointer_attribute attribute, CUdeviceptr address))        \
  X(cuStreamWriteValue32, _v2, 11070,                                                                        \
    (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags))                              \
  X(cuLaunchHostFunc, , 10000, (CUstream stream, CUhostFn function, void *userData))                         \
  X(cuLibraryLoadData, , 12000,                                                                              \
    (CUlibrary * library, const void *code, CUjit_option *jitOptions, void **jitOptionValues,                \
     unsigned int jitOptionCount, CUlibraryOption *libraryOptions, void **libraryOptionValues,               \
     unsigned int libraryOptionCount))                                                                       \
  X(cuLibraryUnload, , 12000, (CUlibrary library))                                                           \
  X(cuLibraryGetKernel, , 12000, (CUkernel * kernel, CUlibrary library, const char *name))                   \
  X(cuKernelGetFunction, , 12000, (CUfunction * function, CUkernel kernel))                                  \
  X(cuLaunchKernelEx, , 11060,                                                                               \
    (const CUlaunchConfig *config, CUfunction function, void **kernelParams, void **extra))                  \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, , 6050,                                                     \
    (int *blocks, CUfunction function, int blockSize, size_t dynamicSharedBytes))                            \
  X(cuThreadExchangeStreamCaptureMode, , 10010, (CUstreamCaptureMode * mode))

#endif
