//===- SavedPair.cpp - A loop that saves and the one that reads -----------===//
#include "Partition/SavedPair.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/Transforms/Recompute.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera::graph;

namespace tessera::dist {

/// Results before it are no saved stacks.
unsigned SavedPair::firstSaved() const {
  return unsigned(forward->getNumResults() - forward->getAttrOfType<ArrayAttr>(kSavedAttr).size());
}

std::optional<SavedPair> SavedPair::find(RepeatOp forward) {
  SavedPair pair;
  pair.forward = forward;
  auto names = forward->getAttrOfType<ArrayAttr>(kSavedAttr);
  if (!names || names.empty() || forward.getBodies().size() != 1)
    return std::nullopt;
  for (Value stack : forward->getResults().drop_front(pair.firstSaved()))
    for (OpOperand &use : stack.getUses()) {
      auto reader = dyn_cast<RepeatOp>(use.getOwner());
      if (!reader || (pair.backward && reader != pair.backward) ||
          use.getOperandNumber() < reader.getInits().size())
        return std::nullopt;
      pair.backward = reader;
    }
  if (!pair.backward || pair.backward->getBlock() != forward->getBlock() ||
      pair.backward.getBodies().size() != 1 || pair.backward.getCount() != forward.getCount())
    return std::nullopt;
  pair.findSame();
  pair.findNeeded();
  return pair;
}

/// All that an op is but for its operands, its place, and why it is there.
static bool doTheSame(Operation *a, Operation *b) {
  auto attributes = [](Operation *op) {
    NamedAttrList list(op->getAttrDictionary());
    list.erase("why");
    return list.getDictionary(op->getContext());
  };
  return a->getName() == b->getName() && a->getResultTypes() == b->getResultTypes() &&
         attributes(a) == attributes(b);
}

void SavedPair::findSame() {
  Block &from = body(), &to = backward.getBody(0);
  same[backward.getIndex(0)] = forward.getIndex(0);
  for (auto [stack, slice] : llvm::zip_equal(backward.getStacks(), backward.getSlices(0))) {
    if (stack.getDefiningOp() == forward.getOperation()) {
      same[slice] = from.getTerminator()->getOperand(cast<OpResult>(stack).getResultNumber());
      continue;
    }
    for (auto [other, otherSlice] : llvm::zip_equal(forward.getStacks(), forward.getSlices(0)))
      if (stack == other)
        same[slice] = otherSlice;
  }
  for (Operation &op : to.without_terminator()) {
    if (op.getNumRegions() || !isMemoryEffectFree(&op))
      continue;
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(operand.getParentBlock() == &to ? sameAs(operand) : operand);
    if (llvm::is_contained(operands, Value()))
      continue;
    for (Operation &other : from.without_terminator())
      if (doTheSame(&op, &other) && llvm::equal(operands, other.getOperands())) {
        for (auto [result, its] : llvm::zip_equal(op.getResults(), other.getResults()))
          same[result] = its;
        break;
      }
  }
}

void SavedPair::findNeeded() {
  Block &to = backward.getBody(0);
  for (Operation &op : to) {
    if (op.getNumResults() && sameAs(op.getResult(0)))
      continue;
    op.walk([&](Operation *reader) {
      for (Value operand : reader->getOperands())
        if (Value value = sameAs(operand); value && isInForward(value))
          needed.insert(value);
    });
  }
}

SmallVector<Operation *> SavedPair::madeAgain() const {
  SmallVector<Operation *> ops;
  for (Operation &op : RepeatOp(backward).getBody(0))
    if (op.getNumResults() && sameAs(op.getResult(0)))
      ops.push_back(&op);
  return ops;
}

bool SavedPair::isGiven(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument &&
         (argument.getArgNumber() == 0 || argument.getArgNumber() > RepeatOp(forward).getInits().size());
}

bool SavedPair::isSavedNow(Value value) const {
  return llvm::is_contained(body().getTerminator()->getOperands().drop_front(firstSaved()), value);
}

bool SavedPair::isGathered(Value value) const {
  bool exchanged = false;
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || op->getNumRegions() || !isInForward(value))
      return false;
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    exchanged |= collective && collective.communicates();
    value = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  return exchanged && argument && isInForward(value) && isGiven(value) && argument.getArgNumber() > 0;
}

