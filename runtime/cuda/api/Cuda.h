// What we use of the CUDA driver API, in our own words: types, values, layouts of structures and the table of
// functions. No header of the toolkit is needed to build or to run; where one is installed, a test compares
// (runtime/test/CudaApiTest.cpp). Names are those of the API, so that its manual is the manual of this file.
//
// The runtime opens libcuda.so.1 and fills a table of pointers (CudaLibrary.h). The stand-in defines the
// functions: TESSERA_CUDA_DECLARE_FUNCTIONS declares all of them as the library exports them.
#ifndef TESSERA_RUNTIME_CUDA_API_CUDA_H
#define TESSERA_RUNTIME_CUDA_API_CUDA_H

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

// --- Handles ---

typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void (*CUhostFn)(void *userData);

// --- Values ---
// Each list is X(name, value); the enumeration is made of it, and so is the comparison with the toolkit.

#define TESSERA_CUDA_RESULTS(X)                                                                              \
  X(CUDA_SUCCESS, 0)                                                                                         \
  X(CUDA_ERROR_INVALID_VALUE, 1)                                                                             \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                             \
  X(CUDA_ERROR_NOT_INITIALIZED, 3)                                                                           \
  X(CUDA_ERROR_DEINITIALIZED, 4)                                                                             \
  X(CUDA_ERROR_STUB_LIBRARY, 34)                                                                             \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                                                       \
  X(CUDA_ERROR_NO_DEVICE, 100)                                                                               \
  X(CUDA_ERROR_INVALID_DEVICE, 101)                                                                          \
  X(CUDA_ERROR_INVALID_IMAGE, 200)                                                                           \
  X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                                         \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                                       \
  X(CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                                       \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)                                                                 \
  X(CUDA_ERROR_INVALID_PTX, 218)                                                                             \
  X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                                                                    \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)                                                                  \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                                 \
  X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223)                                                                \
  X(CUDA_ERROR_INVALID_SOURCE, 300)                                                                          \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301)                                                                          \
  X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302)                                                          \
  X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303)                                                               \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304)                                                                        \
  X(CUDA_ERROR_INVALID_HANDLE, 400)                                                                          \
  X(CUDA_ERROR_ILLEGAL_STATE, 401)                                                                           \
  X(CUDA_ERROR_NOT_FOUND, 500)                                                                               \
  X(CUDA_ERROR_NOT_READY, 600)                                                                               \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                                         \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                                 \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                                          \
  X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708)                                                                  \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                                                    \
  X(CUDA_ERROR_ASSERT, 710)                                                                                  \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712)                                                          \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713)                                                              \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                                    \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                                     \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                                      \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                                   \
  X(CUDA_ERROR_INVALID_PC, 718)                                                                              \
  X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                                           \
  X(CUDA_ERROR_NOT_PERMITTED, 800)                                                                           \
  X(CUDA_ERROR_NOT_SUPPORTED, 801)                                                                           \
  X(CUDA_ERROR_SYSTEM_NOT_READY, 802)                                                                        \
  X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                                  \
  X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804)                                                          \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                                                              \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                                                              \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)                                                                    \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)                                                                \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)                                                                 \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)                                                                \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                                                                 \
  X(CUDA_ERROR_CAPTURED_EVENT, 907)                                                                          \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)                                                             \
  X(CUDA_ERROR_TIMEOUT, 909)                                                                                 \
  X(CUDA_ERROR_UNKNOWN, 999)

#define TESSERA_CUDA_DEVICE_ATTRIBUTES(X)                                                                    \
  X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                                                                   \
  X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6)                                                                   \
  X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7)                                                                   \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                      \
  X(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                                                       \
  X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12)                                                         \
  X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                                                      \
  X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                            \
  X(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19)                                                             \
  X(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31)                                                              \
  X(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33)                                                                      \
  X(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34)                                                                   \
  X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                                                               \
  X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                                                         \
  X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                                   \
  X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                  \
  X(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 40)                                                              \
  X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                                                              \
  X(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50)                                                                   \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                        \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                        \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                                                \
  X(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                                                              \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                               \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)                                                  \
  X(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111)

#define TESSERA_CUDA_FUNCTION_ATTRIBUTES(X)                                                                  \
  X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                              \
  X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                                  \
  X(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2)                                                                   \
  X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                                                   \
  X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                                           \
  X(CU_FUNC_ATTRIBUTE_PTX_VERSION, 5)                                                                        \
  X(CU_FUNC_ATTRIBUTE_BINARY_VERSION, 6)                                                                     \
  X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                      \
  X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)

