//===- EntryProgram.cpp - An entry as what it does to memory ----------------===//

#include "EntryProgram.h"

#include "tessera/Dialect/Exec/IR/KernelMemory.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::exec {

namespace {

/// A place that the runtime knows by name.
struct NamedPort {
  std::string what;
  StringRef name;
  ArenaPort port;
};

/// The list of dictionaries `attr` of `op`: name, offset, type.
LogicalResult readPorts(Operation *op, StringRef attr, StringRef kind, SmallVectorImpl<NamedPort> &ports) {
  auto list = op->getAttrOfType<ArrayAttr>(attr);
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto port = dyn_cast<DictionaryAttr>(entry);
    auto name = port ? port.getAs<StringAttr>("name") : nullptr;
    auto offset = port ? port.getAs<IntegerAttr>("offset") : nullptr;
    auto type = port ? port.getAs<TypeAttr>("type") : nullptr;
    if (!name || !offset || !type || !isa<RankedTensorType>(type.getValue()))
      return op->emitOpError() << "has " << entry << " in " << attr
                               << ": expected a name, an offset and a type";
    ports.push_back({(kind + " '" + name.getValue() + "'").str(),
                     name.getValue(),
                     {offset.getInt(), arrayBytes(type.getValue())}});
  }
  return success();
}

/// What `exec.returns` lists: states that the entry leaves a value in.
LogicalResult readReturns(func::FuncOp entry, ArrayRef<NamedPort> states,
                          SmallVectorImpl<StringRef> &returned) {
  auto list = entry->getAttrOfType<ArrayAttr>(kReturnsAttr);
  for (Attribute attr : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto name = dyn_cast<StringAttr>(attr);
    if (!name || llvm::none_of(states, [&](const NamedPort &s) { return s.name == name.getValue(); }))
      return entry.emitOpError() << "returns " << attr << ", which is no state of exec.states";
    returned.push_back(name.getValue());
  }
  return success();
}

AccessMode modeOf(AccessKind kind) {
  return kind == AccessKind::Read     ? AccessMode::Read
         : kind == AccessKind::Update ? AccessMode::Update
                                      : AccessMode::Write;
}

} // namespace

SmallVector<func::FuncOp> entriesOf(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<func::FuncOp>(),
                                [](func::FuncOp func) { return func->hasAttr(kEntryAttr); });
}

LogicalResult EntryProgram::build(ArrayRef<func::FuncOp> entries, bool nothingUnread) {
  unread = nothingUnread;
  auto module = entry->getParentOfType<ModuleOp>();
  auto arena = module->getAttrOfType<IntegerAttr>(kArenaAttr);
  if (!arena)
    return module.emitOpError() << "has entries but no " << kArenaAttr << ": the size of a rank's arena";
  program.bytes = arena.getInt();
  return failure(failed(addPorts(entries)) || failed(addBlock(entry.getBody().front(), program.items)));
}

LogicalResult EntryProgram::addPorts(ArrayRef<func::FuncOp> entries) {
  auto add = [&](ArrayRef<NamedPort> list, bool given, bool returned, bool updated = false) {
    for (const NamedPort &named : list) {
      // One entry's output is the next one's input: one place.
      auto same = llvm::find_if(program.ports, [&](const ArenaPort &p) {
        return p.offset == named.port.offset && p.bytes == named.port.bytes;
      });
      size_t i = size_t(same - program.ports.begin());
      if (same == program.ports.end()) {
        program.ports.push_back(named.port);
        portNames.push_back(named.what);
      }
      program.ports[i].given |= given;
      program.ports[i].returned |= returned;
      program.ports[i].updated |= updated;
    }
  };
  SmallVector<NamedPort> states;
  if (failed(readPorts(entry->getParentOp(), "exec.states", "state", states)))
    return failure();
  SmallVector<StringRef> returned;
  if (failed(readReturns(entry, states, returned)))
    return failure();
  for (const NamedPort &state : states) {
    bool updated = llvm::is_contained(returned, state.name);
    add(state, true, updated, updated);
  }
  for (func::FuncOp other : entries) {
    SmallVector<NamedPort> inputs, outputs;
    if (failed(readPorts(other, "exec.inputs", "input", inputs)) ||
        failed(readPorts(other, "exec.outputs", "output", outputs)))
      return failure();
    add(inputs, other == entry, false);
    add(outputs, false, other == entry);
  }
  return success();
}

