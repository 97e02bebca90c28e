//===- AddIntoStacks.cpp - sums with the stacks that a repeat returns -------===//
//
// A gradient of stacked weights is summed over micro-batches: `sum = before + stack`, where a repeat returns
// the stack. Slice by slice in the repeat it is the same sum, and the product that makes a slice can add it
// (FoldEpilogues), in the place of `before` (LowerRepeats): neither the stack nor the sum need memory of
// their own.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Interfaces/Interfaces.h"

namespace tessera::kernels {
namespace {

/// What is added to stack `result` of `repeat`, by an op that alone reads the stack.
struct StackSum {
  Operation *op = nullptr;
  OpResult stack;
  Value before;
};

std::optional<StackSum> sumOf(graph::RepeatOp repeat, OpResult stack) {
  if (!stack.hasOneUse())
    return std::nullopt;
  Operation *op = *stack.getUsers().begin();
  auto scalar = dyn_cast<ElementwiseScalarOpInterface>(op);
  if (!scalar || !scalar.addsOperands() || op->getBlock() != repeat->getBlock())
    return std::nullopt;
  Value before = op->getOperand(op->getOperand(0) == stack ? 1 : 0);
  // Read by nobody else: or it could not become the sum.
  bool isThere = before.getParentBlock() != repeat->getBlock() || !before.getDefiningOp() ||
                 before.getDefiningOp()->isBeforeInBlock(repeat);
  if (!isThere || !before.hasOneUse() || before.getType() != stack.getType() ||
      op->getResult(0).getType() != stack.getType())
    return std::nullopt;
  return StackSum{op, stack, before};
}

/// The repeat with `sum.before` as one more stack, whose slices its bodies add.
graph::RepeatOp withSum(graph::RepeatOp repeat, const StackSum &sum) {
  size_t number = sum.stack.getResultNumber();
  SmallVector<Value> stacks(repeat.getStacks());
  stacks.push_back(sum.before);
  OpBuilder builder(repeat);
  auto whole = graph::RepeatOp::create(builder, repeat.getLoc(), repeat.getResultTypes(), repeat.getCount(),
                                       repeat.getInits(), stacks, unsigned(repeat.getBodies().size()),
                                       repeat.getReverse());
  whole->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip_equal(repeat.getBodies(), whole.getBodies())) {
    to.takeBody(from);
    Operation *yield = to.front().getTerminator();
    Value made = yield->getOperand(unsigned(number)),
          slice = to.front().addArgument(made.getType(), sum.op->getLoc());
    // As soon as it is made: what the product reads need not be kept any longer.
    Operation *maker = made.getDefiningOp();
    if (maker && maker->getBlock() == yield->getBlock())
      builder.setInsertionPointAfter(maker);
    else
      builder.setInsertionPoint(yield);
    OperationState state(sum.op->getLoc(), sum.op->getName(), ValueRange{slice, made},
                         TypeRange(made.getType()), sum.op->getAttrs());
    yield->setOperand(unsigned(number), builder.create(state)->getResult(0));
  }
  sum.op->getResult(0).replaceAllUsesWith(whole.getResult(unsigned(number)));
  sum.op->erase();
  repeat.replaceAllUsesWith(whole.getResults());
  repeat.erase();
  return whole;
}

} // namespace

void addIntoStacks(Lowering &lowering) {
  SmallVector<graph::RepeatOp> repeats;
  lowering.module.walk([&](graph::RepeatOp op) { repeats.push_back(op); });
  for (graph::RepeatOp repeat : repeats)
    for (size_t i = 0; i < repeat.getCollected().size(); ++i)
      while (std::optional<StackSum> sum = sumOf(repeat, repeat.getCollected()[i]))
        repeat = withSum(repeat, *sum);
}

} // namespace tessera::kernels