#define TESSERA_CUDA_POINTER_ATTRIBUTES(X)                                                                   \
  X(CU_POINTER_ATTRIBUTE_CONTEXT, 1)                                                                         \
  X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                                                     \
  X(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3)                                                                  \
  X(CU_POINTER_ATTRIBUTE_HOST_POINTER, 4)                                                                    \
  X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                                                  \
  X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11)                                                               \
  X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12)

#define TESSERA_CUDA_JIT_OPTIONS(X)                                                                          \
  X(CU_JIT_INFO_LOG_BUFFER, 3)                                                                               \
  X(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 4)                                                                    \
  X(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                              \
  X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                                                                   \
  X(CU_JIT_OPTIMIZATION_LEVEL, 7)                                                                            \
  X(CU_JIT_LOG_VERBOSE, 12)

#define TESSERA_CUDA_LIBRARY_OPTIONS(X)                                                                      \
  X(CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE, 0)                                                    \
  X(CU_LIBRARY_BINARY_IS_PRESERVED, 1)

#define TESSERA_CUDA_CAPTURE_MODES(X)                                                                        \
  X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                                                        \
  X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                                  \
  X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define TESSERA_CUDA_CAPTURE_STATUSES(X)                                                                     \
  X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                                        \
  X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                                                      \
  X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)

#define TESSERA_CUDA_PROC_ADDRESS_RESULTS(X)                                                                 \
  X(CU_GET_PROC_ADDRESS_SUCCESS, 0)                                                                          \
  X(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1)                                                                 \
  X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)

#define TESSERA_CUDA_LAUNCH_ATTRIBUTES(X)                                                                    \
  X(CU_LAUNCH_ATTRIBUTE_IGNORE, 0)                                                                           \
  X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                                                      \
  X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                                                \
  X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                                                \
  X(CU_LAUNCH_ATTRIBUTE_PRIORITY, 8)

#define TESSERA_CUDA_MEMORY_TYPES(X)                                                                         \
  X(CU_MEMORYTYPE_HOST, 1)                                                                                   \
  X(CU_MEMORYTYPE_DEVICE, 2)

// Flags and what else the API passes as plain numbers.
#define TESSERA_CUDA_FLAGS(X)                                                                                \
  X(CU_STREAM_DEFAULT, 0)                                                                                    \
  X(CU_STREAM_NON_BLOCKING, 1)                                                                               \
  X(CU_EVENT_DEFAULT, 0)                                                                                     \
  X(CU_EVENT_BLOCKING_SYNC, 1)                                                                               \
  X(CU_EVENT_DISABLE_TIMING, 2)                                                                              \
  X(CU_EVENT_WAIT_DEFAULT, 0)                                                                                \
  X(CU_MEMHOSTALLOC_PORTABLE, 1)                                                                             \
  X(CU_MEMHOSTALLOC_DEVICEMAP, 2)                                                                            \
  X(CU_MEMHOSTALLOC_WRITECOMBINED, 4)                                                                        \
  X(CU_GET_PROC_ADDRESS_DEFAULT, 0)                                                                          \
  X(CU_STREAM_WRITE_VALUE_DEFAULT, 0)

#define TESSERA_CUDA_ENUMERATOR(name, value) name = value,
enum CUresult : unsigned { TESSERA_CUDA_RESULTS(TESSERA_CUDA_ENUMERATOR) };
enum CUdevice_attribute : unsigned { TESSERA_CUDA_DEVICE_ATTRIBUTES(TESSERA_CUDA_ENUMERATOR) };
enum CUfunction_attribute : unsigned { TESSERA_CUDA_FUNCTION_ATTRIBUTES(TESSERA_CUDA_ENUMERATOR) };
enum CUpointer_attribute : unsigned { TESSERA_CUDA_POINTER_ATTRIBUTES(TESSERA_CUDA_ENUMERATOR) };
enum CUjit_option : unsigned { TESSERA_CUDA_JIT_OPTIONS(TESSERA_CUDA_ENUMERATOR) };
enum CUlibraryOption : unsigned { TESSERA_CUDA_LIBRARY_OPTIONS(TESSERA_CUDA_ENUMERATOR) };
enum CUstreamCaptureMode : unsigned { TESSERA_CUDA_CAPTURE_MODES(TESSERA_CUDA_ENUMERATOR) };
enum CUstreamCaptureStatus : unsigned { TESSERA_CUDA_CAPTURE_STATUSES(TESSERA_CUDA_ENUMERATOR) };
enum CUdriverProcAddressQueryResult : unsigned { TESSERA_CUDA_PROC_ADDRESS_RESULTS(TESSERA_CUDA_ENUMERATOR) };
enum CUlaunchAttributeID : unsigned { TESSERA_CUDA_LAUNCH_ATTRIBUTES(TESSERA_CUDA_ENUMERATOR) };
enum CUmemorytype : unsigned { TESSERA_CUDA_MEMORY_TYPES(TESSERA_CUDA_ENUMERATOR) };
enum CudaFlag : unsigned { TESSERA_CUDA_FLAGS(TESSERA_CUDA_ENUMERATOR) };

