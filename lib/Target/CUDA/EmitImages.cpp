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
      return Failure{"cannot compile kernels", "", "cannot translate them to LLVM IR", "report it"};
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    std::optional<std::string> ptxas = findPtxas();
    if (!ptxas)
      remark::missed(device.getLoc(), remark::RemarkOpts::name("NoPtxas").category("tessera-cuda"))
          << "no ptxas: the program holds PTX only, which the driver compiles at its first start";
    if (ptxas)
      for (StringRef chip : kCubinChips) {
        std::unique_ptr<llvm::Module> clone = llvm::CloneModule(*code);
        Result<std::string> ptx = generatePTX(*clone, chip);
        if (!ptx)
          return ptx.takeFailure();
        Result<Cubin> cubin = assemble(*ptxas, *ptx, chip);
        if (!cubin)
          return cubin.takeFailure();
        if (Status s = keepKernelIR(*clone, cubin->bytes); !s)
          return s;
        report(device.getLoc(), chip, cubin->kernels);
        addImage(b, chip, cubin->bytes);
      }
    Result<std::string> ptx = generatePTX(*code, kPTXChip);
    if (!ptx)
      return ptx.takeFailure();
    if (Status s = keepKernelIR(*code, *ptx); !s)
      return s;
    addImage(b, kPTXArchitecture, *ptx);
    return {};
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
