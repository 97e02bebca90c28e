//===- ConvertKernelsToLLVM.cpp - kernels to LLVM functions -----------------===//

#include "tessera/Target/CPU/Passes.h"
#include "tessera/Target/Kernels/ToLLVM.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tessera {
#define GEN_PASS_DEF_CONVERTKERNELSTOLLVM
#include "tessera/Target/CPU/Passes.h.inc"

using namespace mlir;

namespace {

/// What the entry point of a kernel must know after its types are gone.
struct Kernel {
  std::string name;
  bool isPrivate;
  unsigned buffers, scalars;
  Location loc;
};

struct ConvertKernelsToLLVM : impl::ConvertKernelsToLLVMBase<ConvertKernelsToLLVM> {
  using Base::Base;

  /// Moves the kernel to NAME.body and says what is known of its pointers.
  static FailureOr<Kernel> prepare(func::FuncOp func) {
    unsigned buffers = 0;
    for (BlockArgument arg : func.getArguments())
      if (isa<MemRefType>(arg.getType()))
        ++buffers;
      else if (!arg.getType().isIndex())
        return func.emitError() << "kernel '" << func.getName()
                                << "' is not on buffers yet: run bufferize-kernels";
    if (func.getNumArguments() < buffers + 2 || func.getNumResults())
      return func.emitError() << "kernel '" << func.getName() << "' has no range or still returns values";
    OpBuilder b(func.getContext());
    for (unsigned i = 0; i < buffers; ++i) {
      bool written = bool(func.getArgAttr(i, kOutputAttr));
      func.removeArgAttr(i, kOutputAttr);
      func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      if (!written)
        func.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
    }
    Kernel kernel{func.getName().str(), func.isPrivate(), buffers, func.getNumArguments() - buffers - 2,
                  func.getLoc()};
    func.setName(kernel.name + ".body");
    func.setPrivate();
    return kernel;
  }

  ArrayAttr functionAttributes(OpBuilder &b) {
    SmallVector<Attribute> attrs;
    auto add = [&](StringRef key, StringRef value) {
      if (!value.empty())
        attrs.push_back(b.getStrArrayAttr({key, value}));
    };
    add("target-cpu", cpu);
    add("target-features", features);
    add("prefer-vector-width", vectorBits ? std::to_string(vectorBits) : "");
    return b.getArrayAttr(attrs);
  }

  /// NAME(buffers, scalars, begin, end): ts_kernel_fn. Loads its operands and calls NAME.body.
  void createEntryPoint(const Kernel &kernel, LLVM::LLVMFuncOp target) {
    OpBuilder b(target);
    Location loc = kernel.loc;
    Type ptr = LLVM::LLVMPointerType::get(&getContext()), i64 = b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), {ptr, ptr, i64, i64});
    auto entry = LLVM::LLVMFuncOp::create(b, loc, kernel.name, type);
    entry.setLinkage(kernel.isPrivate ? LLVM::Linkage::Internal : LLVM::Linkage::External);
    if (kernel.isPrivate)
      SymbolTable::setSymbolVisibility(entry, SymbolTable::Visibility::Private);
    entry.setPassthroughAttr(functionAttributes(b));
    Block *block = entry.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> operands;
    auto loadFrom = [&](Value array, Type element, unsigned index) {
      Value place = LLVM::GEPOp::create(b, loc, ptr, element, array, ArrayRef<LLVM::GEPArg>{int32_t(index)});
      operands.push_back(LLVM::LoadOp::create(b, loc, element, place));
    };
    for (unsigned i = 0; i < kernel.buffers; ++i)
      loadFrom(block->getArgument(0), ptr, i);
    for (unsigned i = 0; i < kernel.scalars; ++i)
      loadFrom(block->getArgument(1), i64, i);
    operands.append({block->getArgument(2), block->getArgument(3)});
    LLVM::CallOp::create(b, loc, target, operands);
    LLVM::ReturnOp::create(b, loc, ValueRange{});
  }

  LogicalResult convert(ModuleOp module) {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    options.allocLowering = LowerToLLVMOptions::AllocLowering::AlignedAlloc;
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateKernelToLLVMPatterns(converter, patterns);

    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    // Kernels, and what the patterns of libm declare for them.
    auto stays = [](func::FuncOp func) {
      return !func->hasAttr(kKernelAttr) &&
             !(func.isExternal() && func->hasAttr(LLVM::LLVMDialect::getReadnoneAttrName()));
    };
    target.addDynamicallyLegalOp<func::FuncOp>(stays);
    target.markOpRecursivelyLegal<func::FuncOp>(stays);
    return applyPartialConversion(module, target, std::move(patterns));
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Kernel> kernels;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (!func->hasAttr(kKernelAttr) || func.isExternal())
        continue;
      FailureOr<Kernel> kernel = prepare(func);
      if (failed(kernel) || failed(simplifyKernel(func)))
        return signalPassFailure();
      if (!nativeBF16)
        carryBFloat16AsIntegers(func);
      kernels.push_back(*kernel);
    }
    if (kernels.empty())
      return;
    if (failed(convert(module)))
      return signalPassFailure();
    SymbolTable symbols(module);
    OpBuilder b(&getContext());
    for (const Kernel &kernel : kernels) {
      auto body = symbols.lookup<LLVM::LLVMFuncOp>(kernel.name + ".body");
      body->removeAttr(kKernelAttr);
      body.setLinkage(LLVM::Linkage::Internal);
      body.setNoInline(true); // keeps noalias where the optimizer reads it best, and profiles readable
      body.setPassthroughAttr(functionAttributes(b));
      createEntryPoint(kernel, body);
    }
  }
};

} // namespace
} // namespace tessera
