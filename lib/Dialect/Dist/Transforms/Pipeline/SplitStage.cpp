//===- SplitStage.cpp - The step of a stage as entries --------------------===//
#include "Pipeline/StageParts.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Entries.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

#include "mlir/IR/IRMapping.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTSPLITSTAGEPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;
using graph::FillSource;
using graph::Gives;
using graph::StagePart;

namespace {

/// Names of states that have one type: those of several steps, of which one runs at a time, lie in the same
/// places.
class StateNames {
public:
  std::string next(StringRef prefix, Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    size_t kind = types.try_emplace(text, types.size()).first->second;
    return (prefix + "." + Twine(kind) + "." + Twine(used[{prefix.str(), kind}]++)).str();
  }
  void beginStep() { used.clear(); }

private:
  std::map<std::string, size_t> types;
  std::map<std::pair<std::string, size_t>, int64_t> used;
};

/// Cuts one step into entries.
class StageSplitter {
public:
  StageSplitter(func::FuncOp function, graph::RepeatOp loop, StageParts &parts, StateNames &names)
      : function(function), loop(loop), body(loop.getBody(0)), parts(parts), names(names),
        builder(function.getContext()) {}

  void run();

private:
  /// An entry that is built: what its ports are, and what values of the step are in it.
  struct Entry {
    StagePart part;
    func::FuncOp function;
    IRMapping mapping;
    SmallVector<Value> results;
    SmallVector<DictionaryAttr> resultAttributes;
  };

  void findKept();
  /// A value that a part makes and another one reads becomes a state; of a body's carried value, the sum so
  /// far, of its loop's results the same.
  void nameStates();
  /// How long a micro-batch has what lies in a state; nothing where it is of no micro-batch.
  std::optional<graph::Slot> slotOf(Value value);
  /// `value` where `part` needs it: an argument, a copy of what it is made by, or a state.
  Value get(Entry &entry, Value value);
  Value addArgument(Entry &entry, Type type, DictionaryAttr attributes);
  Value argumentOf(Entry &entry, BlockArgument argument);
  /// The port of one micro-batch of a stack that the function takes or gives.
  DictionaryAttr withoutMicro(DictionaryAttr attributes);
  void give(Entry &entry, Value value, DictionaryAttr attributes) {
    entry.results.push_back(value);
    entry.resultAttributes.push_back(attributes);
  }
  DictionaryAttr stateAttributes(StringRef name, std::optional<graph::Slot> slot, StringRef holds);
  void build(StagePart part);
  /// A stage takes what its neighbour sends whether it needs it or not: in `forward`, gradients in what comes
  /// first of backward.
  void takeUnread(Entry &entry);

  func::FuncOp function;
  graph::RepeatOp loop;
  Block &body;
  StageParts &parts;
  StateNames &names;
  OpBuilder builder;
  /// What lies in a state, and its attributes. Carried values of the body stand for what they are carried in.
  llvm::MapVector<Value, DictionaryAttr> states;
  llvm::DenseMap<Value, std::set<StagePart>> readers; ///< of states, other parts than that which makes it
};
} // namespace

/// What a carried value is known by, wherever it is read: its argument of the body.
static Value canonical(graph::RepeatOp loop, Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (result && result.getOwner() == loop && result.getResultNumber() < loop.getInits().size())
    return loop.getCarried(0)[result.getResultNumber()];
  return value;
}

DictionaryAttr StageSplitter::stateAttributes(StringRef name, std::optional<graph::Slot> slot,
                                              StringRef holds) {
  NamedAttrList list;
  list.set(graph::kKindAttr, graph::KindAttr::get(function.getContext(), graph::Kind::State));
  list.set(graph::kNameAttr, StringAttr::get(function.getContext(), name));
  if (slot)
    list.set(graph::kSlotAttr, graph::SlotAttr::get(function.getContext(), *slot));
  if (slot && !holds.empty())
    list.set(graph::kHoldsAttr, StringAttr::get(function.getContext(), holds));
  return list.getDictionary(function.getContext());
}

std::optional<graph::Slot> StageSplitter::slotOf(Value value) {
  StagePart made = *parts.of(value);
  if (!StageParts::isInLoop(made))
    return std::nullopt;
  if (made == StagePart::InputGradient)
    return graph::Slot::FromInputGradient;
  // What neither a whole backward nor the gradients of weights read again is not held for them.
  const std::set<StagePart> &by = readers[value];
  return by == std::set{StagePart::InputGradient} ? graph::Slot::UntilInputGradient : graph::Slot::Whole;
}

