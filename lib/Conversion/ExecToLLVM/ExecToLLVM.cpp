//===- ExecToLLVM.cpp - host functions to calls of the runtime --------------===//

#include "ManifestWriter.h"
#include "ProgramTables.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/runtime/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_EXECTOLLVM
#include "tessera/Conversion/Passes.h.inc"

using namespace mlir;
using namespace tessera::exec;

namespace {

/// Emits one entry: straight calls, loops as blocks. Pointers stand for buffers, i64 for indices.
class EntryEmitter : public HostCode {
public:
  EntryEmitter(ModuleOp module, ManifestWriter &manifest)
      : module(module), manifest(manifest), b(module.getLoc(), module.getContext()) {
    ptr = LLVM::LLVMPointerType::get(b.getContext());
    i64 = b.getI64Type();
    i32 = b.getI32Type();
    nothing = LLVM::LLVMVoidType::get(b.getContext());
  }

  /// @name(rank, call) does what `entry` does.
  FailureOr<LLVM::LLVMFuncOp> emit(func::FuncOp entry, StringRef name) {
    b.setInsertionPointToEnd(module.getBody());
    auto func = LLVM::LLVMFuncOp::create(
        b, entry.getLoc(), name, LLVM::LLVMFunctionType::get(nothing, {ptr, ptr}), LLVM::Linkage::Internal);
    Block *block = func.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    rank = block->getArgument(0);
    Value call = block->getArgument(1);
    arena = LLVM::LoadOp::create(b, ptr, call);
    counts = LLVM::LoadOp::create(b, ptr, gep(call, 8));
    slots.clear();
    if (auto bytes = module->getAttrOfType<DenseI64ArrayAttr>(kSlotBytesAttr))
      for (auto [number, size] : llvm::enumerate(bytes.asArrayRef())) {
        int64_t begin = slots.empty() ? 0 : slots.back().end;
        Value base = size > 0 ? LLVM::LoadOp::create(b, ptr, gep(call, 16 + 8 * int64_t(number))).getResult()
                              : Value();
        slots.push_back({begin, begin + size, base});
      }
    params = LLVM::LoadOp::create(b, ptr, rank);
    // One argument array serves all launches: a launch copies it before it returns.
    size_t buffers = 1, scalars = 1;
    entry.walk([&](LaunchOp op) {
      buffers = std::max(buffers, op.getInputs().size() + op.getOutputs().size());
      scalars = std::max<size_t>(scalars, op.getScalars().size());
    });
    bufferArray = LLVM::AllocaOp::create(b, ptr, ptr, constant(buffers), 16);
    scalarArray = LLVM::AllocaOp::create(b, ptr, i64, constant(scalars), 16);
    values.clear();
    if (failed(emitBlock(entry.getBody().front())))
      return failure();
    LLVM::ReturnOp::create(b, ValueRange());
    return func;
  }

  /// Kernels in the order of their numbers.
  SmallVector<KernelRow> kernelTable() const { return llvm::to_vector(llvm::make_second_range(kernels)); }

private:
  ManifestTables &tables() override { return manifest; }
  Value constant(int64_t value) override {
    return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(value));
  }
  Value constant32(int64_t value) override {
    return LLVM::ConstantOp::create(b, i32, b.getI32IntegerAttr(value));
  }
  Value null() override { return LLVM::ZeroOp::create(b, ptr); }
  Value add(Value x, Value y) override { return LLVM::AddOp::create(b, x, y); }
  Value subtract(Value x, Value y) override { return LLVM::SubOp::create(b, x, y); }
  Value multiply(Value x, Value y) override { return LLVM::MulOp::create(b, x, y); }
  Value divide(Value x, Value y) override { return LLVM::UDivOp::create(b, x, y); }
  Value gep(Value base, int64_t bytes) {
    if (bytes == 0)
      return base;
    return LLVM::GEPOp::create(b, ptr, b.getI8Type(), base, ValueRange{constant(bytes)});
  }
  Value at(Value value) override { return values.lookup(value); }
  Value inArena(int64_t offset) override {
    auto slot = llvm::find_if(slots, [&](const Slot &one) { return offset < one.end; });
    return slot == slots.end() ? gep(arena, offset) : gep(slot->base, offset - slot->begin);
  }
  Value plain(FlatSymbolRefAttr param) override {
    return LLVM::LoadOp::create(b, ptr, gep(params, 8 * manifest.param(param)));
  }
  Value behind(Value array, Value bytes) override {
    return LLVM::GEPOp::create(b, ptr, b.getI8Type(), array, ValueRange{bytes});
  }

