//===- StreamsTarget.cpp - The CPU, with a stream for communication -------===//
//
// Target `streams`: all that target `cpu` is, and what ranks exchange runs on a stream of its own. Its
// programs run on the CPU's drivers, `checked` among them, so all that makes, orders and judges streams is
// tried where there is no other device. Linked into a compiler and a judge of its own.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/CPU/CPU.h"
#include "tessera/Target/Target.h"

namespace tessera {
namespace {

class StreamsTarget : public Target {
public:
  explicit StreamsTarget(std::shared_ptr<const Target> cpu) : cpu(std::move(cpu)) {}

  StreamChoices streams() const override { return {/*communication=*/true}; }

  TilingChoices tiling() const override { return cpu->tiling(); }
  const LibraryForms &libraryForms() const override { return cpu->libraryForms(); }
  void buildKernelPipeline(mlir::OpPassManager &pm) const override { cpu->buildKernelPipeline(pm); }
  TargetSection manifestSection() const override { return cpu->manifestSection(); }
  Status emitObject(mlir::ModuleOp module, llvm::StringRef path) const override {
    return cpu->emitObject(module, path);
  }
  Status link(const LinkOptions &options, llvm::StringRef output) const override {
    return cpu->link(options, output);
  }

private:
  std::shared_ptr<const Target> cpu;
};

Result<std::shared_ptr<const Target>> resolve(const TargetOptions &options) {
  auto cpu = describeCPU().resolve(options);
  if (!cpu)
    return cpu;
  return std::shared_ptr<const Target>(std::make_shared<StreamsTarget>(*cpu));
}

/// Before the list of lib/Target/CMakeLists.txt is read.
[[maybe_unused]] const bool registered = [] {
  TargetDescription description = describeCPU();
  description.name = "streams";
  description.registerPasses = [] {};
  description.resolve = resolve;
  registerTarget(description);
  return true;
}();

} // namespace
} // namespace tessera
