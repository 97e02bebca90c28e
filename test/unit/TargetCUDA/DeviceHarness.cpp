#include "DeviceHarness.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <cstring>

namespace tessera::test {

using namespace mlir;

void *DeviceMemory::add(const void *data, size_t bytes, bool writable) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  ranges[begin] = {begin, begin + bytes, writable};
  return const_cast<void *>(data);
}

std::optional<standin::MemoryRange> DeviceMemory::find(uintptr_t address) const {
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin() || std::prev(after)->second.end <= address)
    return std::nullopt;
  return std::prev(after)->second;
}

static std::string onlyFileIn(StringRef folder) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error))
    if (StringRef(it->path()).ends_with(".bc"))
      return it->path();
  return "";
}

DeviceKernels DeviceKernels::compile(const std::function<void(ModuleOp)> &fill) {
  DeviceKernels result;
  DialectRegistry registry;
  registerCUDADialectExtensions(registry);
  MLIRContext context(registry);
  context.disableMultithreading();
  context.loadAllAvailableDialects();
  context.getOrLoadDialect<exec::ExecDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  fill(*module);
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += diagnostic.str() + "\n";
    return success();
  });
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tessera-kernels", folder))
    return result.error = "no temporary folder", std::move(result);
  setenv("TESSERA_KERNEL_IR", folder.c_str(), 1);
  setenv("TESSERA_PTXAS", "", 1);
  PassManager pm(&context);
  buildCUDAKernelPipeline(pm);
  if (getenv("TESSERA_TEST_DUMP"))
    pm.enableIRPrinting([](Pass *, Operation *) { return false; }, [](Pass *, Operation *) { return true; });
  bool done = succeeded(pm.run(*module));
  unsetenv("TESSERA_KERNEL_IR");
  if (!done)
    return result.error = diagnostics.empty() ? "unknown failure" : diagnostics, std::move(result);
  module->walk([&](exec::DeviceKernelOp kernel) {
    result.threads[kernel.getSymName().str()] = kernel.getThreads();
    result.sharedBytes[kernel.getSymName().str()] = kernel.getShared();
  });
  auto image = standin::Image::load(onlyFileIn(folder));
  if (!getenv("TESSERA_TEST_KEEP"))
    llvm::sys::fs::remove_directories(folder);
  if (!image)
    return result.error = image.failure().message(), std::move(result);
  result.image = *image;
  return result;
}

std::string DeviceKernels::run(const std::string &name, const std::vector<const void *> &buffers,
                               const std::vector<int64_t> &scalars, int64_t blocks,
                               const DeviceMemory &memory, uint64_t seed, bool races) const {
  const standin::Kernel *kernel = image->kernel(name);
  if (!kernel)
    return "no kernel " + name;
  std::vector<int64_t> words;
  for (const void *buffer : buffers)
    words.push_back(reinterpret_cast<int64_t>(buffer));
  words.insert(words.end(), scalars.begin(), scalars.end());
  words.push_back(blocks);
  if (words.size() != kernel->parameters.size())
    return "the kernel has " + std::to_string(kernel->parameters.size()) + " parameters, not " +
           std::to_string(words.size());
  std::vector<char> bytes(kernel->parameterBytes);
  for (size_t i = 0; i < words.size(); ++i)
    std::memcpy(&bytes[kernel->parameters[i].offset], &words[i], 8);
  // The image's own memory is live too.
  DeviceMemory all = memory;
  all.add(image->data(), image->dataBytes(), true);
  standin::LaunchRequest request;
  request.kernel = kernel;
  request.grid = {uint32_t(blocks)};
  request.block = {uint32_t(threads.at(name))};
  request.dynamicShared = uint32_t(sharedBytes.at(name));
  request.parameters = bytes.data();
  request.seed = seed;
  request.memory = &all;
  request.races = races;
  auto finding = standin::run(request);
  return finding ? finding->text : "";
}

} // namespace tessera::test
