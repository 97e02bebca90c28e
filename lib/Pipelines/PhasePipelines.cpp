//===- PhasePipelines.cpp - The phases by name, for llm-opt ---------------===//
#include "tessera/Pipelines/Phases.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tessera {
namespace {
/// What --mesh, --shard and --machine say (tessera/Dialect/Dist/Transforms/MeshSpec.h has the grammar).
struct ShardOptions : PassPipelineOptions<ShardOptions> {
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("Axes and sizes, major to minor: dp=2,tp=4")};
  Option<std::string> shard{
      *this, "shard",
      llvm::cl::desc("Items [VALUE:]DIM=AXIS[+AXIS...] or [VALUE:]DIM=-, separated by commas")};
  Option<std::string> machine{
      *this, "machine",
      llvm::cl::desc("name of a machine, or JSON file that describes it (docs/Machines.md)")};

  CompileOptions asCompileOptions() const {
    CompileOptions options;
    options.mesh = mesh;
    options.shard = shard;
    options.machine = machine;
    return options;
  }
};

struct BackendOptions : PassPipelineOptions<BackendOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("What to compile for"), llvm::cl::init("cpu")};
  Option<std::string> targetOptions{*this, "target-options",
                                    llvm::cl::desc("NAME=VALUE,... of the target: cpu=x86-64-v3")};
  Option<bool> overlap{*this, "overlap", llvm::cl::desc("Communication beside computation"),
                       llvm::cl::init(true)};

  CompileOptions asCompileOptions() const {
    CompileOptions options;
    options.target = target;
    options.targetOptions = parseTargetOptions(targetOptions);
    options.overlap = overlap;
    return options;
  }
};

template <typename Options>
void registerPhases(StringRef name, StringRef description, Rung first, Rung last) {
  PassPipelineRegistration<Options>(name, description, [=](OpPassManager &pm, const Options &options) {
    buildPhases(pm, first, last, options.asCompileOptions());
  });
}
} // namespace

void registerPhasePipelines() {
  registerPhases<ShardOptions>("tessera-shard",
                               "From rung step to rung spmd: annotate, propagate, reshard, partition",
                               Rung::Sharded, Rung::Spmd);
  registerPhases<BackendOptions>("tessera-to-kernels", "Rung spmd to rung kernels", Rung::Kernels,
                                 Rung::Kernels);
  registerPhases<BackendOptions>("tessera-to-exec", "Rung spmd to rung exec", Rung::Kernels, Rung::Exec);
  registerPhases<BackendOptions>("tessera-to-llvm", "Rung spmd to the LLVM dialect", Rung::Kernels,
                                 Rung::Binary);
}

} // namespace tessera
