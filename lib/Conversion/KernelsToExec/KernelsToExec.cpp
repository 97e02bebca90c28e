//===- KernelsToExec.cpp - tensors become places in the arena ---------------===//

#include "BufferAssignment.h"
#include "EntryPorts.h"
#include "HeldValues.h"
#include "ParameterUpdates.h"
#include "PersistentBuffers.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_KERNELSTOEXEC
#include "tessera/Conversion/Passes.h.inc"

using namespace mlir;
using namespace tessera::exec;

namespace {

int64_t alignedBytes(Type type) { return int64_t(llvm::alignTo(arrayBytes(type), kBufferAlignment)); }

/// Rewrites one entry from tensors to buffers.
class EntryRewriter {
public:
  EntryRewriter(func::FuncOp func, BufferAssignment &buffers, ArrayRef<ParameterUpdate> updates,
                int64_t scratchBase)
      : func(func), buffers(buffers), updates(updates), scratch(scratchBase), scratchEnd(scratchBase),
        builder(func.getContext()) {
    // A storage is for what comes first in the order of counting, of all the values that lie in it.
    HeldValues held(func, updates);
    for (auto [value, storage] : buffers.values()) {
      Held what = held.heldBy(value);
      auto [at, isNew] = holds.try_emplace(storage, what, value);
      if (!isNew && what < at->second.first)
        at->second = {what, value};
    }
    for (auto &[storage, what] : holds)
      names[storage] = HeldValues::nameOf(what.second);
  }

  LogicalResult run(ArrayRef<Port> results) {
    Block &body = func.getBody().front();
    entry = &body;
    builder.setInsertionPointToStart(&body);
    for (BlockArgument arg : body.getArguments())
      memory[arg] = bufferFor(arg);
    rewriteBlock(body);
    Operation *ret = body.getTerminator();
    builder.setInsertionPoint(ret);
    SmallVector<std::pair<Value, Value>> copies;
    for (const ParameterUpdate &update : updates)
      if (!update.behind && !update.madeInPlace)
        copies.push_back({memory.lookup(update.value), parameter(update)});
    for (auto [value, port] : llvm::zip_equal(ret->getOperands(), results))
      copies.push_back({memory.lookup(value), outputBuffer(value, port.offset, bufferType(port.type))});
    copyAll(ret->getLoc(), copies);
    ret->setOperands({});
    eraseTensors(body);
    body.eraseArguments(0, body.getNumArguments());
    func.setFunctionType(builder.getFunctionType({}, {}));
    func.removeArgAttrsAttr();
    func.removeResAttrsAttr();
    return success();
  }
  /// End of the scratch buffers that copies needed.
  int64_t end() const { return scratchEnd; }

private:
  Value newBuffer(int64_t offset, MemRefType type) {
    OpBuilder atStart = OpBuilder::atBlockBegin(entry);
    return BufferOp::create(atStart, func.getLoc(), type, offset);
  }
  /// Where the plain form of an updated parameter lies.
  Value parameter(const ParameterUpdate &update) {
    auto type = bufferType(update.value.getType());
    for (auto param : entry->getOps<ParamOp>())
      if (param.getParamAttr() == update.parameter && param.getType() == Type(type))
        return param;
    OpBuilder atStart = OpBuilder::atBlockBegin(entry);
    return ParamOp::create(atStart, func.getLoc(), type, update.parameter);
  }
  /// The place of a value that is made where a variable lies.
  Value inParameter(Value made) {
    const ParameterUpdate *update =
        llvm::find_if(updates, [&](const ParameterUpdate &other) { return other.madeInPlace == made; });
    Value place = parameter(*update);
    MemRefType type = bufferType(made.getType());
    return place.getType() == Type(type) ? place
                                         : ReshapeOp::create(builder, func.getLoc(), type, place).getResult();
  }
  /// The buffer of a storage; one op for each, at the start of the function, also where storages lie over
  /// each other: who reads through a buffer wants what was written through it (verify-exec-memory).
  Value bufferFor(Value value) {
    int storage = buffers.storage(value);
    if (auto layer = buffers.layerOf(storage))
      return layerFor(*layer, bufferType(value.getType()));
    Value &buffer = ofStorage[storage];
    if (!buffer) {
      buffer = newBuffer(buffers.offset(storage), bufferType(buffers.type(storage)));
      if (Held what = holds.lookup(storage).first; what != Held::Scratch)
        buffer.getDefiningOp()->setAttr(
            kHoldsAttr, builder.getStrArrayAttr({kHeldNames[size_t(what)], names.lookup(storage)}));
    }
    MemRefType type = bufferType(value.getType());
    return buffer.getType() == Type(type) ? buffer : ReshapeOp::create(builder, func.getLoc(), type, buffer);
  }
  /// A layer of a stack's buffer, as `type`.
  Value layerFor(const BufferAssignment::Layer &layer, MemRefType type) {
    Value stack = bufferFor(layer.stack);
    auto stackType = cast<MemRefType>(stack.getType());
    Type one = MemRefType::get(stackType.getShape().drop_front(), stackType.getElementType());
    Value view = LayerOp::create(builder, func.getLoc(), one, stack, layer.index);
    return one == type ? view : ReshapeOp::create(builder, func.getLoc(), type, view).getResult();
  }
  /// What the caller finds at `offset`: the buffer of `value` if that lives there, that of the argument that
  /// comes from there (a state), or one of its own.
  Value outputBuffer(Value value, int64_t offset, MemRefType type) {
    auto isThere = [&](Value found) {
      auto buffer = wholeOf(found).getDefiningOp<BufferOp>();
      return buffer && int64_t(buffer.getOffset()) == offset && found.getType() == type;
    };
    if (Value found = memory.lookup(value); isThere(found))
      return found;
    for (BlockArgument arg : entry->getArguments())
      if (isThere(memory.lookup(arg)))
        return memory.lookup(arg);
    return newBuffer(offset, type);
  }

