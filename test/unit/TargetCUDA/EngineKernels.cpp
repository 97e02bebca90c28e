// Kernels for GPUs, run by the stand-in's engine.
#include "DeviceHarness.h"
#include "KernelHarness.h"

#include "tessera/Target/CUDA/DrawKernel.h"
#include "tessera/Target/CUDA/Passes.h"

#include "gtest/gtest.h"

namespace tessera::test {

using namespace mlir;

namespace {

/// The buffers of a test are where they are; that nobody writes behind them their guards see.
struct AllMemory : standin::MemoryMap {
  std::optional<standin::MemoryRange> find(uintptr_t address) const override {
    if (address < 4096)
      return std::nullopt;
    return standin::MemoryRange{4096, UINTPTR_MAX, true};
  }
};

class EngineKernels : public KernelProgram {
public:
  explicit EngineKernels(DeviceKernels kernels) : kernels(std::move(kernels)) {}

  void run(const std::string &name, std::vector<void *> buffers, std::vector<int64_t> scalars, int64_t begin,
           int64_t end) const override {
    const char *seed = getenv("TESSERA_STANDIN_SEED"), *races = getenv("TESSERA_STANDIN_RACES");
    // A launch of blocks has no first iteration: those before `begin` do again what they did, and nothing
    // else.
    ASSERT_EQ(kernels.run(name, {buffers.begin(), buffers.end()}, scalars, end, AllMemory(),
                          seed ? strtoull(seed, nullptr, 10) : 1, !races || *races != '0'),
              "");
  }

private:
  DeviceKernels kernels;
};

} // namespace

void registerKernelDialects(DialectRegistry &registry) { registerDeviceDialects(registry); }

func::FuncOp buildTargetDrawKernel(Location loc, StringRef name, const DrawShape &shape) {
  return buildCUDADrawKernel(loc, name, shape);
}

bool compileKernels(ModuleOp module, const std::string &, CompiledKernels &result) {
  // What launches promise: buffers of the arena.
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(kKernelAttr))
      for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
        if (isa<RankedTensorType>(type))
          func.setArgAttr(i, kAlignAttr, Builder(type.getContext()).getI64IntegerAttr(64));
  DeviceKernels kernels = DeviceKernels::compile(module);
  result.error = kernels.error;
  if (!kernels.image)
    return false;
  result.program = std::make_unique<EngineKernels>(std::move(kernels));
  return true;
}

} // namespace tessera::test
