#include "DeviceHarness.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

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

namespace {
class EitherMemory : public standin::MemoryMap {
public:
  EitherMemory(const standin::MemoryMap &first, const standin::MemoryMap &second)
      : first(first), second(second) {}
  std::optional<standin::MemoryRange> find(uintptr_t address) const override {
    auto range = first.find(address);
    return range ? range : second.find(address);
  }

private:
  const standin::MemoryMap &first, &second;
};
} // namespace

/// The module of an image that has all kernels: of several, one may be for a chip with kernels of its own.
static std::string moduleWithAll(StringRef folder, const std::map<std::string, int64_t> &kernels) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error)) {
    auto file = llvm::MemoryBuffer::getFile(it->path());
    if (!StringRef(it->path()).ends_with(".bc") || !file)
      continue;
    llvm::LLVMContext context;
    auto module = llvm::cantFail(llvm::parseBitcodeFile(**file, context));
    if (llvm::all_of(kernels, [&](const auto &kernel) { return module->getFunction(kernel.first); }))
      return (*file)->getBuffer().str();
  }
  return "";
}

/// Goes through what orders accesses of several threads, and gives the module as it is afterwards.
static std::string forSynchronizations(const std::string &bitcode,
                                       llvm::function_ref<void(llvm::Instruction &, StringRef)> body) {
  llvm::LLVMContext context;
  auto module = llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernels"), context));
  std::vector<std::pair<llvm::Instruction *, std::string>> found;
  for (llvm::Function &function : *module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &inst : block) {
        if (isa<llvm::FenceInst>(inst))
          found.push_back({&inst, "fence"});
        auto *call = dyn_cast<llvm::CallInst>(&inst);
        if (!call || !call->getCalledFunction())
          continue;
        StringRef name = call->getCalledFunction()->getName();
        if (name.starts_with("llvm.nvvm.barrier.cta.sync") || name == "llvm.nvvm.bar.warp.sync" ||
            name.starts_with("llvm.nvvm.cp.async.wait") || name.starts_with("llvm.nvvm.fence.proxy.async") ||
            name.starts_with("llvm.nvvm.wgmma"))
          found.push_back({&inst, name.str()});
      }
  for (auto &[inst, what] : found)
    body(*inst, what);
  std::string written;
  llvm::raw_string_ostream stream(written);
  llvm::WriteBitcodeToFile(*module, stream);
  return written;
}

void registerDeviceDialects(DialectRegistry &registry) {
  registerCUDADialectExtensions(registry);
  registry.insert<exec::ExecDialect>();
}

DeviceKernels DeviceKernels::compile(const std::function<void(ModuleOp)> &fill) {
  DialectRegistry registry;
  registerDeviceDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  fill(*module);
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += diagnostic.str() + "\n";
    return success();
  });
  DeviceKernels result = compile(*module);
  if (!result.image && result.error.empty())
    result.error = diagnostics.empty() ? "unknown failure" : diagnostics;
  return result;
}

DeviceKernels DeviceKernels::compile(ModuleOp module) {
  DeviceKernels result;
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tessera-kernels", folder))
    return result.error = "no temporary folder", std::move(result);
  setenv("TESSERA_KERNEL_IR", folder.c_str(), 1);
  setenv("TESSERA_PTXAS", "", 1);
  module.getContext()->disableMultithreading();
  PassManager pm(module.getContext());
  buildCUDAKernelPipeline(pm);
  if (getenv("TESSERA_TEST_DUMP"))
    pm.enableIRPrinting([](Pass *, Operation *) { return false; }, [](Pass *, Operation *) { return true; });
  bool done = succeeded(pm.run(module));
  unsetenv("TESSERA_KERNEL_IR");
  if (!done)
    return result;
  module->walk([&](exec::DeviceKernelOp kernel) {
    result.threads[kernel.getSymName().str()] = kernel.getThreads();
    result.sharedBytes[kernel.getSymName().str()] = kernel.getShared();
  });
  result.bitcode = moduleWithAll(folder, result.threads);
  if (!getenv("TESSERA_TEST_KEEP"))
    llvm::sys::fs::remove_directories(folder);
  result.load();
  return result;
}

std::vector<std::string> DeviceKernels::synchronizations() const {
  std::vector<std::string> found;
  forSynchronizations(bitcode, [&](llvm::Instruction &, StringRef what) { found.push_back(what.str()); });
  return found;
}

DeviceKernels DeviceKernels::without(size_t synchronization) const {
  DeviceKernels result = *this;
  size_t next = 0;
  result.bitcode = forSynchronizations(bitcode, [&](llvm::Instruction &inst, StringRef) {
    if (next++ == synchronization)
      inst.eraseFromParent();
  });
  result.load();
  return result;
}

void DeviceKernels::load() {
  llvm::SmallString<128> path;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("tessera-kernel", "bc", descriptor, path)) {
    error = "no temporary file";
    return;
  }
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << bitcode;
  auto loaded = standin::Image::load(path.str().str());
  llvm::sys::fs::remove(path);
  if (loaded)
    image = *loaded;
  else
    error = loaded.failure().message();
}

std::string DeviceKernels::run(const std::string &name, const std::vector<const void *> &buffers,
                               const std::vector<int64_t> &scalars, int64_t blocks,
                               const standin::MemoryMap &memory, uint64_t seed, bool races) const {
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
  DeviceMemory own;
  own.add(image->data(), image->dataBytes(), true);
  EitherMemory all(own, memory);
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
