// Devices and contexts.
#include "Call.h"
#include "Declarations.h"
#include "Leaks.h"

#include <cstdio>
#include <cstring>

using namespace standin;

namespace standin {

static constexpr int kDriverVersion = 13000;

static void checkDevice(const Call &call, CUdevice device) {
  if (device < 0 || uint64_t(device) >= settings().gpus)
    call.quietly(CUDA_ERROR_INVALID_DEVICE);
}

// A call about one device, which there has to be.
template <typename F> static CUresult ofDevice(const char *name, CUdevice device, F &&body) {
  return call(name, kInitialized, [&](Call &call) {
    checkDevice(call, device);
    body(call);
    return CUDA_SUCCESS;
  });
}

static int major() { return int(settings().arch / 10); }
static int minor() { return int(settings().arch % 10); }

static int attributeOf(CUdevice_attribute attribute, int device) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return 48 * 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return sharedOptIn();
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return sharedOptIn() + 1024;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return 1000000;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return int(settings().multiprocessors);
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    return 1;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    return device + 1;
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
    return 0;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    return 5120;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return 50 << 20;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return major() == 8 && minor() != 0 ? 1536 : 2048;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    return 2;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return major();
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return minor();
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return 32;
  }
  return -1;
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuInit(unsigned flags) {
  return call("cuInit", kNothing, [&](Call &call) {
    if (flags)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "flags", "pass 0");
    if (settings().gpus == 0)
      call.quietly(CUDA_ERROR_NO_DEVICE);
    if (!call.machine.initialized)
      checkLeaksAtExit();
    call.machine.initialized = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  switch (error) {
#define STANDIN_NAME(name, value)                                                                            \
  case name:                                                                                                 \
    *text = #name;                                                                                           \
    return CUDA_SUCCESS;
    TESSERA_CUDA_RESULTS(STANDIN_NAME)
#undef STANDIN_NAME
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  switch (error) {
#define STANDIN_STRING(name, value)                                                                          \
  case name:                                                                                                 \
    *text = "stand-in's " #name;                                                                             \
    return CUDA_SUCCESS;
    TESSERA_CUDA_RESULTS(STANDIN_STRING)
#undef STANDIN_STRING
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
  return call("cuDeviceGetCount", kInitialized, [&](Call &) {
    *count = int(settings().gpus);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return ofDevice("cuDeviceGet", ordinal, [&](Call &) { *device = ordinal; });
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  return ofDevice("cuDeviceGetName", device, [&](Call &) {
    snprintf(name, size_t(length), "Tessera stand-in (sm_%d)", int(settings().arch));
  });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  return ofDevice("cuDeviceGetAttribute", device, [&](Call &call) {
    int found = attributeOf(attribute, device);
    if (found < 0)
      call.refuse(CUDA_ERROR_INVALID_VALUE,
                  "the stand-in does not know attribute " + std::to_string(attribute),
                  "add it to attributeOf in test/standin/cuda/DeviceApi.cpp");
    *value = found;
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  return ofDevice("cuDeviceGetUuid", device, [&](Call &) {
    memset(uuid->bytes, 0, sizeof uuid->bytes);
    memcpy(uuid->bytes, "tessera-standin", 15);
    uuid->bytes[15] = char(device);
  });
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  return ofDevice("cuDeviceTotalMem", device, [&](Call &) { *bytes = settings().memory; });
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  return ofDevice("cuDeviceGetPCIBusId", device, [&](Call &call) {
    if (length < 13)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "less than 13 bytes for the id", "pass 13 or more");
    snprintf(id, size_t(length), "0000:%02X:00.0", device + 1);
  });
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  return call("cuDeviceCanAccessPeer", kInitialized, [&](Call &call) {
    checkDevice(call, device);
    checkDevice(call, peer);
    *can = device != peer;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return call("cuDevicePrimaryCtxRetain", kInitialized, [&](Call &call) {
    checkDevice(call, device);
    ContextRef &found = call.machine.primary[device];
    if (!found) {
      found = call.machine.createContext(device);
      found->handle = call.machine.contexts.add(found);
    }
    ++found->references;
    *context = found->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return call("cuDevicePrimaryCtxRelease", kInitialized, [&](Call &call) {
    checkDevice(call, device);
    auto found = call.machine.primary.find(device);
    if (found == call.machine.primary.end())
      call.refuse(CUDA_ERROR_INVALID_CONTEXT,
                  "the primary context of device " + std::to_string(device) + " is not retained",
                  "release it as often as it was retained");
    ContextRef context = found->second;
    if (--context->references > 0)
      return CUDA_SUCCESS;
    call.machine.drain(call.lock, *context);
    checkLeaks(call.machine, *context);
    trace(device, "release waits=" + std::to_string(call.machine.waitCount));
    call.machine.primary.erase(device);
    call.machine.stop(*context, call.lock);
    discard(call.machine, *context);
    call.machine.contexts.remove(context->handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return call("cuCtxSetCurrent", kInitialized, [&](Call &call) {
    if (!handle)
      currentContext() = nullptr;
    else if (ContextRef found = call.machine.contexts.find(handle))
      currentContext() = found;
    else
      call.refuse(CUDA_ERROR_INVALID_CONTEXT, call.machine.contexts.describe(handle), "retain it first");
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  return call("cuCtxGetCurrent", kInitialized, [&](Call &) {
    *context = currentContext() ? currentContext()->handle : nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice *device) {
  return call("cuCtxGetDevice", kContext, [&](Call &call) {
    *device = call.context->device;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return call("cuCtxSynchronize", kContext | kUncaptured, [&](Call &call) {
    call.trace("synchronize context");
    return call.machine.drain(call.lock, *call.context);
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  return call("cuCtxEnablePeerAccess", kContext, [&](Call &call) {
    auto peer = call.object(call.machine.contexts, handle);
    if (flags || peer == call.context)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "flags, or the context itself",
                  "pass another device's context and 0");
    call.context->peers.insert(peer->device);
    return CUDA_SUCCESS;
  });
}

} // extern "C"
} // namespace tessera::cuda
