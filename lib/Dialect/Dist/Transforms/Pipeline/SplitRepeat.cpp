//===- SplitRepeat.cpp ----------------------------------------------------===//
#include "Pipeline/SplitRepeat.h"

#include "Partition/SavedPair.h"

#include "tessera/Dialect/Dist/IR/Dist.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tessera::dist {
namespace {

class RepeatSplitter {
public:
  RepeatSplitter(graph::RepeatOp loop, llvm::BitVector wanted, llvm::function_ref<bool(Value)> isKnown)
      : loop(loop), wanted(std::move(wanted)), isKnown(isKnown), inits(unsigned(loop.getInits().size())) {}

  graph::RepeatOp run();

private:
  Block &body(unsigned number) { return loop.getBody(number); }
  unsigned bodies() { return unsigned(loop.getBodies().size()); }
  /// Ops that wanted results need, in all bodies; carried values that they read are wanted as well.
  void findFirst();
  /// Values of a body that the second loop reads and the first one makes.
  void findRead(unsigned number);
  void need(unsigned number, Value value);
  /// Moves ops of a body from the second loop to the first.
  void moveKnown(unsigned number);
  bool isMoved(unsigned number, Operation &op, llvm::SmallPtrSetImpl<Operation *> &known);
  /// The value is the same in all layers.
  bool isOfNoLayer(Value value);
  Value zerosOf(OpBuilder &builder, Type type);
  graph::RepeatOp buildFirst(OpBuilder &builder);
  graph::RepeatOp buildSecond(OpBuilder &builder, graph::RepeatOp first);

  /// A stack that goes from the first loop to the second: of each body what it yields; null: nothing.
  struct Kept {
    Type type;
    SmallVector<Value> values;
  };

  graph::RepeatOp loop;
  llvm::BitVector wanted;
  llvm::function_ref<bool(Value)> isKnown;
  unsigned inits;
  llvm::DenseSet<Operation *> first;
  SmallVector<llvm::SetVector<Value>> read; ///< of each body
  SmallVector<llvm::SetVector<Operation *>> second;
  llvm::SetVector<unsigned> stacks; ///< of the loop that the second reads
  SmallVector<Kept> kept;
};

/// Whatever stands in `op` and is read from outside of it.
void forEachRead(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
        visit(operand);
  });
}
} // namespace

void RepeatSplitter::findFirst() {
  for (bool again = true; again;) {
    again = false;
    for (unsigned number = 0; number < bodies(); ++number) {
      SmallVector<Value> work;
      for (unsigned result : wanted.set_bits())
        work.push_back(body(number).getTerminator()->getOperand(result));
      llvm::DenseSet<Operation *> seen;
      while (!work.empty()) {
        Value value = work.pop_back_val();
        if (auto argument = dyn_cast<BlockArgument>(value)) {
          unsigned carried = argument.getArgNumber() - 1;
          if (argument.getOwner() == &body(number) && argument.getArgNumber() > 0 && carried < inits &&
              !wanted[carried]) {
            wanted.set(carried);
            again = true;
          }
          continue;
        }
        Operation *op = value.getDefiningOp();
        if (op->getBlock() != &body(number) || !seen.insert(op).second)
          continue;
        first.insert(op);
        forEachRead(op, [&](Value operand) { work.push_back(operand); });
      }
    }
  }
}

bool RepeatSplitter::isOfNoLayer(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return value.getParentRegion()->getParentOp() != loop;
  if (!loop->isProperAncestor(op))
    return true;
  return op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isOfNoLayer(operand); });
}

void RepeatSplitter::need(unsigned number, Value value) {
  if (value.getParentBlock() != &body(number))
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned place = argument.getArgNumber();
    if (place == 0)
      return;
    if (place > inits)
      stacks.insert(place - 1 - inits);
    else if (wanted[place - 1])
      read[number].insert(value);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (first.contains(op) && !isOfNoLayer(value)) {
    read[number].insert(value);
    return;
  }
  if (second[number].insert(op))
    forEachRead(op, [&](Value operand) { need(number, operand); });
}

