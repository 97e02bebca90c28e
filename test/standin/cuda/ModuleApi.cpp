// Modules, libraries and their kernels.
#include "Call.h"
#include "Declarations.h"
#include "Images.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

using namespace standin;

namespace standin {

static std::shared_ptr<LoadedImage> loadImage(Call &call, const void *code) {
  if (!code)
    call.refuse(CUDA_ERROR_INVALID_VALUE, "the image is null", "pass a cubin or PTX");
  ImageBytes bytes = imageAt(code);
  if (!bytes.wrong.empty())
    call.refuse(CUDA_ERROR_INVALID_IMAGE, bytes.wrong, "pass a cubin or PTX");
  if (!runsOn(bytes, unsigned(settings().arch)))
    call.refuse(bytes.cubin ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_PTX,
                std::string(bytes.cubin ? "a cubin" : "PTX") + " for sm_" +
                    std::to_string(bytes.architecture) +
                    (bytes.variant ? std::string(1, bytes.variant) : "") + " on a device of sm_" +
                    std::to_string(settings().arch),
                "load one that fits, or set TESSERA_STANDIN_ARCH");
  auto loaded = std::make_shared<LoadedImage>();
  loaded->hash = sha256(bytes.data, bytes.bytes);
  std::string path = settings().ir + "/" + loaded->hash + ".bc";
  if (settings().ir.empty() || access(path.c_str(), R_OK) != 0)
    call.refuse(CUDA_ERROR_FILE_NOT_FOUND,
                "the LLVM module of the image is not there (TESSERA_STANDIN_IR=" + settings().ir + ", " +
                    loaded->hash + ".bc)",
                "compile with scripts/standin, which keeps it");
  auto image = Image::load(path);
  if (!image)
    call.refuse(CUDA_ERROR_INVALID_IMAGE, image.failure().message(), "compile the program again");
  loaded->image = *image;
  return loaded;
}

static ModuleRef addModule(Call &call, std::shared_ptr<LoadedImage> image) {
  auto module = std::make_shared<Module>();
  module->context = call.context;
  module->image = std::move(image);
  if (size_t bytes = module->image->image->dataBytes())
    module->image->globals =
        call.machine.memory.add(Allocation::Kind::Global, call.context->device,
                                reinterpret_cast<uintptr_t>(module->image->image->data()), bytes);
  module->handle = call.machine.modules.add(module);
  call.trace("load " + module->image->hash);
  return module;
}

static void unload(Call &call, const ModuleRef &module) {
  const AllocationRef &globals = module->image->globals;
  for (const auto &[name, function] : module->functions) {
    if (!call.machine.notWaitedFor(reinterpret_cast<uint64_t>(function)).empty())
      call.violation("the module goes, and the host has not waited for its kernel " + name,
                     "synchronize before");
    call.machine.forgetUses(reinterpret_cast<uint64_t>(function));
    call.machine.functions.remove(function);
  }
  if (globals)
    call.machine.memory.release(globals);
  call.machine.modules.remove(module->handle);
}

static CUfunction functionOf(Call &call, const ModuleRef &module, const char *name) {
  auto known = module->functions.find(name);
  if (known != module->functions.end())
    return known->second;
  const Kernel *kernel = module->image->image->kernel(name);
  if (!kernel)
    call.quietly(CUDA_ERROR_NOT_FOUND);
  auto function = std::make_shared<Function>();
  function->module = module;
  function->name = name;
  // Without asking a block has 48 KiB, its own variables among them.
  function->maxDynamicShared = std::max(48 * 1024 - int(kernel->staticShared), 0);
  return module->functions[name] = call.machine.functions.add(function);
}

// Logs of the compiler are empty.
static void answerOptions(unsigned count, const CUjit_option *options, void **values) {
  for (unsigned i = 0; i < count; ++i)
    switch (options[i]) {
    case CU_JIT_INFO_LOG_BUFFER:
    case CU_JIT_ERROR_LOG_BUFFER:
      if (values[i])
        *static_cast<char *>(values[i]) = 0;
      break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      values[i] = nullptr; // so many bytes were written
      break;
    case CU_JIT_OPTIMIZATION_LEVEL:
    case CU_JIT_LOG_VERBOSE:
      break;
    }
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                            void **values) {
  return call("cuModuleLoadDataEx", kContext | kUncaptured, [&](Call &call) {
    answerOptions(count, options, values);
    *module = addModule(call, loadImage(call, image))->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleUnload(CUmodule handle) {
  return call("cuModuleUnload", kContext | kUncaptured, [&](Call &call) {
    unload(call, call.object(call.machine.modules, handle));
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  return call("cuModuleGetFunction", kContext, [&](Call &call) {
    *function = functionOf(call, call.object(call.machine.modules, handle), name);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitValues,
                           unsigned jitCount, CUlibraryOption *, void **, unsigned optionCount) {
  return call("cuLibraryLoadData", kContext | kUncaptured, [&](Call &call) {
    if (optionCount)
      call.refuse(CUDA_ERROR_NOT_SUPPORTED, "options of libraries", "pass none");
    answerOptions(jitCount, jitOptions, jitValues);
    auto made = std::make_shared<Library>();
    made->image = loadImage(call, code);
    *library = made->handle = call.machine.libraries.add(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return call("cuLibraryUnload", kContext | kUncaptured, [&](Call &call) {
    auto library = call.object(call.machine.libraries, handle);
    for (const auto &[context, module] : library->modules)
      if (auto found = call.machine.modules.find(module))
        unload(call, found);
    for (const auto &[name, kernel] : library->kernels)
      call.machine.kernels.remove(kernel);
    call.machine.libraries.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name) {
  return call("cuLibraryGetKernel", kInitialized, [&](Call &call) {
    auto library = call.object(call.machine.libraries, handle);
    CUkernel &known = library->kernels[name];
    if (!known) {
      if (!library->image->image->kernel(name)) {
        library->kernels.erase(name);
        call.quietly(CUDA_ERROR_NOT_FOUND);
      }
      auto made = std::make_shared<LibraryKernel>();
      made->library = library;
      made->name = name;
      known = call.machine.kernels.add(made);
    }
    *kernel = known;
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel handle) {
  return call("cuKernelGetFunction", kContext, [&](Call &call) {
    auto kernel = call.object(call.machine.kernels, handle);
    auto library = kernel->library.lock();
    CUmodule &loaded = library->modules[call.context.get()];
    ModuleRef module = loaded ? call.machine.modules.find(loaded) : nullptr;
    if (!module) {
      auto image = std::make_shared<LoadedImage>(*library->image);
      image->globals = nullptr;
      // Each context has variables of its own.
      if (image->image->dataBytes()) {
        auto again = Image::load(settings().ir + "/" + image->hash + ".bc");
        if (!again)
          call.refuse(CUDA_ERROR_INVALID_IMAGE, again.failure().message(), "compile the program again");
        image->image = *again;
      }
      module = addModule(call, image);
      loaded = module->handle;
    }
    *function = functionOf(call, module, kernel->name.c_str());
    return CUDA_SUCCESS;
  });
}

} // extern "C"
} // namespace tessera::cuda
