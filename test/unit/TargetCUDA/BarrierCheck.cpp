// Runs every kernel of a program (rung exec, target cuda) on the stand-in's engine, with its search for
// races, on made-up inputs: as it is, which has to be clean, and without each barrier that
// cuda-distribute-tiles put in, in turn, which has to be found. One that nobody misses is not needed.
//
//   barrier-check FILE.mlir        prints `K kernels, W wrong, B barriers, U unnoticed`; exit status 1 unless
//   W and U are 0
#include "engine/Engine.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>

using namespace mlir;
using namespace tessera;

namespace {

/// How a kernel is launched, and on what.
struct Launched {
  std::vector<ShapedType> buffers;
  size_t scalars = 0;
  int64_t count = 0;
  int64_t threads = 0, shared = 0; ///< of a block, once compiled
};

/// Erases barrier number `number` of every kernel, and counts what there is.
class DropBarrier : public PassInstrumentation {
public:
  DropBarrier(int64_t number, std::map<std::string, int64_t> &counts) : number(number), counts(counts) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func || pass->getArgument() != "cuda-distribute-tiles" || !func->hasAttr(kKernelAttr))
      return;
    int64_t seen = 0;
    func.walk([&](gpu::BarrierOp barrier) {
      if (seen++ == number)
        barrier.erase();
    });
    counts[func.getName().str()] = seen;
  }

private:
  int64_t number;
  std::map<std::string, int64_t> &counts;
};

struct Ranges : standin::MemoryMap {
  std::map<uintptr_t, uintptr_t> live; ///< begin, end
  std::optional<standin::MemoryRange> find(uintptr_t address) const override {
    auto after = live.upper_bound(address);
    if (after == live.begin() || std::prev(after)->second <= address)
      return std::nullopt;
    return standin::MemoryRange{std::prev(after)->first, std::prev(after)->second, true};
  }
};

class Program {
public:
  static std::unique_ptr<Program> compile(MLIRContext &context, ModuleOp source, int64_t drop) {
    auto program = std::make_unique<Program>();
    OwningOpRef<ModuleOp> module = source.clone();
    module->walk([&](exec::LaunchOp launch) {
      Launched &kernel = program->kernels[launch.getKernel().str()];
      kernel.buffers.clear();
      for (ValueRange values : {launch.getInputs(), launch.getOutputs()})
        for (Value value : values)
          kernel.buffers.push_back(cast<ShapedType>(value.getType()));
      kernel.scalars = launch.getScalars().size();
      kernel.count = std::max(kernel.count, int64_t(launch.getCount()));
    });
    llvm::SmallString<128> folder;
    if (llvm::sys::fs::createUniqueDirectory("tessera-barriers", folder))
      return nullptr;
    setenv("TESSERA_PTXAS", "", 1);
    setenv("TESSERA_KERNEL_IR", folder.c_str(), 1);
    PassManager pm(&context);
    pm.addInstrumentation(std::make_unique<DropBarrier>(drop, program->barriers));
    context.disableMultithreading();
    buildCUDAKernelPipeline(pm);
    if (failed(pm.run(*module)))
      return nullptr;
    module->walk([&](exec::DeviceKernelOp kernel) {
      auto launched = program->kernels.find(kernel.getSymName().str());
      if (launched == program->kernels.end())
        return; // one that the runtime launches, to make up weights: no barrier of ours stands in it
      launched->second.threads = int64_t(kernel.getThreads());
      launched->second.shared = int64_t(kernel.getShared());
    });
    std::error_code error;
    for (llvm::sys::fs::directory_iterator file(folder, error), end; file != end && !error;
         file.increment(error))
      if (auto image = standin::Image::load(file->path()))
        program->image = image.take();
    llvm::sys::fs::remove_directories(folder);
    return program->image ? std::move(program) : nullptr;
  }

  /// The first finding of a few orders.
  std::optional<standin::Finding> run(const std::string &name) const {
    const Launched &kernel = kernels.at(name);
    Ranges memory;
    std::vector<std::unique_ptr<char, decltype(&std::free)>> buffers;
    std::mt19937 random(7);
    standin::LaunchRequest request;
    request.kernel = image->kernel(name);
    std::vector<char> parameters(request.kernel->parameterBytes);
    size_t next = 0;
    auto put = [&](int64_t value) {
      memcpy(parameters.data() + request.kernel->parameters[next++].offset, &value, 8);
    };
    for (ShapedType type : kernel.buffers) {
      Type element = type.getElementType();
      size_t width = std::max(1u, element.getIntOrFloatBitWidth() / 8),
             bytes = size_t(type.getNumElements()) * width;
      buffers.emplace_back(static_cast<char *>(aligned_alloc(64, (bytes + 127) / 64 * 64)), &std::free);
      char *data = buffers.back().get();
      for (size_t i = 0; i < bytes; i += width) {
        // Positions differ, and are inside of everything; floats of every width are between 0.5 and 2.
        uint64_t bits = element.isF32()    ? 0x3F000000u + (random() & 0x00FFFFFFu)
                        : element.isBF16() ? 0x3F00u + (random() & 0xFFu)
                        : element.isF16()  ? 0x3800u + (random() & 0x7FFu)
                        : width == 1       ? random() & 1
                                           : uint64_t(i / width);
        memcpy(data + i, &bits, width);
      }
      memory.live[uintptr_t(data)] = uintptr_t(data) + bytes;
      put(int64_t(data));
    }
    for (size_t i = 0; i < kernel.scalars; ++i)
      put(0);
    put(kernel.count);
    request.grid.x = uint32_t(std::min<int64_t>(kernel.count, 4096));
    request.block.x = uint32_t(kernel.threads);
    request.dynamicShared = uint32_t(kernel.shared);
    request.parameters = parameters.data();
    request.memory = &memory;
    request.races = true;
    for (request.seed = 1; request.seed <= 3; ++request.seed)
      if (std::optional<standin::Finding> finding = standin::run(request))
        return finding;
    return std::nullopt;
  }

  std::map<std::string, Launched> kernels;
  std::map<std::string, int64_t> barriers;
  std::shared_ptr<standin::Image> image;
};

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = argc == 2 ? parseSourceFile<ModuleOp>(argv[1], &context) : nullptr;
  if (!module) {
    fprintf(stderr, "error: no program (command line): barrier-check FILE.mlir, of rung exec\n");
    return 2;
  }
  auto whole = Program::compile(context, *module, -1);
  if (!whole)
    return 2;
  int64_t wrong = 0, total = 0, most = 0, unnoticed = 0;
  for (auto &[name, kernel] : whole->kernels) {
    if (std::optional<standin::Finding> finding = whole->run(name)) {
      printf("%s\n", finding->text.c_str());
      ++wrong;
    }
    most = std::max(most, whole->barriers[name]);
    total += whole->barriers[name];
  }
  for (int64_t number = 0; number < most; ++number) {
    auto without = Program::compile(context, *module, number);
    if (!without)
      return 2;
    for (auto &[name, count] : whole->barriers) {
      if (number >= count)
        continue;
      std::optional<standin::Finding> finding = without->run(name);
      if (finding && finding->kind == standin::Finding::Kind::Race)
        continue;
      printf("kernel %s: barrier %ld of %ld is not missed%s\n", name.c_str(), long(number), long(count),
             finding ? (": " + finding->text).c_str() : "");
      ++unnoticed;
    }
  }
  printf("%ld kernels, %ld wrong, %ld barriers, %ld unnoticed\n", long(whole->kernels.size()), long(wrong),
         long(total), long(unnoticed));
  return wrong || unnoticed;
}