LogicalResult EntryProgram::addBlock(Block &block, std::vector<ArenaItem> &items) {
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<ForOp>(op)) {
      ArenaItem &item = addItem(&op, items);
      item.loop = std::make_unique<ArenaLoop>();
      // In iterations: what a layer's number is a multiple of may be less than a step.
      const auto step = int64_t(loop.getStep());
      item.loop->most = loop.getIterations();
      item.loop->least =
          loop.hasVariableCount() ? (int64_t(loop.getLeast()) + step - 1) / step : item.loop->most;
      if (ForOp other = loop.getOther())
        for (const ArenaItem &before : items)
          if (before.loop && tagged[size_t(before.tag)].op == other)
            item.loop->other = before.tag;
      steps[loop.getIndex()] = step;
      depths[loop.getIndex()] = depth++;
      if (failed(addBlock(loop.getBody().front(), item.loop->body)))
        return failure();
      --depth;
    } else if (auto accessing = dyn_cast<ExecAccessOpInterface>(op)) {
      if (failed(addOp(accessing, items)))
        return failure();
    } else if (llvm::any_of(op.getOperandTypes(), llvm::IsaPred<MemRefType>) &&
               !isa<ExecViewOpInterface>(op)) {
      return op.emitOpError("touches memory and does not say how: it needs ExecAccessOpInterface");
    } else if (auto streamed = dyn_cast<ExecStreamOpInterface>(op)) {
      ArenaOp &made = addItem(&op, items).op;
      made.records = int(streamed.getRecordedEvent().value_or(-1));
      made.awaits = int(streamed.getAwaitedEvent().value_or(-1));
      addWaits(&op, made);
    }
  }
  return success();
}

ArenaItem &EntryProgram::addItem(Operation *op, std::vector<ArenaItem> &items) {
  items.emplace_back();
  items.back().tag = int(tagged.size());
  if (auto streamed = dyn_cast<ExecStreamOpInterface>(op))
    items.back().op.stream = int(streamed.getStreamNumber());
  tagged.push_back({op, {}});
  return items.back();
}

void EntryProgram::addWaits(Operation *op, ArenaOp &made) {
  for (Value operand : op->getOperands())
    if (auto token = tokens.find(operand); token != tokens.end())
      made.waitsFor.push_back(token->second);
}

LogicalResult EntryProgram::addOp(ExecAccessOpInterface op, std::vector<ArenaItem> &items) {
  auto launch = dyn_cast<LaunchOp>(op.getOperation());
  if (launch && !launch.getModes())
    return launch.emitOpError("does not say how it writes its outputs: modes(write), modes(update) or "
                              "modes(layer), one for each");
  ArenaOp &made = addItem(op, items).op;
  for (const Access &access : op.getAccesses()) {
    FailureOr<ArenaAccess> range = accessOf(op, access);
    if (failed(range))
      return failure();
    made.accesses.push_back(*range);
    tagged.back().accesses.push_back("operand #" + std::to_string(access.operand->getOperandNumber()));
  }
  for (const ParameterAccess &access : op.getParameterAccesses())
    if (failed(addParameter(op, access, made)))
      return failure();
  if (launch)
    addSharedMemory(launch, made);
  addWaits(op, made);
  if (Value token = op.getStartedToken()) {
    made.starts = int(tokens.size());
    tokens[token] = made.starts;
  }
  // Whoever takes part in a transfer that it starts is waited for by another rank.
  made.communicates = op.isNeededElsewhere() || made.starts >= 0;
  made.mayBeUnread = !unread || made.communicates;
  return success();
}

/// The memory that a form of a parameter is: one for all that name it.
int EntryProgram::memoryOf(FlatSymbolRefAttr param, bool packed) {
  return memories.try_emplace({param.getValue(), packed}, int(memories.size()) + 1).first->second;
}

/// What the kernel keeps from launch to launch (counters of arrivals): every launch changes it.
void EntryProgram::addSharedMemory(LaunchOp launch, ArenaOp &made) {
  auto [it, isNew] = sharedMemories.try_emplace(launch.getKernel(), -1);
  if (isNew)
    if (auto kernel = SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()))
      if (int64_t bytes = imageMemoryBytes(kernel)) {
        it->second = int(program.buffers.size());
        program.buffers.push_back({0, bytes, -int(sharedMemories.size())});
      }
  if (it->second < 0)
    return;
  ArenaAccess access;
  access.mode = AccessMode::Update;
  access.buffer = it->second;
  access.bytes = program.buffers[size_t(it->second)].bytes;
  made.accesses.push_back(access);
  tagged.back().accesses.push_back(("@" + launch.getKernel()).str());
}