  /// The bytes that a view's buffer has; none for a parameter, which lies elsewhere.
  static std::pair<int64_t, int64_t> byteRange(Value value) {
    auto buffer = rootBuffer(value).getDefiningOp<BufferOp>();
    int64_t begin = buffer ? int64_t(buffer.getOffset()) : 0;
    return {begin, buffer ? begin + arrayBytes(buffer.getType()) : 0};
  }
  /// Where `a` and `b` lie they share bytes, whichever buffers name them.
  static bool isOver(Value a, Value b) {
    auto p = rootBuffer(a).getDefiningOp<ParamOp>(), q = rootBuffer(b).getDefiningOp<ParamOp>();
    if (p || q)
      return p && q && p.getParamAttr() == q.getParamAttr();
    auto [xBegin, xEnd] = byteRange(a);
    auto [yBegin, yEnd] = byteRange(b);
    return xBegin < yEnd && yBegin < xEnd;
  }

  /// Assigns all targets at once. A source that a target lies over, its own in part or another's, goes
  /// through a scratch buffer first.
  void copyAll(Location loc, ArrayRef<std::pair<Value, Value>> copies) {
    SmallVector<std::pair<Value, Value>> work;
    int64_t at = scratch;
    for (auto [source, target] : copies) {
      if (isSameMemory(source, target))
        continue;
      bool clobbered = llvm::any_of(copies, [&, source = source, target = target](const auto &other) {
        if (isSameMemory(other.first, other.second) || !isOver(other.second, source))
          return false;
        // On its own target it may lie as a whole: that copy changes nothing.
        return other.second != target || byteRange(target) != byteRange(source);
      });
      if (clobbered) {
        auto type = cast<MemRefType>(source.getType());
        Value through = newBuffer(at, type);
        at += alignedBytes(type);
        CopyOp::create(builder, loc, source, through, /*stream=*/nullptr);
        source = through;
      }
      work.push_back({source, target});
    }
    scratchEnd = std::max(scratchEnd, at);
    for (auto [source, target] : work)
      CopyOp::create(builder, loc, source, target, /*stream=*/nullptr);
  }
  static Value rootBuffer(Value value) { return rootOf(value); }

