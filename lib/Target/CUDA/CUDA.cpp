//===- CUDA.cpp - NVIDIA GPUs in the list of targets ------------------------===//

#include "tessera/Target/CUDA/CUDA.h"

#include "Alignment.h"
#include "Architectures.h"
#include "AttentionForm.h"
#include "DeviceCode.h"
#include "ProductForm.h"

#include "tessera/Support/Failures.h"
#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/Target/CUDA/Passes.h"
#include "tessera/Target/Forms.h"

namespace tessera {
namespace {

/// A block that reads less is not worth it.
constexpr int64_t kGrain = 4096;
/// Products of so many rows read their weight from memory and little else: no library is faster.
constexpr int64_t kTileRows = 8;

class CUDA : public Target {
public:
  CUDA(CPUTarget host, int64_t grain) : host(std::move(host)), grain(grain) {
    addCUDAAttentionForm(forms);
    addCUDAProductForm(forms, kTileRows);
    addScatterAddForm(forms);
  }

  TilingChoices tiling() const override {
    // Four blocks for each of 132 multiprocessors.
    return {/*tileElements=*/65536, grain, /*prefillChunk=*/512, /*parallelIterations=*/528};
  }
  StreamChoices streams() const override { return {/*communication=*/true}; }
  const LibraryForms &libraryForms() const override { return forms; }
  bool takesEpilogue(const ProductEpilogue &epilogue) const override { return takesCUDAEpilogue(epilogue); }
  int64_t layerAlignment() const override { return kLargestAccess; }
  void buildKernelPipeline(mlir::OpPassManager &pm) const override { buildCUDAKernelPipeline(pm); }
  TargetSection manifestSection() const override {
    llvm::json::Array architectures;
    if (findPtxas())
      for (llvm::StringRef chip : kCubinChips)
        architectures.push_back(chip);
    architectures.push_back(kPTXArchitecture);
    return {"cuda", llvm::json::Object{{"architectures", std::move(architectures)}}};
  }
  Status emitObject(mlir::ModuleOp module, llvm::StringRef path) const override {
    return asStatus(tessera::emitObject(module, host, path), "cannot make executable");
  }
  Status link(const LinkOptions &options, llvm::StringRef output) const override {
    return asStatus(linkExecutable(options, output), "cannot make executable");
  }

private:
  CPUTarget host; ///< of the host program: any x86-64
  int64_t grain;
  LibraryForms forms;
};

Result<std::shared_ptr<const Target>> resolve(const TargetOptions &options) {
  int64_t grain = kGrain;
  if (auto it = options.find("grain");
      it != options.end() && (llvm::StringRef(it->second).getAsInteger(10, grain) || grain < 1))
    return Failure{"cannot compile", "--grain=" + it->second, "must be a number from 1 on", "leave it out"};
  llvm::Expected<CPUTarget> host = resolveCPUTarget("x86-64");
  if (!host)
    return asStatus(host.takeError(), "cannot compile").takeFailure();
  return std::shared_ptr<const Target>(std::make_shared<CUDA>(std::move(*host), grain));
}

} // namespace

TargetDescription describeCUDA() {
  return {"cuda",
          {{"grain", "N", "elements that are worth a block (default 4096)"}},
          registerCUDADialectExtensions,
          registerCUDAPasses,
          resolve};
}

} // namespace tessera
