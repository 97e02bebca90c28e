//===- OutlineKernels.cpp - kernels to a device module in LLVM --------------===//

#include "tessera/Target/CUDA/Passes.h"
#include "tessera/Target/KernelSibling.h"
#include "tessera/Target/Kernels/ToLLVM.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tessera {
#define GEN_PASS_DEF_CUDAOUTLINEKERNELS
#include "tessera/Target/CUDA/Passes.h.inc"

using namespace mlir;

namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr StringLiteral kSharedMemory = "tessera_shared";
/// What swizzled tiles need (ThreadCode::describeMatrix).
constexpr unsigned kSharedAlignment = 1024;

Value callIntrinsic(OpBuilder &b, Location loc, Type result, StringRef name, ValueRange args) {
  auto call = result ? LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name), args)
                     : LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr(name), args);
  return result ? call.getResult(0) : Value();
}

Value constant32(OpBuilder &b, Location loc, int32_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(value));
}

/// The number of a thread in its block, or of a block. Kernels have one dimension.
template <typename OpT> struct NumberLowering : ConvertOpToLLVMPattern<OpT> {
  StringRef name;
  NumberLowering(const LLVMTypeConverter &converter, StringRef name)
      : ConvertOpToLLVMPattern<OpT>(converter), name(name) {}

  LogicalResult matchAndRewrite(OpT op, typename OpT::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getDimension() != gpu::Dimension::x)
      return rewriter.notifyMatchFailure(op, "kernels have one dimension");
    Value number = callIntrinsic(rewriter, op.getLoc(), rewriter.getI32Type(), name, {});
    rewriter.replaceOpWithNewOp<LLVM::ZExtOp>(op, this->getTypeConverter()->convertType(op.getType()),
                                              number);
    return success();
  }
};

struct BarrierLowering : ConvertOpToLLVMPattern<gpu::BarrierOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    callIntrinsic(rewriter, op.getLoc(), {}, "llvm.nvvm.barrier.cta.sync.aligned.all",
                  constant32(rewriter, op.getLoc(), 0));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ShuffleLowering : ConvertOpToLLVMPattern<gpu::ShuffleOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(gpu::ShuffleOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = adaptor.getValue().getType();
    if (op.getMode() != gpu::ShuffleMode::XOR || !op.getValid().use_empty() ||
        !(type.isF32() || type.isInteger(32)))
      return rewriter.notifyMatchFailure(op, "only exchanges of 32 bits");
    Location loc = op.getLoc();
    Value all = constant32(rewriter, loc, -1), clamp = constant32(rewriter, loc, 31);
    Value moved = callIntrinsic(
        rewriter, loc, type, type.isF32() ? "llvm.nvvm.shfl.sync.bfly.f32" : "llvm.nvvm.shfl.sync.bfly.i32",
        {all, adaptor.getValue(), adaptor.getOffset(), clamp});
    Value valid = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI1Type(), rewriter.getBoolAttr(true));
    rewriter.replaceOp(op, {moved, valid});
    return success();
  }
};

/// `op` becomes the memory at `address`, seen as any other memory: LLVM infers its space again.
void replaceByMemory(ConversionPatternRewriter &rewriter, const LLVMTypeConverter &converter,
                     memref::AllocOp op, Value address) {
  Location loc = op.getLoc();
  Value generic =
      LLVM::AddrSpaceCastOp::create(rewriter, loc, LLVM::LLVMPointerType::get(op.getContext()), address);
  rewriter.replaceOp(op,
                     {MemRefDescriptor::fromStaticShape(rewriter, loc, converter, op.getType(), generic)});
}

/// A temporary is a place in the block's shared memory.
struct SharedLowering : ConvertOpToLLVMPattern<memref::AllocOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(memref::AllocOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(kSharedOffsetAttr);
    if (!offset)
      return op.emitOpError() << "has no place in shared memory: run cuda-place-shared";
    Location loc = op.getLoc();
    Type shared = LLVM::LLVMPointerType::get(getContext(), kSharedSpace);
    Value base = LLVM::AddressOfOp::create(rewriter, loc, shared, kSharedMemory);
    Value place = LLVM::GEPOp::create(rewriter, loc, shared, rewriter.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{int32_t(offset.getInt())});
    replaceByMemory(rewriter, *getTypeConverter(), op, place);
    return success();
  }
};

/// Memory of the image is a global variable.
struct ImageMemoryLowering : ConvertOpToLLVMPattern<memref::AllocOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(memref::AllocOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto name = op->getAttrOfType<FlatSymbolRefAttr>(kImageMemoryAttr);
    if (!name)
      return rewriter.notifyMatchFailure(op, "a temporary");
    Location loc = op.getLoc();
    Value memory = LLVM::AddressOfOp::create(
        rewriter, loc, LLVM::LLVMPointerType::get(getContext(), kGlobalSpace), name.getValue());
    replaceByMemory(rewriter, *getTypeConverter(), op, memory);
    return success();
  }
};