  void rewriteBlock(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      builder.setInsertionPoint(&op);
      if (isa<tensor::EmptyOp>(op))
        continue;
      if (auto loop = dyn_cast<ForOp>(op))
        rewriteLoop(loop);
      else if (auto flag = dyn_cast<ReadFlagOp>(op))
        flag.getFlagMutable().assign(memory.lookup(flag.getFlag()));
      else if (isa<ParamOp, ExecViewOpInterface>(op))
        rewriteView(&op);
      else if (auto copy = dyn_cast<LaunchOp>(op); copy && buffers.isInPlace(copy))
        dropCopy(copy);
      else if (isa<DestinationStyleOpInterface>(op) && isa<ExecDialect>(op.getDialect()))
        rewriteWork(&op);
      builder.setInsertionPointAfter(&op);
      for (const ParameterUpdate &update : updates)
        if (update.behind == &op && !update.madeInPlace)
          CopyOp::create(builder, op.getLoc(), memory.lookup(update.value), parameter(update),
                         /*stream=*/nullptr);
    }
  }

  void rewriteView(Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isa<RankedTensorType>(operand.getType()) ? memory.lookup(operand) : operand);
    Operation *view = Operation::create(
        op->getLoc(), op->getName(), TypeRange(Type(bufferType(op->getResult(0).getType()))), operands,
        op->getDiscardableAttrDictionary(), op->getPropertiesStorage(), {}, 0);
    builder.insert(view);
    memory[op->getResult(0)] = view->getResult(0);
    dead.push_back(op);
  }

  /// An output whose old value goes into the new one. A fresh stack has none, even if it is filled layer by
  /// layer.
  static bool isUpdated(OpOperand &output) {
    if (output.get().getDefiningOp<tensor::EmptyOp>())
      return false;
    auto launch = dyn_cast<LaunchOp>(output.getOwner());
    return launch &&
           launch.getMode(output.getOperandNumber() -
                          launch.getOutputsMutable().begin()->getOperandNumber()) != AccessKind::Write;
  }

  /// The same layer of the same buffer, by whatever views.
  static bool isSameMemory(Value a, Value b) {
    ArrayView x = viewOf(a), y = viewOf(b);
    return x.root == y.root && x.bytes == y.bytes &&
           llvm::equal(x.layers, y.layers, [](const auto &p, const auto &q) { return p.index == q.index; });
  }
  static bool isSamePlace(Value a, Value b) { return a.getType() == b.getType() && isSameMemory(a, b); }

  void rewriteWork(Operation *op) {
    auto destination = cast<DestinationStyleOpInterface>(op);
    SmallVector<Value> operands;
    unsigned result = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!isa<RankedTensorType>(value.getType())) {
        operands.push_back(value);
        continue;
      }
      if (!destination.isDpsInit(&operand)) {
        operands.push_back(memory.lookup(value));
        continue;
      }
      Value made = op->getResult(result++), old = memory.lookup(value);
      Value place = buffers.hasStorage(made) ? bufferFor(made) : old ? old : inParameter(made);
      memory[made] = place;
      // Updated in place, but the old value is needed again (or may not be touched): work on a copy.
      if (isUpdated(operand) && !isSamePlace(old, place))
        copyAll(op->getLoc(), {{old, place}});
      operands.push_back(place);
    }
    Operation *work =
        Operation::create(op->getLoc(), op->getName(), TypeRange(), operands,
                          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(), {}, 0);
    builder.insert(work);
    // Which outputs were fresh is not to be seen any more.
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      SmallVector<AccessKind> modes;
      for (unsigned i = 0; i < launch.getOutputs().size(); ++i)
        modes.push_back(launch.getMode(i));
      cast<LaunchOp>(work).setModes(modes);
      cast<LaunchOp>(work).setCopies(false);
    }
    dead.push_back(op);
  }

  /// What the launch would copy was made in its place.
  void dropCopy(LaunchOp copy) {
    memory[copy.getResults()[0]] = bufferFor(copy.getResults()[0]);
    dead.push_back(copy);
  }

  void rewriteLoop(ForOp loop) {
    Location loc = loop.getLoc();
    SmallVector<std::pair<Value, Value>> copies;
    for (auto [init, arg, result] : llvm::zip_equal(loop.getInits(), loop.getCarried(), loop.getResults())) {
      // One after the other: the table may grow, and what one of its places refers to is gone then.
      Value place = bufferFor(arg);
      memory[arg] = place;
      memory[result] = place;
      if (!init.getDefiningOp<tensor::EmptyOp>()) // a stack that the loop writes
        copies.push_back({memory.lookup(init), place});
    }
    copyAll(loc, copies);
    Block &body = loop.getBody().front();
    rewriteBlock(body);
    builder.setInsertionPoint(body.getTerminator());
    copies.clear();
    for (auto [next, arg] : llvm::zip_equal(loop.getYield()->getOperands(), loop.getCarried()))
      copies.push_back({memory.lookup(next), memory[arg]});
    copyAll(loc, copies);
    loop.getYield()->setOperands({});

    builder.setInsertionPoint(loop);
    auto bare = ForOp::create(builder, loc, TypeRange(), loop.getCountAttr(), loop.getStepAttr(),
                              loop.getCallAttr(), loop.getLeastAttr(), ValueRange(), loop.getNumber());
    bare->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    bare.getBody().takeBody(loop.getBody());
    loops.push_back({bare, loop});
    dead.push_back(loop);
  }

  /// Tensor ops, last first; then the carried arguments nobody uses any more.
  void eraseTensors(Block &body) {
    for (Operation *op : llvm::reverse(dead)) {
      op->dropAllUses();
      op->erase();
    }
    for (auto [bare, old] : loops)
      bare.getBody().front().eraseArguments(1, bare.getBody().getNumArguments() - 1);
    func.walk([](tensor::EmptyOp op) { op.erase(); });
  }

  func::FuncOp func;
  BufferAssignment &buffers;
  ArrayRef<ParameterUpdate> updates;
  int64_t scratch, scratchEnd;
  OpBuilder builder;
  Block *entry = nullptr;
  llvm::DenseMap<Value, Value> memory;
  llvm::DenseMap<int, Value> ofStorage;
  llvm::DenseMap<int, std::pair<Held, Value>> holds; ///< by storage: what for, and which value says so
  llvm::DenseMap<int, StringRef> names;              ///< by storage: what that value is called
  SmallVector<Operation *> dead;
  SmallVector<std::pair<ForOp, ForOp>> loops;
};