  Value call(StringRef name, Type result, ValueRange args) {
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      callee = LLVM::LLVMFuncOp::create(
          b, name, LLVM::LLVMFunctionType::get(result, SmallVector<Type>(args.getTypes())));
    }
    auto op = LLVM::CallOp::create(b, callee, args);
    return isa<LLVM::LLVMVoidType>(result) ? Value() : op.getResult();
  }

  void call(StringRef function, ArrayRef<Value> arguments) override {
    call(function, nothing, withRank(arguments));
  }
  Value callForNumber(StringRef function, ArrayRef<Value> arguments) override {
    return call(function, i64, withRank(arguments));
  }
  SmallVector<Value> withRank(ArrayRef<Value> arguments) {
    SmallVector<Value> all{rank};
    if (stream)
      all.push_back(stream);
    llvm::append_range(all, arguments);
    return all;
  }

  LogicalResult emitBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      b.setLoc(op.getLoc());
      if (failed(emitOp(&op)))
        return failure();
    }
    return success();
  }

  LogicalResult emitOp(Operation *op) {
    auto streamed = dyn_cast<ExecStreamOpInterface>(op);
    stream = streamed ? constant32(streamed.getStreamNumber()) : Value();
    if (auto index = dyn_cast<arith::ConstantIndexOp>(op)) {
      values[op->getResult(0)] = constant(index.value());
      return success();
    }
    auto known = dyn_cast<ExecHostCodeOpInterface>(op);
    if (!known)
      return op->emitOpError("does not stand on rung exec");
    FailureOr<Value> result = known.emitHostCode(*this);
    if (failed(result))
      return failure();
    if (*result)
      values[op->getResult(0)] = *result;
    return success();
  }

  static int64_t floats(Value buffer) {
    return isa<FloatType>(cast<MemRefType>(buffer.getType()).getElementType()) ? TS_FLOATS : 0;
  }

  void launch(LaunchOp op) override {
    SmallVector<Value> buffers(op.getInputs());
    llvm::append_range(buffers, op.getOutputs());
    for (auto [i, buffer] : llvm::enumerate(buffers))
      LLVM::StoreOp::create(b, at(buffer), gep(bufferArray, 8 * int64_t(i)));
    for (auto [i, scalar] : llvm::enumerate(op.getScalars()))
      LLVM::StoreOp::create(b, at(scalar), gep(scalarArray, 8 * int64_t(i)));
    StringAttr name = op.getKernelAttr().getAttr();
    auto [kernel, fresh] = kernels.insert({name, KernelRow{name, {}, int64_t(op.getScalars().size())}});
    if (fresh) {
      for (Value input : op.getInputs())
        kernel->second.buffers.push_back({arrayBytes(input.getType()), TS_READ | floats(input)});
      for (Value output : op.getOutputs())
        kernel->second.buffers.push_back({arrayBytes(output.getType()), TS_WRITE | floats(output)});
    }
    // Written whole only if all launches of the kernel say so.
    for (unsigned i = 0; i < op.getOutputs().size(); ++i)
      if (op.getMode(i) != AccessKind::Write)
        kernel->second.buffers[op.getInputs().size() + i].second |= TS_UPDATE;
    call("ts_launch", nothing,
         {rank, stream, constant32(kernel - kernels.begin()), bufferArray, scalarArray,
          constant(op.getCount()), constant(op.getGrain())});
  }

  LogicalResult loop(ForOp loop) override {
    Block *before = b.getInsertionBlock();
    Region *region = before->getParent();
    Value count = constant(loop.getCount());
    if (loop.getCall())
      count = LLVM::LoadOp::create(b, i64, gep(counts, 8 * int64_t(*loop.getCall())));
    else if (loop.getNumber())
      count = at(loop.getNumber());
    Block *body = b.createBlock(region, region->end(), {i64}, {loop.getLoc()});
    b.setInsertionPointToStart(body);
    Value index = body->getArgument(0);
    values[loop.getIndex()] = index;
    if (failed(emitBlock(loop.getBody().front())))
      return failure();
    Value next = LLVM::AddOp::create(b, index, constant(loop.getStep()));
    Value again = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::slt, next, count);
    Block *last = b.getInsertionBlock();
    Block *after = b.createBlock(region, region->end());
    b.setInsertionPointToEnd(before);
    Value zero = constant(0);
    if (loop.getLeast() > 0) { // the body runs at least once: the test at its end is enough
      LLVM::BrOp::create(b, ValueRange{zero}, body);
    } else {
      Value any = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::slt, zero, count);
      LLVM::CondBrOp::create(b, any, body, ValueRange{zero}, after, ValueRange());
    }
    b.setInsertionPointToEnd(last);
    LLVM::CondBrOp::create(b, again, body, ValueRange{next}, after, ValueRange());
    b.setInsertionPointToStart(after);
    return success();
  }

  ModuleOp module;
  ManifestWriter &manifest;
  ImplicitLocOpBuilder b;
  Type ptr, i64, i32, nothing;
  Value stream; ///< of the op that is emitted, if it is given to one
  /// A part of the arena that a micro-batch has its own of.
  struct Slot {
    int64_t begin, end;
    Value base;
  };
  SmallVector<Slot> slots;
  Value rank, arena, counts, params, bufferArray, scalarArray;
  llvm::DenseMap<Value, Value> values;
  llvm::MapVector<StringAttr, KernelRow> kernels;
};