// --- Structures ---

struct CUuuid {
  char bytes[16];
};

// 64 bytes in the API; the members that we do not name lie in `pad`.
union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  struct {
    CUevent event;
    int flags, triggerAtBlockStart;
  } programmaticEvent;
  int priority;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
  unsigned int gridDimX, gridDimY, gridDimZ;
  unsigned int blockDimX, blockDimY, blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned int numAttrs;
};

typedef struct CUarray_st *CUarray;

// A box of bytes between two arrays: `Depth` slices of `Height` rows of `WidthInBytes`. Rows are a pitch
// apart, slices a height of rows.
struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

// --- Functions ---
// X(base, suffix, version, parameters): the library exports `base``suffix`; cuGetProcAddress is asked for
// `base` and `version`, the CUDA version (1000 * major + 10 * minor) in which this form of it came, and gives
// the latest form that is no newer. All return CUresult.

// The one function that is looked up by its exported name.
#define TESSERA_CUDA_FIRST_FUNCTION(X)                                                                       \
  X(cuGetProcAddress, _v2, 12000,                                                                            \
    (const char *symbol, void **function, int cudaVersion, uint64_t flags,                                   \
     CUdriverProcAddressQueryResult *symbolStatus))

#define TESSERA_CUDA_DEVICE_FUNCTIONS(X)                                                                     \
  X(cuInit, , 2000, (unsigned int flags))                                                                    \
  X(cuDriverGetVersion, , 2020, (int *version))                                                              \
  X(cuGetErrorName, , 6000, (CUresult error, const char **text))                                             \
  X(cuGetErrorString, , 6000, (CUresult error, const char **text))                                           \
  X(cuDeviceGetCount, , 2000, (int *count))                                                                  \
  X(cuDeviceGet, , 2000, (CUdevice * device, int ordinal))                                                   \
  X(cuDeviceGetName, , 2000, (char *name, int length, CUdevice device))                                      \
  X(cuDeviceGetAttribute, , 2000, (int *value, CUdevice_attribute attribute, CUdevice device))               \
  X(cuDeviceGetUuid, _v2, 11040, (CUuuid * uuid, CUdevice device))                                           \
  X(cuDeviceTotalMem, _v2, 3020, (size_t *bytes, CUdevice device))                                           \
  X(cuDevicePrimaryCtxRetain, , 7000, (CUcontext * context, CUdevice device))                                \
  X(cuDevicePrimaryCtxRelease, _v2, 11000, (CUdevice device))                                                \
  X(cuCtxSetCurrent, , 4000, (CUcontext context))                                                            \
  X(cuCtxGetCurrent, , 4000, (CUcontext * context))                                                          \
  X(cuCtxSynchronize, , 2000, ())                                                                            \
  X(cuCtxGetStreamPriorityRange, , 5050, (int *least, int *greatest))

#define TESSERA_CUDA_MEMORY_FUNCTIONS(X)                                                                     \
  X(cuMemAlloc, _v2, 3020, (CUdeviceptr * address, size_t bytes))                                            \
  X(cuMemFree, _v2, 3020, (CUdeviceptr address))                                                             \
  X(cuMemGetInfo, _v2, 3020, (size_t *free, size_t *total))                                                  \
  X(cuMemHostAlloc, , 2020, (void **data, size_t bytes, unsigned int flags))                                 \
  X(cuMemFreeHost, , 2000, (void *data))                                                                     \
  X(cuMemHostGetDevicePointer, _v2, 3020, (CUdeviceptr * address, void *data, unsigned int flags))           \
  X(cuMemcpyHtoDAsync, _v2, 3020, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))         \
  X(cuMemcpyDtoHAsync, _v2, 3020, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))               \
  X(cuMemcpyDtoDAsync, _v2, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))         \
  X(cuMemcpy3DAsync, _v2, 3020, (const CUDA_MEMCPY3D *copy, CUstream stream))                                \
  X(cuMemsetD8Async, , 3020, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))           \
  X(cuMemsetD32Async, , 3020, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream))

