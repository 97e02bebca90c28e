// What every call of the API does first and last.
#ifndef TESSERA_STANDIN_CUDA_CALL_H
#define TESSERA_STANDIN_CUDA_CALL_H

#include "Machine.h"
#include "Report.h"

#include <functional>

namespace standin {

// Thrown by what a call asks; it is the call's result.
struct Refused {
  CUresult code;
};

enum CallNeeds : unsigned {
  kNothing = 0,
  kInitialized = 1,
  kContext = 2 | kInitialized, // current in this thread, and not lost
  kUncaptured = 4,             // may not be called while streams are captured (unless in relaxed mode)
};

class Call {
public:
  const char *name;
  std::unique_lock<std::mutex> lock;
  Machine &machine;
  ContextRef context; // where the call needs one

  // Prints `stand-in: NAME (...): why; hint` and refuses the call.
  [[noreturn]] void refuse(CUresult code, const std::string &why, const std::string &hint) const;
  // Refuses without a line: what programs ask to find out.
  [[noreturn]] void quietly(CUresult code) const { throw Refused{code}; }
  [[noreturn]] void violation(const std::string &why, const std::string &hint) const;

  template <typename Object, typename Handle>
  std::shared_ptr<Object> object(const Handles<Object, Handle> &handles, Handle handle) const {
    if (auto found = handles.find(handle))
      return found;
    refuse(CUDA_ERROR_INVALID_HANDLE, handles.describe(handle),
           "hand on what the API gave, until it is destroyed");
  }
  // A stream, of the current context where `mustBeCurrent`. The default streams are refused.
  StreamRef stream(CUstream handle, bool mustBeCurrent) const;
  EventRef event(CUevent handle) const;
  // Memory that a copy or a memset touches; refuses what is not allocated.
  AllocationRef deviceMemory(CUdeviceptr address, size_t bytes, const char *role) const;

  void trace(const std::string &text) const;
};

// Runs a call under the lock.
CUresult call(const char *name, unsigned needs, const std::function<CUresult(Call &)> &body);

// The context that is current in this thread.
ContextRef &currentContext();
// While a host function runs, or work of a library: no call is allowed.
bool &insideHostFunction();

// Adds an operation to a stream, or to the graph that it is captured into. Refuses what a capture forbids.
void give(Call &call, const StreamRef &stream, OperationRef operation);

} // namespace standin
#endif