void RepeatSplitter::findRead(unsigned number) {
  for (unsigned result = 0; result < loop.getNumResults(); ++result)
    if (!wanted[result])
      need(number, body(number).getTerminator()->getOperand(result));
}

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Whether `op`, which the second loop has, follows from what forward made, and is better kept than what it
/// is made of. `known`: ops of the body that follow from that.
bool RepeatSplitter::isMoved(unsigned number, Operation &op, llvm::SmallPtrSetImpl<Operation *> &known) {
  if (op.getNumRegions() > 0 || !isPure(&op) || isa<DistDialect>(op.getDialect()))
    return false;
  int64_t made = 0, freed = 0;
  for (Value result : op.getResults())
    made += bytesOf(result);
  llvm::SmallPtrSet<Value, 4> seen;
  for (Value operand : op.getOperands()) {
    if (isOfNoLayer(operand) || !seen.insert(operand).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(operand)) {
      unsigned place = argument.getArgNumber();
      if (place > 0 && (place <= inits || !isKnown(loop.getStacks()[place - 1 - inits])))
        return false;
    } else if (!known.contains(operand.getDefiningOp())) {
      return false;
    }
    bool isReadBesides = llvm::any_of(operand.getUses(), [&](OpOperand &use) {
      Operation *reader = body(number).findAncestorOpInBlock(*use.getOwner());
      return reader == body(number).getTerminator() ? !wanted[use.getOperandNumber()]
                                                    : reader != &op && second[number].contains(reader);
    });
    freed += isReadBesides ? 0 : bytesOf(operand);
  }
  known.insert(&op);
  return made <= freed && !first.contains(&op);
}

void RepeatSplitter::moveKnown(unsigned number) {
  llvm::SmallPtrSet<Operation *, 16> known;
  for (Operation &op : body(number).without_terminator()) {
    if (!isMoved(number, op, known))
      continue;
    // Not without what it is made of.
    bool isReady = second[number].contains(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
                     Operation *maker = operand.getDefiningOp();
                     return !maker || isOfNoLayer(operand) || first.contains(maker);
                   });
    if (isReady)
      first.insert(&op), second[number].remove(&op);
  }
}

Value RepeatSplitter::zerosOf(OpBuilder &builder, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto plain = RankedTensorType::get(globalShape(tensor), tensor.getElementType());
  return graph::ConstantOp::create(
      builder, loop.getLoc(), type,
      DenseElementsAttr::get(plain, builder.getZeroAttr(tensor.getElementType())));
}

graph::RepeatOp RepeatSplitter::buildFirst(OpBuilder &builder) {
  SmallVector<Type> types;
  SmallVector<Value> begin;
  for (unsigned result : wanted.set_bits()) {
    types.push_back(loop.getResult(result).getType());
    if (result < inits)
      begin.push_back(loop.getInits()[result]);
  }
  for (const Kept &one : kept)
    types.push_back(stackOf(one.type, int64_t(loop.getCount())));
  auto made = graph::RepeatOp::create(builder, loop.getLoc(), types, int64_t(loop.getCount()), begin,
                                      loop.getStacks(), bodies(), loop.getReverse());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (unsigned number = 0; number < bodies(); ++number) {
    Block &block = made.getBodies()[number].emplaceBlock();
    IRMapping mapping;
    for (BlockArgument argument : body(number).getArguments())
      if (unsigned place = argument.getArgNumber(); place == 0 || place > inits || wanted[place - 1])
        mapping.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    for (Operation &op : body(number).without_terminator())
      if (first.contains(&op))
        inner.clone(op, mapping);
    SmallVector<Value> values;
    for (unsigned result : wanted.set_bits())
      values.push_back(mapping.lookupOrDefault(body(number).getTerminator()->getOperand(result)));
    for (const Kept &one : kept)
      values.push_back(one.values[number] ? mapping.lookupOrDefault(one.values[number])
                                          : zerosOf(inner, one.type));
    graph::YieldOp::create(inner, loop.getLoc(), values);
  }
  return made;
}

