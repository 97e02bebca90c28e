//===- CutStages.cpp - @forward to the stages of a pipeline ---------------===//
#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/Transforms/KeptRows.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
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
  int64_t phase = 0; ///< of the period of bodies, where it begins

  /// Whether one program serves both.
  bool equals(const StageRange &other) const {
    return layers == other.layers && isFirst == other.isFirst && isLast == other.isLast &&
           phase == other.phase;
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
  /// A module with the @forward of `stage`, and the parameters it reads.
  FailureOr<ModuleOp> build(const StageRange &stage, StringRef name);

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
  LogicalResult buildLoop(const StageRange &stage, SmallVectorImpl<Value> &carried);
  NamedAttribute fill(FillSource source) {
    return builder.getNamedAttr(kFillAttr, FillAttr::get(builder.getContext(), source));
  }

  func::FuncOp forward;
  Block &block;
  const DimNames &names;
  OpBuilder builder;
  RepeatOp loop;
  llvm::SmallSetVector<Value, 4> travelling;
  SmallVector<std::string> carriedNames, travellingNames;

  // The stage that is built.
  ModuleOp module;
  func::FuncOp function;
  IRMapping mapping;
  StageRange range;
};
} // namespace

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
  auto consider = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == &block && op->isBeforeInBlock(loop) && !isFree(value))
      travelling.insert(value);
  };
  loop->walk([&](Operation *op) {
    if (op != loop)
      llvm::for_each(op->getOperands(), consider);
  });
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
    op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), consider); });
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
    if (argumentKind(stack) != Kind::Parameter)
      return loop.emitOpError() << "has a stack that is no parameter: stages cannot tell which layers of it "
                                   "are theirs";
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
  for (Value value : travelling)
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
  }
  return addArgument(type, name, Kind::Parameter, names.names(argument), std::nullopt);
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
  SmallVector<Value> stacks;
  for (Value stack : loop.getStacks()) {
    FailureOr<Value> mapped = parameter(cast<BlockArgument>(stack), /*isStack=*/true);
    if (failed(mapped))
      return failure();
    stacks.push_back(*mapped);
  }
  // What bodies read from outside comes first: their ops are copied as they stand.
  bool complete = true, readsIndex = false;
  loop->walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (op != loop && !loop->isAncestor(operand.getParentRegion()->getParentOp()))
        complete &= bool(get(operand));
      for (unsigned body = 0; body < unsigned(period()); ++body)
        readsIndex |= operand == loop.getIndex(body);
    }
  });
  if (!complete)
    return failure();
  Value first;
  if (readsIndex)
    first = addArgument(RankedTensorType::get({}, builder.getI32Type()), "first_layer", Kind::Input, {},
                        fill(FillSource::FirstLayer));
  auto repeat = RepeatOp::create(builder, loop.getLoc(), ValueRange(carried).getTypes(), stage.layers,
                                 carried, stacks, unsigned(period()));
  repeat->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (int64_t body = 0; body < period(); ++body) {
    IRMapping inner = mapping;
    loop.getBodies()[unsigned((body + stage.phase) % period())].cloneInto(&repeat.getBodies()[unsigned(body)],
                                                                          inner);
    if (!first)
      continue;
    Block &copy = repeat.getBody(unsigned(body));
    OpBuilder atBegin = OpBuilder::atBlockBegin(&copy);
    Value index = repeat.getIndex(unsigned(body));
    auto layer = AddOp::create(atBegin, loop.getLoc(), index.getType(), index, first);
    index.replaceAllUsesExcept(layer, layer);
  }
  // Stacks are cut: slices keep their types.
  carried.assign(repeat.getResults().begin(), repeat.getResults().end());
  return success();
}

FailureOr<ModuleOp> StageCutter::build(const StageRange &stage, StringRef name) {
  range = stage;
  mapping.clear();
  Location loc = forward.getLoc();
  module = ModuleOp::create(loc, name);
  auto outer = forward->getParentOfType<ModuleOp>();
  module->setDiscardableAttrs(outer->getDiscardableAttrDictionary());
  builder.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(builder, loc, forward.getName(), builder.getFunctionType({}, {}));
  function.addEntryBlock();
  builder.setInsertionPointToEnd(&function.getBody().front());

  SmallVector<Value> carried, results;
  for (auto [i, init] : llvm::enumerate(loop.getInits())) {
    carried.push_back(stage.isFirst ? get(init) : received(loop.getResult(unsigned(i)), carriedNames[i]));
    if (!carried.back())
      return failure();
  }
  for (auto [value, port] : llvm::zip_equal(travelling, travellingNames)) {
    if (!stage.isFirst)
      mapping.map(value, received(value, port));
    else if (!get(value))
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
    for (auto [value, port] : llvm::zip_equal(travelling, travellingNames))
      send(mapping.lookup(value), port, value);
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
    if (failed(cutter.analyze()))
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
    OpBuilder builder(forward);
    SmallVector<std::pair<StageRange, ModuleOp>> programs;
    SmallVector<Attribute> table;
    int64_t first = 0;
    for (auto [i, layers] : llvm::enumerate(stages)) {
      StageRange range{first, layers, i == 0, i + 1 == stages.size(), first % cutter.period()};
      first += layers;
      auto equal = llvm::find_if(programs, [&](auto &program) { return program.first.equals(range); });
      if (equal == programs.end()) {
        FailureOr<ModuleOp> module = cutter.build(range, "stage" + std::to_string(programs.size()));
        if (failed(module))
          return failure();
        programs.push_back({range, *module});
        equal = std::prev(programs.end());
      }
      table.push_back(dist::StageAttr::get(&getContext(),
                                           FlatSymbolRefAttr::get(equal->second.getSymNameAttr()),
                                           range.first, range.layers, at.empty() ? int64_t(i) : at[i]));
    }
    dist::PipelineOp::create(builder, forward.getLoc(), "pipeline", axis, builder.getArrayAttr(table),
                             /*schedule=*/nullptr, /*lists=*/nullptr, /*send_buffers=*/nullptr);
    for (auto &program : programs)
      builder.insert(program.second);
    for (auto parameter : llvm::make_early_inc_range(outer.getOps<ParameterOp>()))
      parameter.erase();
    forward.erase();
    return success();
  }
};
} // namespace