/// The target's section of the manifest. What the images are for is said by the images that there are.
static TargetSection sectionOf(ModuleOp module, const Target &target) {
  TargetSection section = target.manifestSection();
  llvm::json::Array architectures;
  for (ImageOp image : module.getOps<ImageOp>())
    architectures.push_back(image.getArchitecture());
  if (!architectures.empty())
    section.facts["architectures"] = std::move(architectures);
  return section;
}

struct ExecToLLVM : impl::ExecToLLVMBase<ExecToLLVM> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::shared_ptr<const Target> resolved = resolveTarget(module, target, targetOptions);
    if (!resolved)
      return signalPassFailure();
    ManifestWriter manifest(module, sectionOf(module, *resolved));
    SmallVector<func::FuncOp> entries;
    for (auto func : module.getOps<func::FuncOp>())
      if (func->hasAttr(kEntryAttr))
        entries.push_back(func);
    EntryEmitter emitter(module, manifest);
    SmallVector<LLVM::LLVMFuncOp> functions;
    for (func::FuncOp entry : entries) {
      FailureOr<LLVM::LLVMFuncOp> function = emitter.emit(entry, ("tessera_entry_" + entry.getName()).str());
      if (failed(function))
        return signalPassFailure();
      functions.push_back(*function);
      if (failed(manifest.addEntry(entry)))
        return signalPassFailure();
    }
    emitProgramTables(module, functions, emitter.kernelTable(), manifest.text());
    for (func::FuncOp entry : entries)
      entry.erase();
    for (Operation &op : llvm::make_early_inc_range(module.getBody()->getOperations()))
      if (isa<graph::ParameterOp, dist::MeshOp, DeviceKernelOp, DeviceSiblingOp, ImageOp>(op))
        op.erase();
    for (NamedAttribute attr : llvm::to_vector(module->getDiscardableAttrs()))
      if (!attr.getName().strref().starts_with("llvm."))
        module->removeAttr(attr.getName());
  }
};

} // namespace
} // namespace tessera
