// Kernels for the CPU: pipeline, object and lld, loaded into the test.
#include "KernelHarness.h"

#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/Target/CPU/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>

namespace tessera::test {

using namespace mlir;

namespace {

class HostKernels : public KernelProgram {
public:
  explicit HostKernels(void *library) : library(library) {}
  ~HostKernels() override { dlclose(library); }

  KernelFn get(const std::string &name) const override {
    return reinterpret_cast<KernelFn>(dlsym(library, name.c_str()));
  }
  void run(const std::string &name, std::vector<void *> buffers, std::vector<int64_t> scalars, int64_t begin,
           int64_t end) const override {
    get(name)(buffers.data(), scalars.data(), begin, end);
  }

private:
  void *library;
};

} // namespace

static std::vector<std::string> undefinedSymbols(llvm::StringRef path) {
  std::vector<std::string> names;
  auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(path));
  for (const llvm::object::SymbolRef &symbol : file.getBinary()->symbols())
    if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
      // The optimizer calls the C library to clear and copy; that is no arithmetic in a loop.
      if (llvm::StringRef name = llvm::cantFail(symbol.getName());
          !name.empty() && name != "memset" && name != "memcpy" && name != "memmove")
        names.push_back(name.str());
  return names;
}

void registerKernelDialects(DialectRegistry &registry) { registerCPUDialectExtensions(registry); }

func::FuncOp buildTargetDrawKernel(Location loc, StringRef name, const DrawShape &shape) {
  return buildDrawKernel(loc, name, shape);
}

bool compileKernels(ModuleOp module, const std::string &cpu, CompiledKernels &result) {
  auto fail = [&](std::string why) {
    result.error = std::move(why);
    return false;
  };
  llvm::Expected<CPUTarget> target = resolveCPUTarget(cpu);
  if (!target)
    return fail(llvm::toString(target.takeError()));
  KernelPipelineOptions options;
  options.cpu = cpu;
  PassManager pm(module.getContext());
  buildKernelToLLVMPipeline(pm, options);
  if (getenv("TESSERA_TEST_TIMING"))
    pm.enableTiming();
  if (getenv("TESSERA_TEST_DUMP")) {
    module.getContext()->disableMultithreading();
    pm.enableIRPrinting([](Pass *, Operation *) { return false; }, [](Pass *, Operation *) { return true; });
  }
  if (failed(pm.run(module)))
    return false;
  module->walk([&](Operation *) { ++result.instructions; });
  llvm::SmallString<128> object, library;
  if (llvm::sys::fs::createTemporaryFile("tessera-kernel", "o", object) ||
      llvm::sys::fs::createTemporaryFile("tessera-kernel", "so", library))
    return fail("no temporary file");
  if (llvm::Error error = emitObject(module, *target, object))
    return fail(llvm::toString(std::move(error)));
  result.calls = undefinedSymbols(object);
  LinkOptions link;
  link.objects = {object.str().str()};
  link.shared = true;
  if (llvm::Error error = linkExecutable(link, library))
    return fail(llvm::toString(std::move(error)));
  if (!getenv("TESSERA_TEST_KEEP"))
    llvm::sys::fs::remove(object);
  void *loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded)
    return fail(dlerror());
  result.program = std::make_unique<HostKernels>(loaded);
  if (!getenv("TESSERA_TEST_KEEP"))
    llvm::sys::fs::remove(library);
  return true;
}

} // namespace tessera::test
