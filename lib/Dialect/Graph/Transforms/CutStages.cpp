//===- CutStages.cpp - @forward to the stages of a pipeline ---------------===//
#include "StageCopies.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Dialect/Graph/Transforms/Dropout.h"
#include "tessera/Dialect/Graph/Transforms/KeptRows.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Recompute.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace tessera::graph {
#define GEN_PASS_DEF_CUTSTAGES
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

namespace {
/// Layers [first, first + layers) of the loop; the first stage has what stands before it, the last one what
/// stands behind it.
struct StageRange {
  int64_t first = 0, layers = 0;
  bool isFirst = false, isLast = false;
  int64_t phase = 0;           ///< of the period of bodies, where it begins
  SmallVector<Attribute> held; ///< types of blocks of the layers of each stack in the checkpoint
  /// Which of the values that travel it receives, and which it hands on.
  SmallVector<bool> takes, gives;

  /// Bodies that a stage of a period of `period` has.
  int64_t bodies(int64_t period) const { return std::min(layers, period); }

  /// Whether one program serves both.
  bool equals(const StageRange &other) const {
    return layers == other.layers && isFirst == other.isFirst && isLast == other.isLast &&
           phase == other.phase && held == other.held && takes == other.takes && gives == other.gives;
  }
};

/// Cuts one @forward.
class StageCutter {
public:
  StageCutter(func::FuncOp forward, const DimNames &names)
      : forward(forward), block(forward.getBody().front()), names(names), builder(forward.getContext()) {}

  LogicalResult analyze();
  int64_t layers() { return int64_t(loop.getCount()); }
  int64_t period() { return int64_t(loop.getBodies().size()); }
  /// Says what `stage` takes and gives of what travels: no value goes on behind the last one that reads it.
  void findPorts(StageRange &stage) const;
  /// A module with the @forward of `stage`, and the parameters it reads.
  FailureOr<ModuleOp> build(const StageRange &stage, StringRef name);
  /// By the name of each value that is sent, why it is.
  DictionaryAttr channels();

private:
  /// Whether each stage computes `value` for itself: it follows from inputs and constants.
  bool isFree(Value value);
  /// Values of before the loop that it, or what stands behind it, reads and that are not free: they travel.
  void findTravelling();
  std::string portName(Value value, unsigned number);
  /// What `value` is in the stage that is built: an argument, or a copy of what it follows from.
  Value get(Value value);
  Value addArgument(Type type, StringRef name, Kind kind, ArrayRef<StringRef> dims,
                    std::optional<NamedAttribute> fact);
  Value received(Value value, StringRef name);
  /// A parameter of @forward, cut to the stage's layers if it is a stack of them.
  FailureOr<Value> parameter(BlockArgument argument, bool isStack);
  /// A stack of the loop: a parameter, or what it is rounded to, with the layers of the stage.
  FailureOr<Value> stack(Value value);
  /// Ids that the logits [batch, seq, vocab] are of; 0: there are none.
  int64_t vocabulary();
  LogicalResult buildLoop(const StageRange &stage, SmallVectorImpl<Value> &carried);
  NamedAttribute fill(FillSource source) {
    return builder.getNamedAttr(kFillAttr, FillAttr::get(builder.getContext(), source));
  }

  func::FuncOp forward;
  Block &block;
  const DimNames &names;
  OpBuilder builder;
  RepeatOp loop;
  llvm::SmallMapVector<Value, int64_t, 4>
      travelling; ///< and the last layer that reads it; behind all: their number
  SmallVector<std::string> carriedNames, travellingNames;
  bool readsLayer = false; ///< bodies ask for the number of their layer, or what they drop goes by it

  // The stage that is built.
  ModuleOp module;
  func::FuncOp function;
  IRMapping mapping, stacks;
  StageRange range;
};
} // namespace

/// The parameter that `value` is but for its type and its name: who reads it rounds its own copy. Null: it is
/// none.
static BlockArgument parameterOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CastOp, NameOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return argumentKind(value) == Kind::Parameter ? cast<BlockArgument>(value) : BlockArgument();
}

//===----------------------------------------------------------------------===//
// What travels
//===----------------------------------------------------------------------===//

bool StageCutter::isFree(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &block && argumentKind(argument) == Kind::Input;
  Operation *op = value.getDefiningOp();
  return op->getBlock() == &block && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isFree(operand); });
}

void StageCutter::findTravelling() {
  auto read = [&](Operation *op, int64_t layer) {
    for (Value value : op->getOperands()) {
      Operation *maker = value.getDefiningOp();
      if (!maker || maker->getBlock() != &block || !maker->isBeforeInBlock(loop) || isFree(value) ||
          parameterOf(value))
        continue;
      int64_t &last = travelling.try_emplace(value, layer).first->second;
      last = std::max(last, layer);
    }
  };
  for (int64_t body = 0; body < std::min(period(), layers()); ++body) {
    const int64_t last = body + (layers() - 1 - body) / period() * period();
    loop.getBodies()[unsigned(body)].walk([&](Operation *op) { read(op, last); });
  }
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
    op->walk([&](Operation *inner) { read(inner, layers()); });
}

