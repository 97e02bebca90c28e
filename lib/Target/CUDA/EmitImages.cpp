//===- EmitImages.cpp - the kernels' module to images -----------------------===//

#include "Architectures.h"
#include "DeviceCode.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace tessera {
#define GEN_PASS_DEF_CUDAEMITIMAGES
#include "tessera/Target/CUDA/Passes.h.inc"

using namespace mlir;

namespace {

struct CUDAEmitImages : impl::CUDAEmitImagesBase<CUDAEmitImages> {
  void addImage(OpBuilder &b, StringRef architecture, StringRef bytes) {
    exec::ImageOp::create(b, getOperation().getLoc(), architecture, bytes);
  }

  Status emit(ModuleOp device) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(device, context, "tessera");
    if (!code)
      return Failure{"cannot compile kernels", "module @" + kDeviceModule.str(),
                     "cannot translate them to LLVM IR", "report it"};
    std::optional<std::string> ptxas = findPtxas();
    if (!ptxas)
      remark::missed(device.getLoc(), remark::RemarkOpts::name("NoPtxas").category("tessera-cuda"))
          << "no ptxas: the program holds PTX only, which the driver compiles at its first start";
    for (StringRef chip : kCubinChips)
      if (ptxas || hasKernelsFor(*code, chip))
        if (Status s = emitFor(device.getLoc(), *code, chip, ptxas); !s)
          return s;
    return emitFor(device.getLoc(), *code, kPTXChip, std::nullopt);
  }

  /// The image for `chip`: a cubin by ptxas, or PTX.
  Status emitFor(Location loc, const llvm::Module &code, StringRef chip,
                 const std::optional<std::string> &ptxas) {
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    std::unique_ptr<llvm::Module> clone = llvm::CloneModule(code);
    dropKernelsOfOthers(*clone, chip);
    Result<std::string> ptx = generatePTX(*clone, chip);
    if (!ptx)
      return ptx.takeFailure();
    if (!ptxas) {
      addImage(b, "compute_" + chip.drop_front(3).str(), *ptx);
      return keepKernelIR(*clone, *ptx);
    }
    Result<Cubin> cubin = assemble(*ptxas, *ptx, chip);
    if (!cubin)
      return cubin.takeFailure();
    report(loc, chip, cubin->kernels);
    addImage(b, chip, cubin->bytes);
    return keepKernelIR(*clone, cubin->bytes);
  }

  static bool hasKernelsFor(const llvm::Module &code, StringRef chip) {
    return llvm::any_of(code, [&](const llvm::Function &function) {
      return function.getFnAttribute(kChipAttr).getValueAsString() == chip;
    });
  }

  /// Kernels that say what chip they are for are for no other.
  static void dropKernelsOfOthers(llvm::Module &code, StringRef chip) {
    for (llvm::Function &function : llvm::make_early_inc_range(code)) {
      if (!function.hasFnAttribute(kChipAttr))
        continue;
      if (function.getFnAttribute(kChipAttr).getValueAsString() == chip)
        function.removeFnAttr(kChipAttr);
      else
        function.eraseFromParent();
    }
  }

  /// What every kernel takes, and what it should not take.
  void report(Location loc, StringRef chip, ArrayRef<KernelResources> kernels) {
    for (const KernelResources &kernel : kernels) {
      std::string text;
      llvm::raw_string_ostream(text) << "kernel " << kernel.name << " for " << chip << ": "
                                     << kernel.registers << " registers, " << kernel.sharedBytes
                                     << " bytes of static shared memory, stack " << kernel.stackBytes
                                     << ", spilled " << kernel.spilledBytes
                                     << (kernel.serialized ? ", wgmma serialized" : "");
      remark::analysis(loc, remark::RemarkOpts::name("KernelResources").category("tessera-cuda")) << text;
    }
  }

  void runOnOperation() override {
    auto device = getOperation().lookupSymbol<ModuleOp>(kDeviceModule);
    if (!device)
      return;
    if (Status status = emit(device); !status) {
      device.emitError() << status.failure().message();
      return signalPassFailure();
    }
    device.erase();
  }
};

} // namespace
} // namespace tessera
