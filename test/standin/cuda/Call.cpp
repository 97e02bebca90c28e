#include "Call.h"

#include "Streams.h"

namespace standin {

void Call::refuse(CUresult code, const std::string &why, const std::string &hint) const {
  complain(std::string(name) + ": " + why + "; " + hint);
  throw Refused{code};
}

void Call::violation(const std::string &why, const std::string &hint) const {
  standin::violation(std::string(name) + ": " + why + "; " + hint);
}

StreamRef Call::stream(CUstream handle, bool mustBeCurrent) const {
  if (reinterpret_cast<uintptr_t>(handle) <= 2)
    refuse(CUDA_ERROR_NOT_SUPPORTED,
           "the default stream orders what nobody meant to order, and the stand-in has none",
           "create a stream with CU_STREAM_NON_BLOCKING");
  StreamRef found = object(machine.streams, handle);
  if (found->context->fault)
    quietly(found->context->fault);
  if (mustBeCurrent && context && found->context != context)
    refuse(CUDA_ERROR_INVALID_HANDLE,
           machine.streams.nameOf(handle) + " is of device " + std::to_string(found->context->device) +
               ", and the current context of device " + std::to_string(context->device),
           "call cuCtxSetCurrent first");
  return found;
}

EventRef Call::event(CUevent handle) const {
  EventRef found = object(machine.events, handle);
  if (found->context->fault)
    quietly(found->context->fault);
  return found;
}

AllocationRef Call::deviceMemory(CUdeviceptr address, size_t bytes, const char *role) const {
  std::string why;
  AllocationRef found = machine.memory.find(uintptr_t(address), bytes, why);
  if (!found)
    refuse(CUDA_ERROR_INVALID_VALUE, std::string(role) + ": " + why,
           "hand on addresses that cuMemAlloc gave, and offsets within");
  return found;
}

void Call::trace(const std::string &text) const { standin::trace(context ? context->device : -1, text); }

ContextRef &currentContext() {
  // Never destroyed: work of the API may come from destructors of other threads' variables.
  static thread_local ContextRef *current = new ContextRef;
  return *current;
}

bool &insideHostFunction() {
  static thread_local bool inside = false;
  return inside;
}

CUresult call(const char *name, unsigned needs, const std::function<CUresult(Call &)> &body) {
  Machine &machine = Machine::get();
  Call self{name, std::unique_lock<std::mutex>(machine.mutex), machine, nullptr};
  try {
    if (insideHostFunction())
      self.refuse(CUDA_ERROR_NOT_PERMITTED, "called by a host function",
                  "set a flag there, and call it elsewhere");
    if ((needs & kInitialized) && !machine.initialized)
      self.refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called", "call it first");
    if ((needs & kContext) == kContext) {
      self.context = currentContext();
      if (!self.context)
        self.refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread",
                    "call cuCtxSetCurrent first");
      if (self.context->references == 0)
        self.refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was released",
                    "release it when the last call was made");
      if (self.context->fault)
        return self.context->fault;
    }
    if (needs & kUncaptured)
      refuseDuringCapture(self);
    return body(self);
  } catch (const Refused &refused) {
    return refused.code;
  }
}

} // namespace standin