void StageSplitter::nameStates() {
  for (auto &[value, attributes] : states) {
    if (attributes) // a sum
      continue;
    std::optional<graph::Slot> slot = slotOf(value);
    StringRef prefix = !slot                                      ? "step"
                       : *slot == graph::Slot::Whole              ? "kept"
                       : *slot == graph::Slot::UntilInputGradient ? "freed"
                                                                  : "made";
    attributes = stateAttributes(names.next(prefix, value.getType()), slot, graph::valueName(value));
  }
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

void StageSplitter::findKept() {
  for (Value carried : loop.getCarried(0))
    states[carried] = stateAttributes(names.next("sum", carried.getType()), std::nullopt, "");
  // What `part` reads is there, or made again, or kept.
  std::set<std::pair<StagePart, void *>> seen;
  std::function<void(StagePart, Value)> need = [&](StagePart part, Value value) {
    value = canonical(loop, value);
    if (!seen.insert({part, value.getAsOpaquePointer()}).second)
      return;
    std::optional<StagePart> made = parts.of(value);
    if (!made || *made == part || parts.isFree(value))
      return;
    Operation *op = value.getDefiningOp();
    bool isAgain = StageParts::isInLoop(part) ? parts.isOfNoMicroBatch(value) : op && StageParts::isCheap(op);
    if (isAgain) {
      for (Value operand : op->getOperands())
        need(part, operand);
      return;
    }
    states.insert({value, {}});
    readers[value].insert(part);
  };
  auto needOf = [&](Operation *op) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          need(parts.of(op), operand);
    });
  };
  for (Operation &op : body.without_terminator())
    needOf(&op);
  for (Operation &op : function.getBody().front().without_terminator())
    if (&op != loop)
      needOf(&op);
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (i < loop.getInits().size())
      need(parts.ofCarried(unsigned(i)), value);
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (parts.stackOf(unsigned(i)) < 0)
      need(parts.ofResult(unsigned(i)), value);
  nameStates();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

Value StageSplitter::addArgument(Entry &entry, Type type, DictionaryAttr attributes) {
  unsigned number = entry.function.getNumArguments();
  // Arguments of a function that has a body: nothing can fail.
  (void)entry.function.insertArgument(number, type, attributes, function.getLoc());
  return entry.function.getArgument(number);
}

DictionaryAttr StageSplitter::withoutMicro(DictionaryAttr attributes) {
  NamedAttrList list(attributes);
  if (auto dims = attributes.getAs<ArrayAttr>(graph::kDimsAttr))
    list.set(graph::kDimsAttr, ArrayAttr::get(function.getContext(), dims.getValue().drop_front()));
  return list.getDictionary(function.getContext());
}

Value StageSplitter::argumentOf(Entry &entry, BlockArgument argument) {
  if (argument.getOwner() != &body) // of the step: handed on
    return addArgument(entry, argument.getType(), function.getArgAttrDict(argument.getArgNumber()));
  if (argument.getArgNumber() == 0) {
    graph::Port port{argument.getType(),
                     graph::Kind::Input,
                     "micro_batch",
                     {},
                     builder.getNamedAttr(graph::kFillAttr, graph::FillAttr::get(builder.getContext(),
                                                                                 FillSource::MicroBatch))};
    return addArgument(entry, argument.getType(), port.attributes(builder));
  }
  auto stack = cast<BlockArgument>(loop.getStacks()[argument.getArgNumber() - 1 - loop.getInits().size()]);
  return addArgument(entry, argument.getType(), withoutMicro(function.getArgAttrDict(stack.getArgNumber())));
}

Value StageSplitter::get(Entry &entry, Value asked) {
  if (Value known = entry.mapping.lookupOrNull(asked))
    return known;
  if (Value value = canonical(loop, asked); value != asked) {
    entry.mapping.map(asked, get(entry, value));
    return entry.mapping.lookup(asked);
  }
  Value value = asked;
  Value mapped;
  std::optional<StagePart> made = parts.of(value);
  auto state = states.find(value);
  bool isMadeHere = made == entry.part;
  if (state != states.end() && !isMadeHere) {
    mapped = addArgument(entry, value.getType(), state->second);
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    mapped = argumentOf(entry, argument);
  } else {
    Operation *op = value.getDefiningOp();
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          (void)get(entry, operand);
    });
    builder.setInsertionPointToEnd(&entry.function.getBody().front());
    builder.clone(*op, entry.mapping);
    return entry.mapping.lookup(value);
  }
  entry.mapping.map(value, mapped);
  return mapped;
}

