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
class EntryEmitter {
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
  Value constant(int64_t value) { return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(value)); }
  Value constant32(int64_t value) { return LLVM::ConstantOp::create(b, i32, b.getI32IntegerAttr(value)); }
  Value null() { return LLVM::ZeroOp::create(b, ptr); }
  Value gep(Value base, int64_t bytes) {
    if (bytes == 0)
      return base;
    return LLVM::GEPOp::create(b, ptr, b.getI8Type(), base, ValueRange{constant(bytes)});
  }
  Value at(Value value) { return values.lookup(value); }
  Value orNull(Value array) { return array ? at(array) : null(); }
  Value orZero(Value index) { return index ? at(index) : constant(0); }

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

  LogicalResult emitBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      b.setLoc(op.getLoc());
      if (failed(emitOp(&op)))
        return failure();
    }
    return success();
  }

  LogicalResult emitOp(Operation *op) {
    if (auto streamed = dyn_cast<ExecStreamOpInterface>(op))
      stream = constant32(streamed.getStreamNumber());
    if (auto constantOp = dyn_cast<arith::ConstantIndexOp>(op)) {
      values[op->getResult(0)] = constant(constantOp.value());
    } else if (auto buffer = dyn_cast<BufferOp>(op)) {
      auto offset = int64_t(buffer.getOffset());
      auto slot = llvm::find_if(slots, [&](const Slot &one) { return offset < one.end; });
      values[buffer] = slot == slots.end() ? gep(arena, offset) : gep(slot->base, offset - slot->begin);
    } else if (auto param = dyn_cast<ParamOp>(op)) {
      values[param] = LLVM::LoadOp::create(b, ptr, gep(params, 8 * manifest.param(param.getParamAttr())));
    } else if (auto group = dyn_cast<GroupIndexOp>(op)) {
      values[group] = call("ts_group_index", i64, {rank, constant32(manifest.group(group.getAxes()))});
    } else if (auto offset = dyn_cast<IndexOffsetOp>(op)) {
      Value index = at(offset.getIndex()), base = constant(offset.getOffset());
      values[offset] = offset.getReverse() ? LLVM::SubOp::create(b, base, index).getResult()
                                           : LLVM::AddOp::create(b, base, index).getResult();
    } else if (auto layer = dyn_cast<StackLayerOp>(op)) {
      Value turn = LLVM::UDivOp::create(b, at(layer.getIndex()), constant(layer.getPeriod()));
      Value number = LLVM::MulOp::create(b, turn, constant(layer.getHeld()));
      values[layer] = LLVM::AddOp::create(b, number, constant(layer.getBefore()));
    } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      values[reshape] = at(reshape.getInput());
    } else if (auto layer = dyn_cast<LayerOp>(op)) {
      Value bytes = LLVM::MulOp::create(b, at(layer.getIndex()), constant(layerStride(layer)));
      values[layer] = LLVM::GEPOp::create(b, ptr, b.getI8Type(), at(layer.getStack()), ValueRange{bytes});
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      emitLaunch(launch);
    } else if (auto matmul = dyn_cast<MatmulOp>(op)) {
      emitMatmul(matmul);
    } else if (auto gather = dyn_cast<GatherPackedOp>(op)) {
      emitGather(gather);
    } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
      call("ts_collective", nothing,
           {rank, stream, constant32(manifest.collective(collective)), at(collective.getInput()),
            at(collective.getOutput())});
    } else if (auto pack = dyn_cast<PackOp>(op)) {
      call("ts_pack", nothing,
           {rank, stream, constant32(manifest.param(pack.getParamAttr())),
            pack.getLayer() ? at(pack.getLayer()) : constant(-1)});
    } else if (auto start = dyn_cast<CollectiveStartOp>(op)) {
      values[start.getToken()] = call("ts_collective_start", i64,
                                      {rank, stream, constant32(manifest.collective(start)),
                                       at(start.getInput()), at(start.getOutput())});
    } else if (auto send = dyn_cast<SendOp>(op)) {
      values[send.getToken()] = emitMessage("ts_send", send);
    } else if (auto receive = dyn_cast<ReceiveOp>(op)) {
      values[receive.getToken()] = emitMessage("ts_receive", receive);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      call("ts_collective_wait", nothing, {rank, stream, at(wait.getToken())});
    } else if (auto record = dyn_cast<EventRecordOp>(op)) {
      call("ts_event_record", nothing, {rank, stream, constant32(record.getEvent())});
    } else if (auto wait = dyn_cast<EventWaitOp>(op)) {
      call("ts_event_wait", nothing, {rank, stream, constant32(wait.getEvent())});
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      call("ts_copy", nothing,
           {rank, stream, at(copy.getTarget()), at(copy.getSource()),
            constant(arrayBytes(copy.getSource().getType()))});
    } else if (auto loop = dyn_cast<ForOp>(op)) {
      return emitLoop(loop);
    } else {
      return op->emitOpError("does not stand on rung exec");
    }
    return success();
  }

  static int64_t floats(Value buffer) {
    return isa<FloatType>(cast<MemRefType>(buffer.getType()).getElementType()) ? TS_FLOATS : 0;
  }

  void emitLaunch(LaunchOp op) {
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

  template <typename Op> Value emitMessage(StringRef function, Op op) {
    return call(function, i64,
                {rank, stream, constant32(manifest.group(op.getAxes())), at(op.getPeer()),
                 constant(op.getTag()), at(op.getBuffer()), constant(arrayBytes(op.getBuffer().getType()))});
  }

  void emitMatmul(MatmulOp op) {
    SmallVector<Value> args = {rank,
                               stream,
                               constant32(manifest.matmul(op)),
                               orZero(op.getLayer()),
                               at(op.getInput()),
                               orNull(op.getWeight())};
    if (op.getStarts()) {
      args.append({at(op.getStarts()), at(op.getOutput())});
      call("ts_grouped_matmul", nothing, args);
      return;
    }
    args.append({at(op.getOutput()), orNull(op.getBias()), orNull(op.getAddend())});
    call("ts_matmul", nothing, args);
  }

  void emitGather(GatherPackedOp op) {
    auto ids = cast<ShapedType>(op.getIds().getType());
    auto parameter = SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(op, op.getParamAttr());
    Value base = LLVM::MulOp::create(b, orZero(op.getShard()), constant(packedMatrix(parameter).rows));
    call("ts_gather_packed", nothing,
         {rank, stream, constant32(manifest.param(op.getParamAttr())), orZero(op.getLayer()), at(op.getIds()),
          base, constant(ids.getNumElements()), at(op.getOutput())});
  }

  LogicalResult emitLoop(ForOp loop) {
    Block *before = b.getInsertionBlock();
    Region *region = before->getParent();
    Value count = constant(loop.getCount());
    if (loop.getCall())
      count = LLVM::LoadOp::create(b, i64, gep(counts, 8 * int64_t(*loop.getCall())));
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
  Value stream; ///< of the op that is emitted
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
