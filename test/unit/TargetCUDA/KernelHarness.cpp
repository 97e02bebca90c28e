// Compiles kernel functions for GPUs as llm-compile does and runs them on the stand-in's engine: the tests of
// the CPU's kernels, on the same declarations (test/unit/TargetCPU/KernelHarness.h).
#include "KernelHarness.h"

#include "engine/Engine.h"

#include "tessera/Support/ScratchFile.h"
#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include "gtest/gtest.h"

#include <cstring>
#include <map>
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

namespace {

struct Program {
  std::shared_ptr<standin::Image> image;
  std::map<std::string, std::pair<uint32_t, uint32_t>> blocks; ///< threads and shared bytes of each kernel
};

/// The buffers of a test are where they are; that nobody writes behind them their guards see.
struct AllMemory : standin::MemoryMap {
  std::optional<standin::MemoryRange> find(uintptr_t address) const override {
    if (address < 4096)
      return std::nullopt;
    return standin::MemoryRange{4096, UINTPTR_MAX, true};
  }
};

} // namespace

CompiledKernels CompiledKernels::compile(MLIRContext &context, OwningOpRef<ModuleOp> module,
                                         const std::string &) {
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
  // What launches promise: buffers of the arena.
  for (auto func : module->getOps<func::FuncOp>())
    if (func->hasAttr(kKernelAttr))
      for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
        if (isa<RankedTensorType>(type))
          func.setArgAttr(i, kAlignAttr, IntegerAttr::get(IntegerType::get(&context, 64), 64));
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tessera-kernel", folder))
    return fail("no temporary folder");
  setenv("TESSERA_PTXAS", "", 1);
  setenv("TESSERA_KERNEL_IR", folder.c_str(), 1);
  PassManager pm(&context);
  buildCUDAKernelPipeline(pm);
  if (getenv("TESSERA_TEST_DUMP")) {
    context.disableMultithreading();
    pm.enableIRPrinting([](Pass *, Operation *) { return false; }, [](Pass *, Operation *) { return true; });
  }
  if (failed(pm.run(*module)))
    return fail(diagnostics);
  auto program = std::make_unique<Program>();
  module->walk([&](exec::DeviceKernelOp kernel) {
    program->blocks[kernel.getSymName().str()] = {uint32_t(kernel.getThreads()),
                                                  uint32_t(kernel.getShared())};
  });
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(folder, error), end; file != end && !error;
       file.increment(error)) {
    Result<std::shared_ptr<standin::Image>> image = standin::Image::load(file->path());
    if (!image)
      return fail(image.failure().message());
    program->image = image.take();
  }
  if (!getenv("TESSERA_TEST_KEEP"))
    llvm::sys::fs::remove_directories(folder);
  if (!program->image)
    return fail("no IR was kept");
  result.library = program.release();
  return result;
}

static std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerCUDADialectExtensions(registry);
  registry.insert<exec::ExecDialect>();
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

CompiledKernels::~CompiledKernels() { delete static_cast<Program *>(library); }

KernelFn CompiledKernels::get(const std::string &) const { return nullptr; } // nothing that the host can call

void CompiledKernels::run(const std::string &name, std::vector<void *> buffers, std::vector<int64_t> scalars,
                          int64_t begin, int64_t end) const {
  auto *program = static_cast<Program *>(library);
  const standin::Kernel *kernel = program->image->kernel(name);
  ASSERT_TRUE(kernel) << name;
  std::vector<char> parameters(kernel->parameterBytes);
  ASSERT_EQ(kernel->parameters.size(), buffers.size() + scalars.size() + 1);
  size_t next = 0;
  auto put = [&](int64_t value) { memcpy(parameters.data() + kernel->parameters[next++].offset, &value, 8); };
  for (void *buffer : buffers)
    put(int64_t(buffer));
  for (int64_t scalar : scalars)
    put(scalar);
  put(end);
  AllMemory memory;
  standin::LaunchRequest request;
  request.kernel = kernel;
  // A launch of blocks has no first iteration: those before `begin` do again what they did, and nothing else.
  request.grid.x = uint32_t(end);
  auto [threads, shared] = program->blocks[name];
  request.block.x = threads;
  request.dynamicShared = shared;
  request.parameters = parameters.data();
  request.memory = &memory;
  const char *seed = getenv("TESSERA_STANDIN_SEED"), *races = getenv("TESSERA_STANDIN_RACES");
  request.seed = seed ? strtoull(seed, nullptr, 10) : 1;
  request.races = !races || *races != '0';
  std::optional<standin::Finding> finding = standin::run(request);
  ASSERT_FALSE(finding) << finding->text;
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