void StageCutter::findPorts(StageRange &stage) const {
  for (auto [value, last] : travelling) {
    stage.takes.push_back(!stage.isFirst && last >= stage.first);
    stage.gives.push_back(!stage.isLast && last >= stage.first + stage.layers);
  }
}

/// What `graph.name` calls the value, or a number.
std::string StageCutter::portName(Value value, unsigned number) {
  if (auto name = value.getDefiningOp<NameOp>())
    return name.getName().str();
  for (Operation *user : value.getUsers())
    if (auto name = dyn_cast<NameOp>(user))
      return name.getName().str();
  return "carried" + std::to_string(number);
}

LogicalResult StageCutter::analyze() {
  if (forward.getBody().getBlocks().size() != 1)
    return forward.emitError() << "must be one block to be cut into stages";
  for (auto repeat : block.getOps<RepeatOp>()) {
    if (loop)
      return repeat.emitOpError() << "is a second run of layers; a pipeline cuts one so far";
    loop = repeat;
  }
  if (!loop)
    return forward.emitError() << "has no graph.repeat over layers: there is nothing to cut";
  if (loop.getReverse() || !loop.getCollected().empty())
    return loop.emitOpError() << "returns stacks, or runs from the last layer: it cannot be cut into stages";
  for (Value stack : loop.getStacks())
    if (!parameterOf(stack))
      return loop.emitOpError() << "has a stack that is no parameter: stages cannot tell which layers of it "
                                   "are theirs";
  numberSites(dropoutSites(block));
  loop->walk([&](Operation *op) { readsLayer |= isDropoutSite(op); });
  for (unsigned body = 0; body < unsigned(period()); ++body)
    readsLayer |= !loop.getIndex(body).use_empty();
  findTravelling();
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    taken.insert(argText(forward, i, kNameAttr));
  auto give = [&](Value value, SmallVectorImpl<std::string> &list) {
    list.push_back(freeName(portName(value, unsigned(taken.size())), taken));
    taken.insert(list.back());
  };
  for (Value yielded : loop.getBody(unsigned(period() - 1)).getTerminator()->getOperands())
    give(yielded, carriedNames);
  for (auto [value, last] : travelling)
    give(value, travellingNames);
  return success();
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

Value StageCutter::addArgument(Type type, StringRef name, Kind kind, ArrayRef<StringRef> dims,
                               std::optional<NamedAttribute> fact) {
  Port port{type, kind, name.str(), SmallVector<StringRef>(dims), fact};
  unsigned number = function.getNumArguments();
  // Arguments of a function that has a body: nothing can fail.
  (void)function.insertArgument(number, type, port.attributes(builder), forward.getLoc());
  return function.getArgument(number);
}

Value StageCutter::received(Value value, StringRef name) {
  return addArgument(value.getType(), name, Kind::Input, names.names(value), fill(FillSource::Received));
}

FailureOr<Value> StageCutter::parameter(BlockArgument argument, bool isStack) {
  StringRef name = argText(forward, argument.getArgNumber(), kNameAttr);
  auto symbol = forward->getParentOfType<ModuleOp>().lookupSymbol<ParameterOp>(name);
  if (!symbol)
    return forward.emitError() << "argument #" << argument.getArgNumber()
                               << " is a parameter, but there is no graph.parameter @" << name
                               << " that says where it comes from";
  auto type = cast<RankedTensorType>(argument.getType());
  if (isStack) {
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = range.layers;
    type = type.clone(shape);
  } else if (symbol.getStacked()) {
    return forward.emitError() << "argument #" << argument.getArgNumber() << " (" << name
                               << ") is a stack of layers that is read outside of the loop over them";
  }
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    auto copy = cast<ParameterOp>(builder.clone(*symbol));
    copy.setType(type);
    if (ArrayAttr types = isStack ? heldTypes(symbol, range.first, range.layers) : ArrayAttr())
      copy->setAttr(kHeldAttr, types);
  }
  return addArgument(type, name, Kind::Parameter, names.names(argument), std::nullopt);
}

FailureOr<Value> StageCutter::stack(Value value) {
  if (Value known = stacks.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    FailureOr<Value> cut = parameter(argument, /*isStack=*/true);
    if (succeeded(cut))
      stacks.map(value, *cut);
    return cut;
  }
  Operation *op = value.getDefiningOp();
  if (failed(stack(op->getOperand(0))))
    return failure();
  Value copy = builder.clone(*op, stacks)->getResult(0);
  SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
  shape.front() = range.layers;
  copy.setType(cast<RankedTensorType>(value.getType()).clone(shape));
  return copy;
}