void StageSplitter::takeUnread(Entry &entry) {
  for (auto [stack, slice] :
       llvm::zip_equal(loop.getStacks(), body.getArguments().take_back(loop.getStacks().size()))) {
    auto argument = dyn_cast<BlockArgument>(stack);
    if (!argument || argument.getOwner() != &function.getBody().front() || !slice.use_empty())
      continue;
    std::optional<FillSource> fill = graph::fillOf(function, argument.getArgNumber());
    if ((fill == FillSource::Received && entry.part == StagePart::Forward) ||
        (fill == FillSource::ReceivedGradient && parts.of(slice) == entry.part))
      (void)get(entry, slice);
  }
}

/// Named after the step and the part: "train_forward".
void StageSplitter::build(StagePart part) {
  Entry entry;
  entry.part = part;
  builder.setInsertionPoint(function);
  std::string name = (function.getName() + "_" + graph::stringifyStagePart(part)).str();
  entry.function = func::FuncOp::create(builder, function.getLoc(), name, builder.getFunctionType({}, {}));
  entry.function.setVisibility(function.getVisibility());
  entry.function->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  entry.function->setAttr(graph::kStagePartAttr, graph::StagePartAttr::get(builder.getContext(), part));
  entry.function.addEntryBlock();

  // Ops in the order in which they stand; what they read comes before them.
  Block &block = StageParts::isInLoop(part) ? body : function.getBody().front();
  for (Operation &op : block.without_terminator())
    if (&op != loop && parts.of(&op) == part && op.getNumResults() > 0 && !parts.isFree(op.getResult(0)))
      (void)get(entry, op.getResult(0));

  Operation *yield = body.getTerminator(), *end = function.getBody().front().getTerminator();
  for (auto &[value, attributes] : states) {
    auto argument = dyn_cast<BlockArgument>(value);
    bool isCarried = argument && argument.getOwner() == &body && argument.getArgNumber() > 0 &&
                     argument.getArgNumber() <= loop.getInits().size();
    if (isCarried) {
      unsigned number = argument.getArgNumber() - 1;
      bool isMade =
          StageParts::isInLoop(part) && parts.ofCarried(number) == part && yield->getOperand(number) != value;
      if (part == StagePart::Begin || isMade) {
        Value next = get(entry, isMade ? yield->getOperand(number) : Value(loop.getInits()[number]));
        if (!isMade)
          (void)addArgument(entry, value.getType(), attributes);
        else
          (void)get(entry, value);
        give(entry, next, attributes);
      }
    } else if (parts.of(value) == part) {
      Value made = get(entry, value);
      (void)addArgument(entry, value.getType(), attributes);
      give(entry, made, attributes);
    }
  }
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    if (parts.ofResult(unsigned(i)) != part)
      continue;
    DictionaryAttr attributes = function.getResultAttrDict(unsigned(i));
    if (int64_t stack = parts.stackOf(unsigned(i)); stack >= 0)
      give(entry, get(entry, yield->getOperand(unsigned(loop.getInits().size() + size_t(stack)))),
           withoutMicro(attributes));
    else
      give(entry, get(entry, value), attributes);
  }
  if (entry.results.empty())
    return entry.function.erase();
  takeUnread(entry);
  builder.setInsertionPointToEnd(&entry.function.getBody().front());
  func::ReturnOp::create(builder, function.getLoc(), entry.results);
  entry.function.setType(builder.getFunctionType(entry.function.getBody().front().getArgumentTypes(),
                                                 ValueRange(entry.results).getTypes()));
  entry.function.setAllResultAttrs(entry.resultAttributes);
}

void StageSplitter::run() {
  findKept();
  for (int part = 0; part <= int(graph::getMaxEnumValForStagePart()); ++part)
    build(StagePart(part));
  function.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitStage : dist::impl::DistSplitStagePassBase<SplitStage> {
  using Base::Base;
  void runOnOperation() override {
    StateNames names;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      graph::RepeatOp loop;
      if (!function.isExternal() && function->hasAttr(graph::kRoleAttr))
        for (auto repeat : function.getBody().front().getOps<graph::RepeatOp>())
          if (repeat->hasAttr(graph::kMicroBatchesAttr))
            loop = repeat;
      if (!loop)
        continue;
      StageParts parts(function, loop, splitsBackward);
      if (failed(parts.analyze()))
        return signalPassFailure();
      names.beginStep();
      StageSplitter(function, loop, parts, names).run();
    }
  }
};
} // namespace
