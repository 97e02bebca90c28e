// A small runner, so that the suite runs on a GPU machine that has neither GoogleTest nor LLVM, and the API
// as whatever libcuda.so.1 is found gives it.
#ifndef TESSERA_STANDIN_CONFORMANCE_SUITE_H
#define TESSERA_STANDIN_CONFORMANCE_SUITE_H

#include "../cuda/MoreFunctions.h"

#include <atomic>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace conformance {

using namespace tessera::cuda;

// The functions, and those of the stand-in that the runtime does not use.
struct Api {
#define CONFORMANCE_POINTER(base, suffix, version, parameters) CUresult(*base) parameters = nullptr;
  TESSERA_CUDA_FIRST_FUNCTION(CONFORMANCE_POINTER)
  TESSERA_CUDA_FUNCTIONS(CONFORMANCE_POINTER)
  STANDIN_MORE_FUNCTIONS(CONFORMANCE_POINTER)
#undef CONFORMANCE_POINTER
  bool isStandin = false;
  void *library = nullptr;
};
// Opens libcuda.so.1 and makes the primary context of device 0 current. What is missing ends the process with
// a line and status 2.
Api &api();

std::string nameOf(CUresult result);

struct Failure {
  std::string text;
};
// Ends the test.
[[noreturn]] void fail(const char *file, int line, const std::string &text);

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      conformance::fail(__FILE__, __LINE__, #condition);                                                     \
  } while (0)
#define GIVES(expected, call)                                                                                \
  do {                                                                                                       \
    CUresult conformance_result = (call);                                                                    \
    if (conformance_result != (expected))                                                                    \
      conformance::fail(__FILE__, __LINE__,                                                                  \
                        #call " gives " + conformance::nameOf(conformance_result) +                          \
                            ", expected " #expected);                                                        \
  } while (0)
#define OK(call) GIVES(CUDA_SUCCESS, call)

struct Test {
  const char *name;
  std::function<void()> body;
  bool alone; // in a process of its own: it loses the context
};
std::vector<Test> &tests();
struct Register {
  Register(const char *name, std::function<void()> body, bool alone) {
    tests().push_back({name, std::move(body), alone});
  }
};
#define CONFORMANCE_TEST(name, alone)                                                                        \
  static void name();                                                                                        \
  static conformance::Register register_##name(#name, name, alone);                                          \
  static void name()
#define TEST(name) CONFORMANCE_TEST(name, false)
#define TEST_ALONE(name) CONFORMANCE_TEST(name, true)

// --- What most tests need ---

struct StreamOf {
  CUstream handle = nullptr;
  explicit StreamOf(unsigned flags = CU_STREAM_NON_BLOCKING) {
    OK(api().cuStreamCreateWithPriority(&handle, flags, 0));
  }
  ~StreamOf() { api().cuStreamDestroy(handle); }
  operator CUstream() const { return handle; }
};

struct EventOf {
  CUevent handle = nullptr;
  explicit EventOf(unsigned flags = CU_EVENT_DISABLE_TIMING) { OK(api().cuEventCreate(&handle, flags)); }
  ~EventOf() { api().cuEventDestroy(handle); }
  operator CUevent() const { return handle; }
};

// Device memory. Everything that uses it has to be waited for before it goes.
struct DeviceMemory {
  CUdeviceptr address = 0;
  explicit DeviceMemory(size_t bytes) { OK(api().cuMemAlloc(&address, bytes)); }
  ~DeviceMemory() { api().cuMemFree(address); }
  operator CUdeviceptr() const { return address; }
};

template <typename T> struct Pinned {
  T *data = nullptr;
  explicit Pinned(size_t count) {
    OK(api().cuMemHostAlloc(reinterpret_cast<void **>(&data), count * sizeof(T), CU_MEMHOSTALLOC_PORTABLE));
    for (size_t i = 0; i < count; ++i)
      new (data + i) T();
  }
  ~Pinned() { api().cuMemFreeHost(data); }
  T &operator[](size_t i) { return data[i]; }
};

// What `stream` was given since beginCapture(stream), as a graph.
struct CapturedGraph {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  explicit CapturedGraph(CUstream stream) {
    OK(api().cuStreamEndCapture(stream, &graph));
    OK(api().cuGraphInstantiateWithFlags(&exec, graph, 0));
  }
  ~CapturedGraph() {
    api().cuGraphExecDestroy(exec);
    api().cuGraphDestroy(graph);
  }
};
inline void beginCapture(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
  OK(api().cuStreamBeginCapture(stream, mode));
}

// A stream stops here until `open` is called.
struct Gate {
  std::atomic<bool> isOpen{false};
  void closeOn(CUstream stream) {
    OK(api().cuLaunchHostFunc(
        stream,
        [](void *gate) {
          while (!static_cast<Gate *>(gate)->isOpen) {
          }
        },
        this));
  }
  void open() { isOpen = true; }
};

uint32_t wordAt(CUdeviceptr address);

// What a child process ended with and wrote to `descriptor`: this program again with `arguments`, which has
// not opened the driver yet. `variable` is set there.
struct ChildOutcome {
  int status; // 128 and more: a signal; -1: it did not start
  std::string said;
};
ChildOutcome runAgain(const std::vector<std::string> &arguments, int descriptor, const char *variable,
                      const std::string &value);

} // namespace conformance
#endif