Value StageCutter::get(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value mapped;
    if (argumentKind(argument) == Kind::Parameter) {
      FailureOr<Value> found = parameter(argument, /*isStack=*/false);
      if (failed(found))
        return {};
      mapped = *found;
    } else {
      unsigned number = function.getNumArguments();
      DictionaryAttr attributes = forward.getArgAttrDict(argument.getArgNumber());
      (void)function.insertArgument(number, argument.getType(), attributes, argument.getLoc());
      mapped = function.getArgument(number);
    }
    mapping.map(value, mapped);
    return mapped;
  }
  // Free: the stage computes it for itself. What stands before the loop in the first stage goes this way,
  // too.
  Operation *op = value.getDefiningOp();
  bool complete = true;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentRegion()->getParentOp()) || op == inner)
        complete &= bool(get(operand));
  });
  if (!complete)
    return {};
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

LogicalResult StageCutter::buildLoop(const StageRange &stage, SmallVectorImpl<Value> &carried) {
  SmallVector<Value> read;
  for (Value of : loop.getStacks()) {
    FailureOr<Value> cut = stack(of);
    if (failed(cut))
      return failure();
    read.push_back(*cut);
  }
  // What bodies read from outside comes first: their ops are copied as they stand.
  bool complete = true;
  const int64_t bodies = stage.bodies(period());
  auto bodyOf = [&](int64_t body) -> Region & {
    return loop.getBodies()[unsigned((body + stage.phase) % period())];
  };
  for (int64_t body = 0; body < bodies; ++body)
    bodyOf(body).walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (!loop->isAncestor(operand.getParentRegion()->getParentOp()))
          complete &= bool(get(operand));
    });
  if (!complete)
    return failure();
  Value first;
  if (readsLayer)
    first = addArgument(RankedTensorType::get({}, builder.getI32Type()), "first_layer", Kind::Input, {},
                        fill(FillSource::FirstLayer));
  auto repeat = RepeatOp::create(builder, loop.getLoc(), ValueRange(carried).getTypes(), stage.layers,
                                 carried, read, unsigned(bodies));
  repeat->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (int64_t body = 0; body < bodies; ++body) {
    IRMapping inner = mapping;
    bodyOf(body).cloneInto(&repeat.getBodies()[unsigned(body)], inner);
    Value index = repeat.getIndex(unsigned(body));
    if (index.use_empty())
      continue;
    OpBuilder atBegin = OpBuilder::atBlockBegin(&repeat.getBody(unsigned(body)));
    auto layer = AddOp::create(atBegin, loop.getLoc(), index.getType(), index, first);
    index.replaceAllUsesExcept(layer, layer);
  }
  // Stacks are cut: slices keep their types.
  carried.assign(repeat.getResults().begin(), repeat.getResults().end());
  return success();
}

DictionaryAttr StageCutter::channels() {
  NamedAttrList whys;
  for (const std::string &port : carriedNames)
    whys.append(port, builder.getStringAttr("what each layer hands to the next one"));
  for (const std::string &port : travellingNames)
    whys.append(port, builder.getStringAttr("made before the layers, and read in them or behind"));
  return whys.getDictionary(builder.getContext());
}

int64_t StageCutter::vocabulary() {
  auto logits = forward.getNumResults() == 1 ? dyn_cast<RankedTensorType>(forward.getResultTypes().front())
                                             : RankedTensorType();
  return logits && logits.getRank() == 3 ? logits.getDimSize(2) : 0;
}