/// Whether an op of `entry` writes into the place of `port`. A state that comes back as it was given is not
/// written: the verifier of memory may then ask a write of each one that is listed.
static bool writes(func::FuncOp entry, const Port &port) {
  int64_t end = port.offset + arrayBytes(port.type);
  WalkResult result = entry.walk([&](ExecAccessOpInterface op) {
    for (const Access &access : op.getAccesses()) {
      auto buffer = rootOf(access.operand->get()).getDefiningOp<BufferOp>();
      if (access.kind == AccessKind::Read || !buffer)
        continue;
      auto begin = int64_t(buffer.getOffset());
      if (begin < end && port.offset < begin + arrayBytes(buffer.getType()))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The kernels of all launches, or of those that copy.
static llvm::StringSet<> kernelsOf(ModuleOp module, bool copiesOnly) {
  llvm::StringSet<> names;
  module.walk([&](LaunchOp op) {
    if (op.getCopies() || !copiesOnly)
      names.insert(op.getKernel());
  });
  return names;
}

struct KernelsToExec : impl::KernelsToExecBase<KernelsToExec> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    PersistentBuffers persistent;
    SmallVector<std::pair<func::FuncOp, EntryPorts>> entries;
    SmallVector<SmallVector<ParameterUpdate>> updates;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (!func->hasAttr(kEntryAttr))
        continue;
      FailureOr<SmallVector<ParameterUpdate>> taken = takeUpdates(func);
      if (failed(taken))
        return signalPassFailure();
      updates.push_back(std::move(*taken));
      FailureOr<EntryPorts> ports = readPorts(func);
      if (failed(ports))
        return signalPassFailure();
      entries.push_back({func, std::move(*ports)});
    }
    auto addStates = [&](std::optional<graph::Slot> slot) {
      int64_t begin = persistent.bytes;
      for (auto &[func, ports] : entries)
        if (failed(persistent.addStates(func, ports, slot)))
          return int64_t(-1);
      return persistent.bytes - begin;
    };
    SmallVector<int64_t> slotBytes;
    for (unsigned slot = 0; slot <= graph::getMaxEnumValForSlot(); ++slot)
      slotBytes.push_back(addStates(graph::Slot(slot)));
    if (llvm::is_contained(slotBytes, -1) || addStates(std::nullopt) < 0)
      return signalPassFailure();
    for (auto &[func, ports] : entries)
      persistent.addPorts(ports);

    llvm::StringSet<> copies = kernelsOf(module, /*copiesOnly=*/true);
    int64_t arena = persistent.bytes;
    Builder b(&getContext());
    for (auto [entry, updated] : llvm::zip_equal(entries, updates)) {
      auto &[func, ports] = entry;
      SmallVector<int64_t> argumentOffsets, resultOffsets;
      SmallVector<bool> writable;
      for (const Port &port : ports.arguments) {
        argumentOffsets.push_back(port.offset);
        // A state that does not come back must be found as it was by the next call.
        writable.push_back(port.kind == graph::Kind::State && ports.returnsState(port.name));
      }
      for (const Port &port : ports.results)
        resultOffsets.push_back(port.offset);
      NeededUntil neededUntil;
      MadeInParameters madeInParameters;
      for (const ParameterUpdate &update : updated)
        if (update.madeInPlace)
          madeInParameters.insert(update.madeInPlace);
        else
          neededUntil[update.value] = update.behind ? update.behind : func.getBody().front().getTerminator();
      BufferAssignment buffers(func, argumentOffsets, writable, resultOffsets, neededUntil, madeInParameters);
      if (communication)
        buffers.letCommunicationRunBeside();
      // Only one entry runs at a time: their activations lie over each other.
      int64_t end = buffers.place(persistent.bytes);
      EntryRewriter rewriter(func, buffers, updated, end);
      if (failed(rewriter.run(ports.results)))
        return signalPassFailure();
      arena = std::max(arena, rewriter.end());

      SmallVector<Attribute> inputs, outputs, returns;
      for (const Port &port : ports.arguments)
        if (port.kind == graph::Kind::Input)
          inputs.push_back(port.toAttr());
      for (const Port &port : ports.results)
        if (port.kind == graph::Kind::Output)
          outputs.push_back(port.toAttr());
        else if (port.kind == graph::Kind::State && writes(func, port))
          returns.push_back(b.getStringAttr(port.name));
      func->setAttr("exec.inputs", b.getArrayAttr(inputs));
      func->setAttr("exec.outputs", b.getArrayAttr(outputs));
      if (!returns.empty())
        func->setAttr(kReturnsAttr, b.getArrayAttr(returns));
    }
    llvm::StringSet<> launched = kernelsOf(module, /*copiesOnly=*/false);
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (copies.contains(func.getSymName()) && !launched.contains(func.getSymName()))
        func.erase();
    module->setAttr("exec.states", persistent.stateAttrs(&getContext()));
    module->setAttr(kArenaAttr, b.getI64IntegerAttr(arena));
    if (llvm::any_of(slotBytes, [](int64_t bytes) { return bytes > 0; }))
      module->setAttr(kSlotBytesAttr, b.getDenseI64ArrayAttr(slotBytes));
  }
};

} // namespace
} // namespace tessera
