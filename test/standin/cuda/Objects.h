// What the handles of the API stand for.
#ifndef TESSERA_STANDIN_CUDA_OBJECTS_H
#define TESSERA_STANDIN_CUDA_OBJECTS_H

#include "../../../runtime/cuda/api/Cuda.h"
#include "../engine/Engine.h"
#include "Unit.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace standin {

using namespace tessera::cuda;

// The primary context of a device, and the thread that runs its work.
struct Context {
  int device = 0;
  CUcontext handle = nullptr;
  int references = 0;
  CUresult fault = CUDA_SUCCESS; // of a kernel: every later call gives it
  std::set<int> peers;           // devices whose memory kernels here may touch

  std::vector<UnitRef> ready;
  size_t pending = 0; // units that are not done
  std::condition_variable work;
  std::chrono::steady_clock::time_point lastGiven;
  std::thread thread;
  bool stop = false, working = false;
  std::thread hostThread; // runs host functions, one after another: streams go on while one blocks
  std::deque<std::function<void()>> hostFunctions;
  std::condition_variable hostWork;
  uint64_t seed = 0, burst = 1, most = 1024; // how its order is drawn
  bool eager = false;                        // runs units as they come, in place of when somebody waits
  int64_t lane = 0;                          // of copies without a stream
  uint64_t given = 0;
  UnitRef last;                 // of them
  std::vector<UnitRef> orphans; // last ones of streams that are gone
  uint64_t polls = 0;           // queries that found something not done
};
using ContextRef = std::shared_ptr<Context>;

// Operations, and which come after which. `chain`: the stream it was captured on, counted from 0.
struct GraphNode {
  OperationRef operation;
  std::vector<int> after;
  int chain;
};
struct Graph {
  Context *context;
  std::vector<GraphNode> nodes;
  int chains = 0;
};
using GraphRef = std::shared_ptr<Graph>;

struct Stream;
struct Capture {
  GraphRef graph;
  Stream *origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  bool invalid = false;
  std::set<Stream *> streams; // that it has spread to
  uint64_t number;
};
using CaptureRef = std::shared_ptr<Capture>;

struct Stream {
  ContextRef context;
  CUstream handle = nullptr;
  unsigned flags = 0;
  int priority = 0;
  int64_t lane = 0;
  UnitRef last;
  uint64_t given = 0;
  CaptureRef capture;
  std::vector<int> frontier; // nodes of the capture that the next one comes after
  int chain = 0;
};
using StreamRef = std::shared_ptr<Stream>;

struct Event {
  ContextRef context;
  CUevent handle = nullptr;
  unsigned flags = 0;
  UnitRef recorded; // the last place; null: never
  CaptureRef capture;
  std::vector<int> nodes; // of the capture, where it was recorded there
};
using EventRef = std::shared_ptr<Event>;

struct GraphExec {
  ContextRef context;
  CUgraphExec handle = nullptr;
  std::vector<GraphNode> nodes; // in an order in which each comes after those it waits for
  std::vector<int64_t> lanes;   // of chains
  std::vector<int> leaves;
  UnitRef last; // end of its last launch
  uint64_t launches = 0;
};
using GraphExecRef = std::shared_ptr<GraphExec>;

struct LoadedImage; // Images.h
struct Module {
  ContextRef context;
  CUmodule handle = nullptr;
  std::shared_ptr<LoadedImage> image;
  std::map<std::string, CUfunction> functions;
};
using ModuleRef = std::shared_ptr<Module>;

struct Function {
  std::weak_ptr<Module> module;
  std::string name;
  int maxDynamicShared = 48 * 1024;
};
using FunctionRef = std::shared_ptr<Function>;

// An image that is loaded into each context where a kernel of it is asked for.
struct Library {
  CUlibrary handle = nullptr;
  std::shared_ptr<LoadedImage> image;
  std::map<Context *, CUmodule> modules;
  std::map<std::string, CUkernel> kernels;
};
struct LibraryKernel {
  std::weak_ptr<Library> library;
  std::string name;
};

} // namespace standin
#endif