FailureOr<ModuleOp> StageCutter::build(const StageRange &stage, StringRef name) {
  range = stage;
  mapping.clear();
  stacks.clear();
  Location loc = forward.getLoc();
  module = ModuleOp::create(loc, name);
  auto outer = forward->getParentOfType<ModuleOp>();
  module->setDiscardableAttrs(outer->getDiscardableAttrDictionary());
  module->setAttr(kUnknownItemsAttr, builder.getArrayAttr({}));
  builder.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(builder, loc, forward.getName(), builder.getFunctionType({}, {}));
  function->setAttr(kStageAttr, builder.getUnitAttr());
  if (int64_t vocab = vocabulary())
    function->setAttr(kVocabAttr, builder.getI64IntegerAttr(vocab));
  function.addEntryBlock();
  builder.setInsertionPointToEnd(&function.getBody().front());

  SmallVector<Value> carried, results;
  for (auto [i, init] : llvm::enumerate(loop.getInits())) {
    carried.push_back(stage.isFirst ? get(init) : received(loop.getResult(unsigned(i)), carriedNames[i]));
    if (!carried.back())
      return failure();
  }
  for (auto [travels, port, takes, gives] :
       llvm::zip_equal(travelling, travellingNames, stage.takes, stage.gives)) {
    if (takes)
      mapping.map(travels.first, received(travels.first, port));
    else if (gives && !get(travels.first))
      return failure();
  }
  if (stage.layers > 0 && failed(buildLoop(stage, carried)))
    return failure();
  for (auto [result, value] : llvm::zip_equal(loop.getResults(), carried))
    mapping.map(result, value);
  SmallVector<DictionaryAttr> attributes;
  if (stage.isLast) {
    for (auto [i, result] : llvm::enumerate(block.getTerminator()->getOperands())) {
      results.push_back(get(result));
      if (!results.back())
        return failure();
      DictionaryAttr given = forward.getResultAttrDict(unsigned(i));
      attributes.push_back(given ? given : builder.getDictionaryAttr({}));
    }
  } else {
    NamedAttribute sent = builder.getNamedAttr(kGivesAttr, GivesAttr::get(builder.getContext(), Gives::Sent));
    auto send = [&](Value value, StringRef port, Value original) {
      results.push_back(value);
      attributes.push_back(
          Port{value.getType(), Kind::Output, port.str(), SmallVector<StringRef>(names.names(original)), sent}
              .attributes(builder));
    };
    for (auto [value, port, original] : llvm::zip_equal(carried, carriedNames, loop.getResults()))
      send(value, port, original);
    for (auto [travels, port, gives] : llvm::zip_equal(travelling, travellingNames, stage.gives))
      if (gives)
        send(mapping.lookup(travels.first), port, travels.first);
  }
  func::ReturnOp::create(builder, loc, results);
  function.setType(
      builder.getFunctionType(function.getBody().front().getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
  return module;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct CutStages : graph::impl::CutStagesBase<CutStages> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp outer = getOperation();
    auto forward = outer.lookupSymbol<func::FuncOp>("forward");
    if (!forward || forward.isExternal())
      return outer.emitError() << "has no func @forward";
    DimNames names(outer);
    StageCutter cutter(forward, names);
    if (failed(cutter.analyze()) || failed(Recompute::parse(recompute).checkNames(forward.getBody().front())))
      return failure();
    int64_t sum = 0;
    for (int64_t layers : stages) {
      if (layers < 0)
        return forward.emitError() << "cannot be cut into a stage of " << layers << " layers";
      sum += layers;
    }
    if (stages.empty() || sum != cutter.layers())
      return forward.emitError() << "has " << cutter.layers() << " layers, and the stages have " << sum
                                 << " together; give the layers of each stage so that they add up";
    if (!at.empty() && at.size() != stages.size())
      return forward.emitError() << "has " << stages.size() << " stages and coordinates for " << at.size();
    SmallVector<StageRange> ranges;
    StagePrograms programs;
    int64_t first = 0;
    for (auto [i, layers] : llvm::enumerate(stages)) {
      StageRange range{first, layers, i == 0, i + 1 == stages.size(), first % cutter.period(), {}, {}, {}};
      for (auto parameter : outer.getOps<ParameterOp>())
        range.held.push_back(parameter.getStacked() ? heldTypes(parameter, first, layers) : ArrayAttr());
      cutter.findPorts(range);
      first += layers;
      size_t equal = 0;
      while (equal < ranges.size() && !ranges[equal].equals(range))
        ++equal;
      ranges.push_back(range);
      if (equal != i) {
        programs.ofStage.push_back(programs.ofStage[equal]);
        continue;
      }
      FailureOr<ModuleOp> module = cutter.build(range, programs.nextName());
      if (failed(module))
        return failure();
      programs.ofStage.push_back(unsigned(programs.modules.size()));
      programs.modules.push_back(*module);
    }
    if (failed(programs.markCopies(forward)))
      return failure();
    OpBuilder builder(forward);
    SmallVector<Attribute> table;
    for (auto [i, range] : llvm::enumerate(ranges))
      table.push_back(dist::StageAttr::get(&getContext(),
                                           FlatSymbolRefAttr::get(programs.of(i).getSymNameAttr()),
                                           range.first, range.layers, at.empty() ? int64_t(i) : at[i]));
    auto pipeline = dist::PipelineOp::create(builder, forward.getLoc(), "pipeline", axis,
                                             builder.getArrayAttr(table), /*schedule=*/nullptr,
                                             /*lists=*/nullptr, /*send_buffers=*/nullptr, /*times=*/nullptr);
    pipeline->setDiscardableAttr(kChannelsAttr, cutter.channels());
    for (ModuleOp program : programs.modules)
      builder.insert(program);
    for (auto parameter : llvm::make_early_inc_range(outer.getOps<ParameterOp>()))
      parameter.erase();
    forward.erase();
    return success();
  }
};
} // namespace
