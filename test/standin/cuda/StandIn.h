// What the stand-ins of libraries over CUDA (cuBLASLt, NCCL) ask of the stand-in of libcuda, which they are
// linked with: work of theirs on its streams, checked, ordered, captured and replayed as copies are.
#ifndef TESSERA_STANDIN_CUDA_STANDIN_H
#define TESSERA_STANDIN_CUDA_STANDIN_H

#include "../../../runtime/cuda/api/Cuda.h"

#include <cstddef>
#include <cstdint>

extern "C" {

// Bytes that a task touches: device memory, or pinned memory of the host.
struct standin_access {
  tessera::cuda::CUdeviceptr address;
  size_t bytes;
  int writes; // 0: only read
};

enum standin_progress { standin_done, standin_later, standin_failed };

struct standin_task {
  const char *name; // for messages, with its sizes: "cublasLtMatmul f32 1x576x576"
  const struct standin_access *accesses;
  size_t num_accesses;
  const void *parameters; // copied when the task is given (a capture freezes them)
  size_t parameter_bytes;
  // Goes on with the task, on a thread of the stand-in, when all that it waits for is done. Called again
  // after `standin_later` (it waits for a peer): it must neither block nor call the driver API. `*state` is
  // null before the first call of each run (a graph runs the task at each launch); the task makes and frees
  // it. `standin_failed`: the context is lost with CUDA_ERROR_LAUNCH_FAILED.
  enum standin_progress (*advance)(const void *parameters, void **state);
  // The task will not run again: the stream is past it, or its graph is gone. May be null.
  void (*release)(const void *parameters);
};

// Gives `task` to a stream, or captures it. Memory that is not allocated is CUDA_ERROR_INVALID_VALUE, with a
// line that names it; accesses that nothing orders end the process, as everywhere in the stand-in.
__attribute__((visibility("default"))) tessera::cuda::CUresult standin_post(tessera::cuda::CUstream stream,
                                                                            const struct standin_task *task);

// The memory behind an address of the device, for `advance`. Addresses are not always pointers of the host.
__attribute__((visibility("default"))) void *standin_memory(tessera::cuda::CUdeviceptr address);

// Prints `stand-in: TEXT` and ends the process with status 86: for what a GPU would do wrongly in silence.
__attribute__((visibility("default"))) void standin_violation(const char *text);

// Appends a line to TESSERA_STANDIN_TRACE, if it is set.
__attribute__((visibility("default"))) void standin_trace(const char *line);

// The device that `stream` runs on, or -1.
__attribute__((visibility("default"))) int standin_device(tessera::cuda::CUstream stream);
}

#endif
