// The whole of the stand-in: devices, handles, memory, and the order of work. One lock guards all of it.
#ifndef TESSERA_STANDIN_CUDA_MACHINE_H
#define TESSERA_STANDIN_CUDA_MACHINE_H

#include "Handles.h"
#include "Objects.h"

#include <mutex>

namespace standin {

class Machine {
public:
  static Machine &get(); // never destroyed: threads of the stand-in may outlive main

  std::mutex mutex;
  bool initialized = false;
  MemoryTable memory;
  Handles<Context, CUcontext> contexts{"context", 1};
  Handles<Stream, CUstream> streams{"stream", 2};
  Handles<Event, CUevent> events{"event", 3};
  Handles<Graph, CUgraph> graphs{"graph", 4};
  Handles<GraphExec, CUgraphExec> graphExecs{"executable graph", 5};
  Handles<Module, CUmodule> modules{"module", 6};
  Handles<Function, CUfunction> functions{"function", 7};
  Handles<Library, CUlibrary> libraries{"library", 8};
  Handles<LibraryKernel, CUkernel> kernels{"kernel", 9};
  std::map<int, ContextRef> primary; // by device
  std::vector<CaptureRef> captures;  // that go on
  uint64_t captureCount = 0, launchCount = 0, waitCount = 0;

  // --- Contexts (Executor.cpp) ---
  ContextRef createContext(int device);
  // Waits for what runs, and ends the thread. What is left is not run.
  void stop(Context &context, std::unique_lock<std::mutex> &lock);
  // The process ends: no work begins any more, and what runs ends first, unless it takes seconds.
  void rest(std::unique_lock<std::mutex> &lock);

  // --- Work (Executor.cpp) ---
  // Gives an operation (null: a place) to a lane, after `after`. Checks that what it touches is ordered.
  UnitRef submit(Context &context, int64_t lane, uint64_t &given, OperationRef operation,
                 const std::vector<UnitRef> &after);
  // Ends when `done` says so, or with the context's fault. The host comes after `unit` then.
  CUresult waitFor(std::unique_lock<std::mutex> &lock, const UnitRef &unit);
  // Waits until a context has nothing left to do.
  CUresult drain(std::unique_lock<std::mutex> &lock, Context &context);
  // The host has seen that `unit` is done: what is given from now on comes after it.
  void hostKnows(const Unit &unit);
  // A unit that is not done and uses an allocation; null without one.
  UnitRef pendingUser(uint64_t allocation) const;
  // A unit that is not done and writes (or, with `reads`, touches) some of these bytes.
  bool pendingAccess(uintptr_t begin, uintptr_t end, bool reads) const;
  bool pendingKind(const char *kind) const;
  // Work that uses an allocation (its id) or a kernel (its handle) and that the host has not waited for,
  // though it may have run; empty without. Work without a stream does not count.
  std::string notWaitedFor(uint64_t used) const;
  void forgetUses(uint64_t used) { uses_.erase(used); }
  // A kernel went wrong: what the context still has to do is not run.
  void fault(Context &context, CUresult code);
  // Runs a host function on the context's thread for those, and sets `done` behind it. Without the lock.
  void runHostFunction(Context &context, std::function<void()> function,
                       const std::shared_ptr<std::atomic<bool>> &done);
  // Called by a kernel's unit, without the lock, when it has run.
  void report(Unit &unit, const std::vector<TouchedBytes> &touched);

  // --- Order (Order.cpp) ---
  int64_t addLane();
  void releaseLane(int64_t lane);

private:
  Machine();
  void loop(Context &context);
  void hostLoop(Context &context);
  bool step(Context &context, std::unique_lock<std::mutex> &lock);
  void finish(Unit &unit);
  TaskPlace nextPlace(int64_t lane, const std::vector<UnitRef> &after);
  void noteUses(const Unit &unit);
  void check(const Unit &unit, const std::vector<TouchedBytes> &touched);
  void forget();

  std::condition_variable progress_; // of any unit
  int64_t waiting_ = 0;              // threads of the host
  std::map<Unit *, UnitRef> pending_;
  std::vector<Clock> seen_; // by lane: what its next unit comes after; its own entry: its units so far
  std::vector<char> laneUsed_;
  std::vector<int64_t> freeLanes_;
  Clock host_;
  AccessHistory history_;
  struct LastUse {
    uint64_t time;
    std::string what;
  };
  std::map<uint64_t, std::map<int64_t, LastUse>> uses_; // by what is used, by lane
  uint64_t checks_ = 0;
};

} // namespace standin
#endif