struct CUDAOutlineKernels : impl::CUDAOutlineKernelsBase<CUDAOutlineKernels> {
  /// Says what is known of the arguments, and makes the range the launch's count.
  LogicalResult prepare(func::FuncOp func) {
    OpBuilder b(func.getContext());
    unsigned buffers = 0;
    for (BlockArgument arg : func.getArguments())
      buffers += isa<MemRefType>(arg.getType());
    unsigned range = func.getNumArguments() - 2;
    if (range < buffers || func.getNumResults() || !func.getArgument(range).use_empty() ||
        !func.getArgument(range + 1).use_empty())
      return func.emitError() << "kernel '" << func.getName()
                              << "' is not spread over threads: run cuda-distribute-tiles";
    if (failed(func.eraseArgument(range + 1)))
      return failure();
    for (unsigned i = 0; i < buffers; ++i) {
      bool written = bool(func.getArgAttr(i, kOutputAttr));
      auto align = func.getArgAttrOfType<IntegerAttr>(i, kAlignAttr);
      func.removeArgAttr(i, kOutputAttr);
      func.removeArgAttr(i, kAlignAttr);
      func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      if (align)
        func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), align);
      if (!written)
        func.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
    }
    func.setPublic();
    return success();
  }

  /// A global variable for each allocation of memory of the image, which gets its name.
  void defineImageMemory(func::FuncOp func, ModuleOp device) {
    unsigned count = 0;
    func.walk([&](memref::AllocOp op) {
      if (!op->hasAttr(kImageMemoryAttr))
        return;
      OpBuilder b = OpBuilder::atBlockEnd(device.getBody());
      std::string name = (func.getName() + "_memory" + Twine(count++)).str();
      auto type = LLVM::LLVMArrayType::get(op.getType().getElementType(), op.getType().getNumElements());
      auto global = LLVM::GlobalOp::create(
          b, op.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
          b.getZeroAttr(RankedTensorType::get(op.getType().getShape(), op.getType().getElementType())),
          /*alignment=*/64, kGlobalSpace);
      op->setAttr(kImageMemoryAttr, FlatSymbolRefAttr::get(global.getSymNameAttr()));
    });
  }

  /// What stands where the kernel stood.
  static void leave(OpBuilder &b, func::FuncOp func, IntegerAttr threads, IntegerAttr shared) {
    auto attr = func->getAttrOfType<DictionaryAttr>(kSiblingAttr);
    if (!attr) {
      exec::DeviceKernelOp::create(b, func.getLoc(), func.getSymNameAttr(), threads, shared,
                                   b.getI64IntegerAttr(1));
      return;
    }
    KernelSibling sibling = KernelSibling::of(attr);
    exec::DeviceSiblingOp::create(b, func.getLoc(), func.getSymName(), sibling.kernel.getValue(),
                                  sibling.count, sibling.blocks, threads.getInt(), shared.getInt(),
                                  sibling.key, sibling.ascending, sibling.row, sibling.first);
  }

  LogicalResult convert(ModuleOp device) {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateKernelToLLVMPatterns(converter, patterns);
    patterns.add<BarrierLowering, ShuffleLowering>(converter);
    patterns.add<SharedLowering>(converter, /*benefit=*/2);
    patterns.add<ImageMemoryLowering>(converter, /*benefit=*/3);
    patterns.add<NumberLowering<gpu::ThreadIdOp>>(converter, "llvm.nvvm.read.ptx.sreg.tid.x");
    patterns.add<NumberLowering<gpu::BlockIdOp>>(converter, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    return applyFullConversion(device, target, std::move(patterns));
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto func : module.getOps<func::FuncOp>())
      if (func->hasAttr(kKernelAttr) && !func.isExternal())
        kernels.push_back(func);
    if (kernels.empty())
      return;
    OpBuilder b(&getContext());
    b.setInsertionPointToEnd(module.getBody());
    auto device = ModuleOp::create(b, module.getLoc(), kDeviceModule);
    // Constant tables that kernels look up.
    for (auto global : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
      global->moveBefore(device.getBody(), device.getBody()->end());
    llvm::StringMap<int64_t> threadsOf;
    llvm::StringMap<StringAttr> chipOf;
    for (func::FuncOp func : kernels) {
      auto threads = func->getAttrOfType<IntegerAttr>(kThreadsAttr),
           shared = func->getAttrOfType<IntegerAttr>(kSharedBytesAttr);
      if (!threads || !shared) {
        func.emitError() << "kernel '" << func.getName()
                         << "' has no block: run cuda-distribute-tiles, cuda-place-shared";
        return signalPassFailure();
      }
      b.setInsertionPoint(func);
      leave(b, func, threads, shared);
      threadsOf[func.getName()] = threads.getInt();
      chipOf[func.getName()] = func->getAttrOfType<StringAttr>(kChipAttr);
      if (failed(prepare(func)) || failed(simplifyKernel(func)))
        return signalPassFailure();
      carryBFloat16AsIntegers(func);
      defineImageMemory(func, device);
      for (StringRef attr : {StringRef(kKernelAttr), StringRef(kThreadsAttr), StringRef(kSharedBytesAttr),
                             StringRef(kNativeBF16Attr), StringRef(kChipAttr), StringRef(kSiblingAttr)})
        func->removeAttr(attr);
      func->moveBefore(device.getBody(), device.getBody()->end());
    }
    b.setInsertionPointToStart(device.getBody());
    LLVM::GlobalOp::create(b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External, kSharedMemory, Attribute(),
                           kSharedAlignment, kSharedSpace);
    if (failed(convert(device)))
      return signalPassFailure();
    for (auto func : device.getOps<LLVM::LLVMFuncOp>()) {
      auto it = threadsOf.find(func.getName());
      if (it == threadsOf.end())
        continue;
      func.setCConv(LLVM::cconv::CConv::PTX_Kernel);
      // With one block at least ptxas takes the registers that it needs; left alone it spills for a third
      // block.
      SmallVector<Attribute> attrs = {b.getStrArrayAttr({"nvvm.reqntid", std::to_string(it->second)}),
                                      b.getStrArrayAttr({"nvvm.minctasm", "1"})};
      if (StringAttr chip = chipOf.lookup(func.getName()))
        attrs.push_back(b.getStrArrayAttr({kChipAttr, chip.getValue()}));
      func.setPassthroughAttr(b.getArrayAttr(attrs));
    }
  }
};

} // namespace
} // namespace tessera