/// Of what a function is given.
static std::string nameOfStack(Value stack) {
  // Weights that are rounded once are another form of what the function is given.
  while (Operation *op = stack.getDefiningOp()) {
    if (op->getNumOperands() != 1)
      return "";
    stack = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(stack);
  if (!argument)
    return "";
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto func = dyn_cast<func::FuncOp>(parent)) {
    auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    return name ? name.getValue().str() : "";
  }
  if (auto flow = dyn_cast<DataFlowOpInterface>(parent))
    for (const DataFlowEdge &edge : flow.getDataFlowEdges())
      if (llvm::is_contained(edge.places, stack))
        return nameOfStack(edge.values.front());
  return "";
}

std::string SavedPair::nameOf(Value value) const {
  ArrayRef<Attribute> names = forward->getAttrOfType<ArrayAttr>(kSavedAttr).getValue();
  for (auto [saved, name] :
       llvm::zip_equal(body().getTerminator()->getOperands().drop_front(firstSaved()), names))
    if (saved == value)
      return cast<StringAttr>(name).getValue().str();
  if (isGathered(value)) {
    Value from = value;
    while (Operation *op = from.getDefiningOp())
      from = op->getOperand(0);
    unsigned stack =
        cast<BlockArgument>(from).getArgNumber() - 1 - unsigned(RepeatOp(forward).getInits().size());
    if (std::string weight = nameOfStack(RepeatOp(forward).getStacks()[stack]); !weight.empty())
      return weight;
  }
  Operation *maker = value.getDefiningOp();
  std::string called = maker ? callName(maker->getLoc()).str() : "";
  return called.empty() ? nameOfSaved(value) : called;
}

Type tessera::dist::stackOf(Type type, int64_t count) {
  auto slice = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(slice.getShape()), global = globalShape(slice);
  shape.insert(shape.begin(), count);
  global.insert(global.begin(), count);
  auto sharding = getShardingAttr(slice);
  if (!sharding)
    return RankedTensorType::get(shape, slice.getElementType());
  MLIRContext *context = type.getContext();
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  dims.insert(dims.begin(), DimShardingAttr::get(context, {}, /*open=*/false, /*priority=*/-1));
  return RankedTensorType::get(shape, slice.getElementType(),
                               ShardingAttr::get(context, sharding.getMesh(), dims, sharding.getReplicated(),
                                                 sharding.getPartialKind(), sharding.getPartial(),
                                                 DenseI64ArrayAttr::get(context, global)));
}

/// As late as can be: a value that waits takes memory.
static void delay(ArrayRef<Operation *> ops, Block &block) {
  for (Operation *op : llvm::reverse(ops)) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      user = block.findAncestorOpInBlock(*user);
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    if (first)
      op->moveBefore(first);
  }
}

