// Work of another stand-in library (libnccl, libcublasLt) in the order of a stream of the stand-in's libcuda,
// which exports standinEnqueue. Like a kernel it is captured into graphs, runs late, and what it touches is
// checked.
#ifndef TESSERA_TEST_STANDIN_CUDA_WORK_H
#define TESSERA_TEST_STANDIN_CUDA_WORK_H

#include <cstddef>

extern "C" {

struct CUstream_st;

// Memory of the device, or pinned memory of the host, that a work touches from its begin to its end.
struct StandinAccess {
  const void *address;
  size_t bytes;
  int writes; // 1: writes, perhaps after reading; 0: only reads
};

struct StandinWork {
  const char *name; // for findings: "ncclAllReduce, call 3 of rank 1"
  const StandinAccess *accesses;
  size_t accessCount;
  void *context;
  // The stream has come to it: once for each time that it runs (every launch of a graph that holds it). What
  // it returns stands for this run.
  void *(*begin)(void *context);
  // Goes on as far as it can without waiting for another stream, device or process. 1: done, and `run` is
  // gone; 0: to be called again, after others have gone on; -1: it failed, `run` is gone, and the stream
  // fails with CUDA_ERROR_LAUNCH_FAILED. Any thread, one at a time. Reads and writes memory at the addresses
  // as they are.
  int (*advance)(void *run);
  // Nothing begins it any more.
  void (*release)(void *context);
};

// Copies what `work` points to. Returns a CUresult; on failure nothing was taken, and release is not called.
int standinEnqueue(CUstream_st *stream, const StandinWork *work);
}
#endif
