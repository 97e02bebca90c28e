// Allocations.
#include "Call.h"
#include "Declarations.h"
#include "Streams.h"

using namespace standin;

namespace standin {

// Memory that goes while something may still touch it. A real driver may wait for the device, and may not;
// what was given without a stream it waits for.
static void release(Call &call, const AllocationRef &allocation) {
  if (call.context->last)
    if (CUresult result = call.machine.waitFor(call.lock, call.context->last))
      call.quietly(result);
  std::string user = call.machine.notWaitedFor(allocation->id);
  if (!user.empty())
    call.violation(allocation->name() + " goes, and the host has not waited for " + user + ", which uses it",
                   "synchronize before");
  call.machine.forgetUses(allocation->id);
  call.machine.memory.release(allocation);
}

// The allocation that begins at an address.
static AllocationRef whole(Call &call, uintptr_t address, bool onDevice, CUresult code) {
  AllocationRef found = call.machine.memory.find(address);
  if (!found)
    call.refuse(code, call.machine.memory.describe(address), "free what was allocated, once");
  if (found->begin != address || found->kind == Allocation::Kind::Global || found->onDevice() != onDevice)
    call.refuse(code, hex(address) + " is " + call.machine.memory.place(address),
                "free what the call that is its counterpart gave");
  return found;
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  return call("cuMemAlloc", kContext | kUncaptured, [&](Call &call) {
    if (!address || bytes == 0)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "no address, or 0 bytes", "ask for a byte or more");
    size_t used = call.machine.memory.used(call.context->device);
    if (bytes > settings().memory || used > settings().memory - bytes)
      call.quietly(CUDA_ERROR_OUT_OF_MEMORY);
    AllocationRef made = call.machine.memory.allocate(Allocation::Kind::Device, call.context->device, bytes);
    if (!made)
      call.quietly(CUDA_ERROR_OUT_OF_MEMORY);
    *address = made->begin;
    call.trace("allocate " + std::to_string(bytes));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return call("cuMemFree", kContext | kUncaptured, [&](Call &call) {
    if (!address)
      return CUDA_SUCCESS;
    AllocationRef found = whole(call, uintptr_t(address), true, CUDA_ERROR_INVALID_VALUE);
    release(call, found);
    call.trace("free " + std::to_string(found->bytes()));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return call("cuMemGetInfo", kContext, [&](Call &call) {
    *total = settings().memory;
    *free = settings().memory - call.machine.memory.used(call.context->device);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned flags) {
  return call("cuMemHostAlloc", kContext | kUncaptured, [&](Call &call) {
    constexpr unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!data || bytes == 0 || (flags & ~known))
      call.refuse(CUDA_ERROR_INVALID_VALUE, "no address, 0 bytes, or an unknown flag",
                  "ask for a byte or more");
    AllocationRef made = call.machine.memory.allocate(Allocation::Kind::Pinned, call.context->device, bytes);
    if (!made)
      call.quietly(CUDA_ERROR_OUT_OF_MEMORY);
    *data = reinterpret_cast<void *>(made->begin);
    call.trace("allocate-host " + std::to_string(bytes));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFreeHost(void *data) {
  return call("cuMemFreeHost", kContext | kUncaptured, [&](Call &call) {
    AllocationRef found = whole(call, reinterpret_cast<uintptr_t>(data), false, CUDA_ERROR_INVALID_VALUE);
    if (found->kind != Allocation::Kind::Pinned)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the memory was registered, not allocated",
                  "call cuMemHostUnregister");
    release(call, found);
    call.trace("free-host " + std::to_string(found->bytes()));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostRegister_v2(void *data, size_t bytes, unsigned flags) {
  return call("cuMemHostRegister", kContext | kUncaptured, [&](Call &call) {
    constexpr unsigned known = 3; // portable, mapped
    if (!data || bytes == 0 || (flags & ~known))
      call.refuse(CUDA_ERROR_INVALID_VALUE, "no address, 0 bytes, or an unknown flag",
                  "pass memory of the host");
    if (!call.machine.memory.add(Allocation::Kind::Registered, call.context->device,
                                 reinterpret_cast<uintptr_t>(data), bytes))
      call.refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "a part of the memory is pinned already",
                  "register it once");
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void *data) {
  return call("cuMemHostUnregister", kContext | kUncaptured, [&](Call &call) {
    AllocationRef found =
        whole(call, reinterpret_cast<uintptr_t>(data), false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    if (found->kind != Allocation::Kind::Registered)
      call.refuse(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the memory was allocated pinned",
                  "call cuMemFreeHost");
    release(call, found);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *data, unsigned flags) {
  return call("cuMemHostGetDevicePointer", kContext, [&](Call &call) {
    AllocationRef found = call.machine.memory.find(reinterpret_cast<uintptr_t>(data));
    if (!address || flags || !found || found->onDevice())
      call.refuse(CUDA_ERROR_INVALID_VALUE, "this is no pinned memory of the host",
                  "allocate it with cuMemHostAlloc");
    *address = reinterpret_cast<uintptr_t>(data);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  return call("cuPointerGetAttribute", kContext, [&](Call &call) {
    AllocationRef found = call.machine.memory.find(uintptr_t(address));
    if (!value || !found)
      call.quietly(CUDA_ERROR_INVALID_VALUE); // so does a real driver answer for pageable memory
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext *>(value) = call.machine.primary.at(found->device)->handle;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned *>(value) = found->onDevice() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr *>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (found->onDevice())
        call.quietly(CUDA_ERROR_INVALID_VALUE);
      *static_cast<CUdeviceptr *>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int *>(value) = found->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr *>(value) = found->begin;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t *>(value) = found->bytes();
      return CUDA_SUCCESS;
    }
    call.refuse(CUDA_ERROR_INVALID_VALUE, "the stand-in does not know the attribute",
                "add it to MemoryApi.cpp");
  });
}

} // extern "C"
} // namespace tessera::cuda
