// Launches: what a kernel may touch, its parameters as they are now, and the engine that runs it.
#include "Declarations.h"
#include "Images.h"
#include "LaunchMemory.h"
#include "Streams.h"

#include <algorithm>
#include <cstring>

using namespace standin;

namespace standin {

static std::string dims(const Dim3 &d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

// What the engine found, as a GPU would show it: an error of the context, or nothing at all.
static void handle(Unit &unit, const Finding &finding) {
  switch (finding.kind) {
  case Finding::Kind::Race:
  case Finding::Kind::Synchronization:
  case Finding::Kind::Launch:
    violation(finding.text);
  case Finding::Kind::IllegalAddress:
  case Finding::Kind::Misaligned:
  case Finding::Kind::Trap:
    break;
  }
  complain(finding.text);
  Machine::get().fault(*unit.context,
                       finding.kind == Finding::Kind::IllegalAddress ? CUDA_ERROR_ILLEGAL_ADDRESS
                       : finding.kind == Finding::Kind::Misaligned   ? CUDA_ERROR_MISALIGNED_ADDRESS
                                                                     : CUDA_ERROR_LAUNCH_FAILED);
}

struct LaunchCall {
  CUfunction handle;
  Dim3 grid, block;
  unsigned dynamicShared;
  CUstream stream;
  void **parameters, **extra;
};

static void checkLaunch(const Call &call, const LaunchCall &launch, const Function &function,
                        const Kernel &kernel, const ModuleRef &module) {
  const Dim3 &grid = launch.grid, &block = launch.block;
  if (module->context != call.context)
    call.refuse(CUDA_ERROR_INVALID_HANDLE,
                "kernel " + kernel.name + " was loaded for device " +
                    std::to_string(module->context->device) + ", and the current context is of device " +
                    std::to_string(call.context->device),
                "load the module there");
  if (launch.extra)
    call.refuse(CUDA_ERROR_NOT_SUPPORTED, "parameters as a buffer (extra)", "pass kernelParams");
  if (!launch.parameters && !kernel.parameters.empty())
    call.refuse(CUDA_ERROR_INVALID_VALUE, "kernel " + kernel.name + " has parameters, and none are given",
                "pass them");
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || !threads ||
      threads > kMaxThreads || block.z > 64)
    call.refuse(CUDA_ERROR_INVALID_VALUE,
                "kernel " + kernel.name + " with grid " + dims(grid) + " and block " + dims(block),
                "stay within the device's limits");
  if (threads > kernel.maxThreads)
    call.refuse(CUDA_ERROR_INVALID_VALUE,
                countOf(threads, "thread") + " a block, and kernel " + kernel.name + " was compiled for " +
                    std::to_string(kernel.maxThreads),
                "launch fewer");
  if (launch.dynamicShared > unsigned(function.maxDynamicShared))
    call.refuse(CUDA_ERROR_INVALID_VALUE,
                countOf(launch.dynamicShared, "byte") + " of dynamic shared memory, and kernel " +
                    kernel.name + " may have " + std::to_string(function.maxDynamicShared),
                "set CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
}

static std::pair<FunctionRef, ModuleRef> functionAndModule(Call &call, CUfunction handle) {
  FunctionRef function = call.object(call.machine.functions, handle);
  ModuleRef module = function->module.lock();
  if (!module)
    call.refuse(CUDA_ERROR_INVALID_HANDLE, "the module of the function was unloaded", "keep it");
  return {function, module};
}

static CUresult launchKernel(Call &call, const LaunchCall &launch) {
  auto [function, module] = functionAndModule(call, launch.handle);
  const Kernel &kernel = *module->image->image->kernel(function->name);
  checkLaunch(call, launch, *function, kernel, module);
  StreamRef stream = call.stream(launch.stream, true);
  auto operation = std::make_shared<Operation>();
  operation->kind = "kernel";
  operation->what = "kernel " + kernel.name;
  operation->function = launch.handle;
  auto parameters = std::make_shared<std::vector<char>>(kernel.parameterBytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    KernelParameter p = kernel.parameters[i];
    memcpy(parameters->data() + p.offset, launch.parameters[i], p.bytes);
    // Whatever looks like an address may be used as one.
    for (uint32_t at = 0; at + 8 <= p.bytes; at += 8) {
      uintptr_t word;
      memcpy(&word, parameters->data() + p.offset + at, 8);
      if (AllocationRef memory = call.machine.memory.find(word))
        operation->uses.push_back(memory);
    }
  }
  if (module->image->globals)
    operation->uses.push_back(module->image->globals);
  LaunchRequest request;
  request.kernel = &kernel;
  request.grid = launch.grid;
  request.block = launch.block;
  request.dynamicShared = launch.dynamicShared;
  request.races = settings().races;
  request.sharedLimit = uint32_t(sharedOptIn());
  // The module is not held: it may not go before the kernel has run.
  operation->start = [request, parameters, hash = module->image->hash,
                      context = call.context.get()]() mutable -> Run {
    Machine &machine = Machine::get();
    request.parameters = parameters->data();
    request.seed = randomBits(context->seed, 1, machine.launchCount++) | 1;
    recordLaunch(hash, request.kernel->name);
    return [request, parameters, context](Unit &unit) mutable {
      std::shared_ptr<const std::vector<AllocationRef>> all;
      {
        Machine &machine = Machine::get();
        std::lock_guard<std::mutex> lock(machine.mutex);
        all = machine.memory.snapshot();
      }
      LaunchMemory memory(all, context->device, context->peers, settings().order);
      request.memory = &memory;
      if (auto finding = run(request))
        handle(unit, *finding);
      else if (settings().order)
        Machine::get().report(unit, memory.touched());
      return Progress::Done;
    };
  };
  call.trace("kernel " + kernel.name + " " + call.machine.streams.nameOf(launch.stream) + " grid=" +
             dims(launch.grid) + " block=" + dims(launch.block) + (stream->capture ? " captured" : ""));
  give(call, stream, std::move(operation));
  return CUDA_SUCCESS;
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream, void **parameters,
                        void **extra) {
  return call("cuLaunchKernel", kContext, [&](Call &call) {
    return launchKernel(
        call, {function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared, stream, parameters, extra});
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra) {
  return call("cuLaunchKernelEx", kContext, [&](Call &call) {
    if (!config)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the configuration is null", "pass one");
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      // A launch may begin before the one before has ended: it need not.
      CUlaunchAttributeID id = config->attrs[i].id;
      if (id != CU_LAUNCH_ATTRIBUTE_IGNORE && id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
          id != CU_LAUNCH_ATTRIBUTE_PRIORITY)
        call.refuse(CUDA_ERROR_NOT_SUPPORTED,
                    "the stand-in does not know launch attribute " + std::to_string(id), "launch without it");
    }
    return launchKernel(call, {function,
                               {config->gridDimX, config->gridDimY, config->gridDimZ},
                               {config->blockDimX, config->blockDimY, config->blockDimZ},
                               config->sharedMemBytes,
                               config->hStream,
                               parameters,
                               extra});
  });
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  return call("cuFuncGetAttribute", kContext, [&](Call &call) {
    auto [function, module] = functionAndModule(call, handle);
    const Kernel &kernel = *module->image->image->kernel(function->name);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = int(kernel.maxThreads);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = int(kernel.staticShared);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: // the backend's registers are not known here
      *value = 32;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = int(settings().arch);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function->maxDynamicShared;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = -1;
      return CUDA_SUCCESS;
    }
    call.refuse(CUDA_ERROR_INVALID_VALUE, "the stand-in does not know the attribute",
                "add it to LaunchApi.cpp");
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return call("cuFuncSetAttribute", kContext, [&](Call &call) {
    auto [function, module] = functionAndModule(call, handle);
    const Kernel &kernel = *module->image->image->kernel(function->name);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value + int(kernel.staticShared) > sharedOptIn())
        call.refuse(CUDA_ERROR_INVALID_VALUE,
                    countOf(uint64_t(value), "byte") + " of dynamic shared memory for kernel " + kernel.name,
                    "a block has at most " + std::to_string(sharedOptIn()));
      function->maxDynamicShared = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return CUDA_SUCCESS; // a hint
    default:
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the attribute cannot be set", "set another");
    }
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int blockSize,
                                                     size_t dynamicShared) {
  return call("cuOccupancyMaxActiveBlocksPerMultiprocessor", kContext, [&](Call &call) {
    auto [function, module] = functionAndModule(call, handle);
    const Kernel &kernel = *module->image->image->kernel(function->name);
    if (blockSize <= 0 || blockSize > int(kMaxThreads))
      call.refuse(CUDA_ERROR_INVALID_VALUE, countOf(uint64_t(blockSize), "thread") + " a block",
                  "pass 1 to 1024");
    size_t shared = kernel.staticShared + dynamicShared + 1024;
    int warps = (blockSize + int(kWarp) - 1) / int(kWarp);
    *blocks = std::min({32, 64 / warps, int(size_t(sharedOptIn() + 1024) / shared)});
    return CUDA_SUCCESS;
  });
}

} // extern "C"
} // namespace tessera::cuda
