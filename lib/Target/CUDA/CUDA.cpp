//===- CUDA.cpp - NVIDIA GPUs in the list of targets ------------------------===//

#include "tessera/Target/CUDA/CUDA.h"

#include "Alignment.h"
#include "Architectures.h"
#include "AttentionForm.h"
#include "DrawForm.h"
#include "ProductForm.h"
#include "ScatterForm.h"

#include "tessera/Support/Failures.h"
#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/Target/CUDA/Passes.h"

namespace tessera {
namespace {

/// A block that reads less is not worth it.
constexpr int64_t kGrain = 4096;
/// Positions of a prompt that go through at once at least, and tokens of all rows: a product of 512 rows by
/// 4096 columns has tiles for half of 132 multiprocessors.
constexpr int64_t kPrefillChunk = 512, kPrefillTokens = 2048;
/// And of a short one: products of so many rows still wait for the weights.
constexpr int64_t kShortChunk = 128;

class CUDA : public Target {
public:
  CUDA(CPUTarget host, int64_t grain, int64_t page, int64_t chunk)
      : host(std::move(host)), grain(grain), page(page), chunk(chunk) {
    addCUDAAttentionForm(forms);
    addCUDADrawForm(forms);
    addCUDAProductForm(forms);
    addCUDAScatterAddForm(forms);
  }

  TilingChoices tiling() const override {
    // Four blocks for each of 132 multiprocessors.
    return {/*tileElements=*/65536,
            grain,
            /*prefillChunk=*/chunk ? chunk : kPrefillChunk,
            /*prefillTokens=*/chunk ? 0 : kPrefillTokens,
            /*shortChunk=*/kShortChunk,
            /*parallelIterations=*/528,
            /*cachePage=*/page,
            /*keptBytes=*/sharedBytesOf()};
  }
  StreamChoices streams() const override { return {/*communication=*/true}; }
  const LibraryForms &libraryForms() const override { return forms; }
  bool takesEpilogue(const ProductEpilogue &epilogue) const override { return takesCUDAEpilogue(epilogue); }
  int64_t layerAlignment() const override { return kLargestAccess; }
  void buildKernelPipeline(mlir::OpPassManager &pm) const override { buildCUDAKernelPipeline(pm); }
  TargetSection manifestSection() const override { return {"cuda", llvm::json::Object()}; }
  Status emitObject(mlir::ModuleOp module, llvm::StringRef path) const override {
    return asStatus(tessera::emitObject(module, host, path), "cannot make executable");
  }
  Status link(const LinkOptions &options, llvm::StringRef output) const override {
    return asStatus(linkExecutable(options, output), "cannot make executable");
  }

private:
  CPUTarget host;             ///< of the host program: any x86-64
  int64_t grain, page, chunk; ///< chunk 0: not given
  LibraryForms forms;
};

/// The number of option `name`, from `least` on; `otherwise` where it is not given.
Result<int64_t> numberOf(const TargetOptions &options, const std::string &name, int64_t least,
                         int64_t otherwise) {
  auto it = options.find(name);
  if (it == options.end())
    return otherwise;
  int64_t number;
  if (llvm::StringRef(it->second).getAsInteger(10, number) || number < least || number > INT32_MAX)
    return Failure{"cannot compile", "--" + name + "=" + it->second,
                   "must be a number from " + std::to_string(least) + " to " + std::to_string(INT32_MAX),
                   "leave it out"};
  return number;
}

Result<std::shared_ptr<const Target>> resolve(const TargetOptions &options) {
  Result<int64_t> grain = numberOf(options, "grain", 1, kGrain), page = numberOf(options, "page", 0, 0),
                  chunk = numberOf(options, "chunk", 1, 0);
  for (Result<int64_t> *number : {&grain, &page, &chunk})
    if (!*number)
      return number->takeFailure();
  llvm::Expected<CPUTarget> host = resolveCPUTarget("x86-64");
  if (!host)
    return asStatus(host.takeError(), "cannot compile").takeFailure();
  return std::shared_ptr<const Target>(std::make_shared<CUDA>(std::move(*host), *grain, *page, *chunk));
}

} // namespace

TargetDescription describeCUDA() {
  return {"cuda",
          {{"grain", "N", "elements that are worth a block (default 4096)"},
           {"page", "N",
            "positions of a page of the KV caches, 128 for all kernels; 0 (default): they have none"},
           {"chunk", "N",
            "positions of a prompt that go through at once (default: 2048 tokens of all rows, 512 positions "
            "at least)"}},
          registerCUDADialectExtensions,
          registerCUDAPasses,
          resolve};
}

} // namespace tessera
