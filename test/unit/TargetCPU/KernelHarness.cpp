#include "KernelHarness.h"

#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/Target/CPU/Passes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>
#include <random>

namespace tessera::test {

using namespace mlir;

Buffer<float> randomFloats(size_t size, unsigned seed, float low, float high) {
  Buffer<float> values(size);
  std::mt19937 generator(seed);
  for (size_t i = 0; i < size; ++i)
    values[i] = low + (high - low) * float(generator() >> 8) / float(1 << 24);
  return values;
}

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

CompiledKernels CompiledKernels::compile(MLIRContext &context, OwningOpRef<ModuleOp> module,
                                         const std::string &cpu) {
  CompiledKernels result;
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += diagnostic.str() + "\n";
    return success();
  });
  auto fail = [&](std::string why) {
    result.error = why.empty() ? "unknown failure" : std::move(why);
    return std::move(result);
  };
  llvm::Expected<CPUTarget> target = resolveCPUTarget(cpu);
  if (!target)
    return fail(llvm::toString(target.takeError()));
  KernelPipelineOptions options;
  options.cpu = cpu;
  PassManager pm(&context);
  buildKernelToLLVMPipeline(pm, options);
  if (getenv("TESSERA_TEST_TIMING"))
    pm.enableTiming();
  if (getenv("TESSERA_TEST_DUMP")) {
    context.disableMultithreading();
    pm.enableIRPrinting([](Pass *, Operation *) { return false; }, [](Pass *, Operation *) { return true; });
  }
  if (failed(pm.run(*module)))
    return fail(diagnostics);
  module->walk([&](Operation *) { ++result.instructions; });
  llvm::SmallString<128> object, library;
  if (llvm::sys::fs::createTemporaryFile("tessera-kernel", "o", object) ||
      llvm::sys::fs::createTemporaryFile("tessera-kernel", "so", library))
    return fail("no temporary file");
  if (llvm::Error error = emitObject(*module, *target, object))
    return fail(llvm::toString(std::move(error)));
  result.calls = undefinedSymbols(object);
  LinkOptions link;
  link.objects = {object.str().str()};
  link.shared = true;
  if (llvm::Error error = linkExecutable(link, library))
    return fail(llvm::toString(std::move(error)));
  if (!getenv("TESSERA_TEST_KEEP"))
    llvm::sys::fs::remove(object);
  result.library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!result.library)
    return fail(dlerror());
  if (!getenv("TESSERA_TEST_KEEP"))
    llvm::sys::fs::remove(library);
  return result;
}

static std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerCPUDialectExtensions(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

CompiledKernels CompiledKernels::fromText(const std::string &text, const std::string &cpu) {
  auto context = createContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  if (!module) {
    CompiledKernels result;
    result.error = "the test's MLIR does not parse";
    return result;
  }
  return compile(*context, std::move(module), cpu);
}

CompiledKernels CompiledKernels::fromBuilder(const std::function<void(ModuleOp)> &fill,
                                             const std::string &cpu) {
  auto context = createContext();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context.get()));
  fill(*module);
  return compile(*context, std::move(module), cpu);
}

CompiledKernels::CompiledKernels(CompiledKernels &&other)
    : error(std::move(other.error)), calls(std::move(other.calls)), instructions(other.instructions),
      library(std::exchange(other.library, nullptr)) {}

CompiledKernels::~CompiledKernels() {
  if (library)
    dlclose(library);
}

KernelFn CompiledKernels::get(const std::string &name) const {
  return library ? reinterpret_cast<KernelFn>(dlsym(library, name.c_str())) : nullptr;
}

void CompiledKernels::run(const std::string &name, std::vector<void *> buffers, std::vector<int64_t> scalars,
                          int64_t begin, int64_t end) const {
  get(name)(buffers.data(), scalars.data(), begin, end);
}

double maxRelativeError(const float *x, const std::vector<double> &y, double floor) {
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i)
    worst = std::isnan(x[i]) ? INFINITY
                             : std::max(worst, std::fabs(x[i] - y[i]) / std::max(std::fabs(y[i]), floor));
  return worst;
}

double maxAbsoluteError(const float *x, const std::vector<double> &y) {
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i)
    worst = std::isnan(x[i]) ? INFINITY : std::max(worst, std::fabs(x[i] - y[i]));
  return worst;
}

} // namespace tessera::test