graph::RepeatOp RepeatSplitter::buildSecond(OpBuilder &builder, graph::RepeatOp firstLoop) {
  SmallVector<Type> types;
  SmallVector<Value> begin, read;
  for (unsigned result = 0; result < loop.getNumResults(); ++result)
    if (!wanted[result]) {
      types.push_back(loop.getResult(result).getType());
      if (result < inits)
        begin.push_back(loop.getInits()[result]);
    }
  for (unsigned stack : stacks)
    read.push_back(loop.getStacks()[stack]);
  llvm::append_range(read, firstLoop->getResults().take_back(kept.size()));
  auto made = graph::RepeatOp::create(builder, loop.getLoc(), types, int64_t(loop.getCount()), begin, read,
                                      bodies(), loop.getReverse());
  for (unsigned number = 0; number < bodies(); ++number) {
    Block &block = made.getBodies()[number].emplaceBlock(), &from = body(number);
    IRMapping mapping;
    auto add = [&](Type type) { return block.addArgument(type, loop.getLoc()); };
    mapping.map(from.getArgument(0), add(from.getArgument(0).getType()));
    for (unsigned carried = 0; carried < inits; ++carried)
      if (!wanted[carried])
        mapping.map(from.getArgument(1 + carried), add(from.getArgument(1 + carried).getType()));
    for (unsigned stack : stacks) {
      BlockArgument slice = from.getArgument(1 + inits + stack);
      mapping.map(slice, add(slice.getType()));
    }
    for (const Kept &one : kept) {
      Value slice = add(one.type);
      if (one.values[number])
        mapping.map(one.values[number], slice);
    }
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    for (Operation &op : from.without_terminator())
      if (second[number].contains(&op))
        inner.clone(op, mapping);
    SmallVector<Value> values;
    for (unsigned result = 0; result < loop.getNumResults(); ++result)
      if (!wanted[result])
        values.push_back(mapping.lookupOrDefault(from.getTerminator()->getOperand(result)));
    graph::YieldOp::create(inner, loop.getLoc(), values);
  }
  return made;
}

graph::RepeatOp RepeatSplitter::run() {
  findFirst();
  if (wanted.none() || wanted.all())
    return loop;
  read.resize(bodies());
  second.resize(bodies());
  for (unsigned number = 0; number < bodies(); ++number) {
    findRead(number);
    moveKnown(number);
    read[number].clear();
    second[number].clear();
  }
  stacks.clear();
  for (unsigned number = 0; number < bodies(); ++number) {
    findRead(number);
    for (Value value : read[number]) {
      auto *stack = llvm::find_if(
          kept, [&](Kept &other) { return other.type == value.getType() && !other.values[number]; });
      if (stack == kept.end()) {
        kept.push_back({value.getType(), SmallVector<Value>(bodies())});
        stack = &kept.back();
      }
      stack->values[number] = value;
    }
  }
  OpBuilder builder(loop);
  graph::RepeatOp firstLoop = buildFirst(builder), secondLoop = buildSecond(builder, firstLoop);
  unsigned ofFirst = 0, ofSecond = 0;
  for (unsigned result = 0; result < loop.getNumResults(); ++result)
    loop.getResult(result).replaceAllUsesWith(wanted[result] ? firstLoop.getResult(ofFirst++)
                                                             : secondLoop.getResult(ofSecond++));
  loop.erase();
  return firstLoop;
}

graph::RepeatOp splitRepeat(graph::RepeatOp loop, llvm::BitVector wanted,
                            llvm::function_ref<bool(Value)> isKnown) {
  return RepeatSplitter(loop, std::move(wanted), isKnown).run();
}

} // namespace tessera::dist