FailureOr<ArenaAccess> EntryProgram::accessOf(Operation *op, const Access &access) {
  ArrayView view = viewOf(access.operand->get());
  ArenaAccess made;
  made.bytes = view.bytes;
  made.mode = modeOf(access.kind);
  made.inPlace = access.inPlace;
  if (access.kind == AccessKind::Layer) {
    auto stack = cast<ShapedType>(access.operand->get().getType());
    made.bytes = view.bytes / stack.getDimSize(0);
    view.layers.push_back({access.layer, stack.getDimSize(0), made.bytes});
  }
  for (const ArrayView::Layer &layer : view.layers) {
    FailureOr<ArenaIndex> index = indexOf(op, layer.index);
    if (failed(index))
      return failure();
    made.layers.push_back({*index, layer.layers, layer.bytes});
  }
  auto [it, isNew] = buffers.try_emplace(view.root, int(program.buffers.size()));
  made.buffer = it->second;
  if (isNew) {
    ArenaBuffer buffer{0, arrayBytes(view.root.getType()), 0};
    if (auto place = view.root.getDefiningOp<BufferOp>())
      buffer.offset = int64_t(place.getOffset());
    else if (auto param = view.root.getDefiningOp<ParamOp>())
      buffer.memory = memoryOf(param.getParamAttr(), /*packed=*/false);
    else
      return op->emitOpError() << "operand #" << access.operand->getOperandNumber()
                               << " is neither a place in the arena nor a parameter";
    program.buffers.push_back(buffer);
  }
  return made;
}

/// A form of a parameter, or one layer of it: nothing of the arena, but its number has bounds, and work in
/// flight may be at it.
LogicalResult EntryProgram::addParameter(Operation *op, const ParameterAccess &named, ArenaOp &made) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(op, named.param);
  auto local = parameter->getAttrOfType<TypeAttr>(kLocalTypeAttr);
  auto type = cast<RankedTensorType>(local ? local.getValue() : parameter.getType());
  ArenaAccess access;
  access.mode = modeOf(named.kind);
  access.buffer = int(program.buffers.size());
  access.bytes = arrayBytes(type);
  program.buffers.push_back({0, access.bytes, memoryOf(named.param, named.packed)});
  if (named.layer) {
    FailureOr<ArenaIndex> index = indexOf(op, named.layer);
    if (failed(index))
      return failure();
    access.bytes /= type.getDimSize(0);
    access.layers.push_back({*index, type.getDimSize(0), access.bytes});
    auto operand = llvm::find(op->getOperands(), named.layer) - op->operand_begin();
    tagged.back().accesses.push_back("operand #" + std::to_string(operand));
  } else {
    tagged.back().accesses.push_back(("@" + named.param.getValue()).str());
  }
  made.accesses.push_back(access);
  return success();
}

/// Sum of multiples of iterations and a constant.
FailureOr<ArenaIndex> EntryProgram::indexOf(Operation *op, Value value) {
  ArenaIndex index;
  if (auto offset = value.getDefiningOp<IndexOffsetOp>()) {
    FailureOr<ArenaIndex> of = indexOf(op, offset.getIndex());
    if (failed(of))
      return failure();
    const int64_t sign = offset.getReverse() ? -1 : 1;
    index.constant = int64_t(offset.getOffset()) + sign * of->constant;
    for (auto [at, factor] : of->factors)
      index.factors.push_back({at, sign * factor});
    return index;
  }
  if (auto layer = value.getDefiningOp<StackLayerOp>()) {
    FailureOr<ArenaIndex> of = indexOf(op, layer.getIndex());
    if (failed(of))
      return failure();
    const auto period = int64_t(layer.getPeriod()), held = int64_t(layer.getHeld());
    index.constant = llvm::divideFloorSigned(of->constant, period) * held + int64_t(layer.getBefore());
    for (auto [at, factor] : of->factors) {
      if (factor % period != 0)
        return layer.emitOpError() << "is of a loop whose iterations are no whole periods of " << period
                                   << " layers";
      index.factors.push_back({at, factor / period * held});
    }
    return index;
  }
  if (auto constant = value.getDefiningOp<arith::ConstantIndexOp>()) {
    index.constant = constant.value();
    return index;
  }
  auto loop = depths.find(value);
  if (loop == depths.end())
    return op->emitOpError("takes a layer whose number is neither a loop's index nor a constant");
  index.factors.push_back({loop->second, steps.lookup(value)});
  return index;
}

} // namespace tessera::exec