#define TESSERA_CUDA_STREAM_FUNCTIONS(X)                                                                     \
  X(cuStreamCreateWithPriority, , 5050, (CUstream * stream, unsigned int flags, int priority))               \
  X(cuStreamDestroy, _v2, 4000, (CUstream stream))                                                           \
  X(cuStreamSynchronize, , 2000, (CUstream stream))                                                          \
  X(cuStreamQuery, , 2000, (CUstream stream))                                                                \
  X(cuStreamWaitEvent, , 3020, (CUstream stream, CUevent event, unsigned int flags))                         \
  X(cuStreamBeginCapture, _v2, 10010, (CUstream stream, CUstreamCaptureMode mode))                           \
  X(cuStreamEndCapture, , 10000, (CUstream stream, CUgraph * graph))                                         \
  X(cuStreamIsCapturing, , 10000, (CUstream stream, CUstreamCaptureStatus * status))                         \
  X(cuEventCreate, , 2000, (CUevent * event, unsigned int flags))                                            \
  X(cuEventDestroy, _v2, 4000, (CUevent event))                                                              \
  X(cuEventRecord, , 2000, (CUevent event, CUstream stream))                                                 \
  X(cuEventSynchronize, , 2000, (CUevent event))                                                             \
  X(cuEventQuery, , 2000, (CUevent event))                                                                   \
  X(cuEventElapsedTime, , 2000, (float *milliseconds, CUevent start, CUevent end))                           \
  X(cuGraphInstantiateWithFlags, , 11040, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))     \
  X(cuGraphUpload, , 11010, (CUgraphExec exec, CUstream stream))                                             \
  X(cuGraphLaunch, , 10000, (CUgraphExec exec, CUstream stream))                                             \
  X(cuGraphExecDestroy, , 10000, (CUgraphExec exec))                                                         \
  X(cuGraphDestroy, , 10000, (CUgraph graph))                                                                \
  X(cuGraphGetNodes, , 10000, (CUgraph graph, CUgraphNode * nodes, size_t *count))

#define TESSERA_CUDA_MODULE_FUNCTIONS(X)                                                                     \
  X(cuModuleLoadDataEx, , 2010,                                                                              \
    (CUmodule * module, const void *image, unsigned int optionCount, CUjit_option *options,                  \
     void **optionValues))                                                                                   \
  X(cuModuleUnload, , 2000, (CUmodule module))                                                               \
  X(cuModuleGetFunction, , 2000, (CUfunction * function, CUmodule module, const char *name))                 \
  X(cuFuncGetAttribute, , 2020, (int *value, CUfunction_attribute attribute, CUfunction function))           \
  X(cuFuncSetAttribute, , 9000, (CUfunction function, CUfunction_attribute attribute, int value))            \
  X(cuLaunchKernel, , 4000,                                                                                  \
    (CUfunction function, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,               \
     unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,    \
     CUstream stream, void **kernelParams, void **extra))

// All that are asked of cuGetProcAddress.
#define TESSERA_CUDA_FUNCTIONS(X)                                                                            \
  TESSERA_CUDA_DEVICE_FUNCTIONS(X)                                                                           \
  TESSERA_CUDA_MEMORY_FUNCTIONS(X)                                                                           \
  TESSERA_CUDA_STREAM_FUNCTIONS(X)                                                                           \
  TESSERA_CUDA_MODULE_FUNCTIONS(X)

// Declares every function under its exported name, with C linkage: for a library that defines them. Stands in
// namespace tessera::cuda.
#define TESSERA_CUDA_DECLARE_FUNCTION(base, suffix, version, parameters)                                     \
  __attribute__((visibility("default"))) CUresult base##suffix parameters;
#define TESSERA_CUDA_DECLARE_FUNCTIONS                                                                       \
  extern "C" {                                                                                               \
  TESSERA_CUDA_FIRST_FUNCTION(TESSERA_CUDA_DECLARE_FUNCTION)                                                 \
  TESSERA_CUDA_FUNCTIONS(TESSERA_CUDA_DECLARE_FUNCTION)                                                      \
  }

} // namespace tessera::cuda
#endif