void SavedPair::rewrite(const llvm::SetVector<Value> &saved) {
  Block &from = body(), &to = backward.getBody(0);
  Operation *yield = from.getTerminator();
  OpBuilder before(forward);
  // What stays keeps its order.
  llvm::SetVector<Value> order;
  for (Value value : yield->getOperands().drop_front(firstSaved()))
    if (saved.contains(value))
      order.insert(value);
  order.insert_range(saved);
  SmallVector<Attribute> names;
  SmallVector<Type> types(forward->getResults().take_front(firstSaved()).getTypes());
  for (Value value : order) {
    names.push_back(before.getStringAttr(nameOf(value)));
    types.push_back(stackOf(value.getType(), int64_t(forward.getCount())));
  }

  llvm::DenseMap<Value, Value> here; // forward's values in backward's body
  for (auto [stack, slice] : llvm::zip_equal(backward.getStacks(), backward.getSlices(0)))
    if (Value value = sameAs(slice); value && isGiven(value))
      here[value] = slice;
  here[forward.getIndex(0)] = backward.getIndex(0);
  for (Value value : order)
    here[value] = to.addArgument(value.getType(), backward.getLoc());
  SmallVector<Value> stacks; // that backward read no layer of before
  SmallVector<Operation *> copies, gathers;
  OpBuilder again(&to, to.begin());
  auto resolve = [&](auto &self, Value value) -> Value {
    if (value.getParentBlock() != &from)
      return value;
    if (Value known = here.lookup(value))
      return known;
    if (isGiven(value)) {
      stacks.push_back(forward.getStacks()[cast<BlockArgument>(value).getArgNumber() - 1 -
                                           unsigned(forward.getInits().size())]);
      return here[value] = to.addArgument(value.getType(), backward.getLoc());
    }
    Operation *op = value.getDefiningOp();
    IRMapping operands;
    for (Value read : readBy(op))
      operands.map(read, self(self, read));
    Operation *copy = again.clone(*op, operands);
    copy->walk([](Operation *inner) { inner->setLoc(markPart(inner->getLoc(), StepPart::Backward)); });
    copies.push_back(copy);
    if (isGathered(value))
      gathers.push_back(copy);
    for (auto [result, its] : llvm::zip_equal(op->getResults(), copy->getResults()))
      here.try_emplace(result, its);
    return here.lookup(value);
  };
  llvm::DenseMap<Value, SmallVector<Value>> uses;
  for (auto [value, its] : same)
    uses[its].push_back(value);
  for (Value value : needed) {
    Value by = resolve(resolve, value);
    for (Value use : uses.lookup(value))
      if (use != by)
        use.replaceAllUsesWith(by);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(to)))
    if (isOpTriviallyDead(&op)) // a copy never is: somebody needed it
      op.erase();
  delay(copies, to);
  delay(gathers, to); // what was delayed later stands closer to its readers

  auto newForward = RepeatOp::create(before, forward.getLoc(), types, int64_t(forward.getCount()),
                                     forward.getInits(), forward.getStacks(), 1u, forward.getReverse());
  newForward->setDiscardableAttrs(forward->getDiscardableAttrDictionary());
  newForward->setAttr(kSavedAttr, before.getArrayAttr(names));
  newForward.getBodies().front().takeBody(forward.getBodies().front());
  SmallVector<Value> yielded(yield->getOperands().take_front(firstSaved()));
  llvm::append_range(yielded, order);
  yield->setOperands(yielded);
  forward->getResults()
      .take_front(firstSaved())
      .replaceAllUsesWith(newForward->getResults().take_front(firstSaved()));

  SmallVector<Value> reads;
  unsigned firstSlice = 1 + unsigned(backward.getInits().size());
  llvm::BitVector gone(to.getNumArguments());
  for (auto [i, stack] : llvm::enumerate(backward.getStacks()))
    if (stack.getDefiningOp() == forward.getOperation())
      gone.set(firstSlice + unsigned(i));
    else
      reads.push_back(stack);
  to.eraseArguments(gone);
  llvm::append_range(reads, newForward->getResults().drop_front(firstSaved()));
  llvm::append_range(reads, stacks);
  OpBuilder at(backward);
  auto newBackward =
      RepeatOp::create(at, backward.getLoc(), SmallVector<Type>(backward->getResultTypes()),
                       int64_t(backward.getCount()), backward.getInits(), reads, 1u, backward.getReverse());
  newBackward->setDiscardableAttrs(backward->getDiscardableAttrDictionary());
  newBackward.getBodies().front().takeBody(backward.getBodies().front());
  backward->replaceAllUsesWith(newBackward->getResults());
  backward.erase();
  forward.erase();
  forward = newForward;
  backward = newBackward;
}

} // namespace tessera::dist
