//===- Activity.cpp -------------------------------------------------------===//
#include "Activity.h"

using namespace mlir;

namespace tessera::graph {

Activity::Activity(Block &block, ArrayRef<BlockArgument> wanted, ArrayRef<Value> counted) {
  for (BlockArgument argument : wanted)
    vary(argument);
  varyBlock(block);
  for (Value value : counted)
    use(value);
  useBlock(block);
}

static bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value)); }

SmallVector<Value> Activity::read(Operation *op) {
  SmallVector<Value> values;
  op->walk([&](Operation *inner) { llvm::append_range(values, inner->getOperands()); });
  return values;
}

void Activity::vary(Value value) {
  if (isFloat(value))
    varied.insert(value);
}
void Activity::use(Value value) {
  if (isFloat(value))
    useful.insert(value);
}

void Activity::varyBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      varyRepeat(repeat);
    else if (llvm::any_of(read(&op), [&](Value operand) { return varied.contains(operand); }))
      for (Value result : op.getResults())
        vary(result);
  }
}

/// What an iteration makes of carried values the next one reads: until nothing more varies.
void Activity::varyRepeat(RepeatOp op) {
  size_t carried = op.getInits().size(), before;
  do {
    before = varied.size();
    for (unsigned body = 0; body < op.getBodies().size(); ++body) {
      for (size_t i = 0; i < carried; ++i)
        if (varied.contains(op.getInits()[i]) || varied.contains(op.getResult(unsigned(i))))
          vary(op.getCarried(body)[i]);
      for (auto [slice, stack] : llvm::zip_equal(op.getSlices(body), op.getStacks()))
        if (varied.contains(stack))
          vary(slice);
      varyBlock(op.getBody(body));
      for (auto [yielded, result] :
           llvm::zip_equal(op.getBody(body).getTerminator()->getOperands(), op.getResults()))
        if (varied.contains(yielded))
          vary(result);
    }
  } while (varied.size() != before);
}

void Activity::useBlock(Block &block) {
  for (Operation &op : llvm::drop_begin(llvm::reverse(block))) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      useRepeat(repeat);
    else if (llvm::any_of(op.getResults(), [&](Value result) { return useful.contains(result); }))
      for (Value operand : read(&op))
        use(operand);
  }
}

void Activity::useRepeat(RepeatOp op) {
  size_t carried = op.getInits().size(), before;
  /// Carried values that a later iteration reads.
  llvm::SmallBitVector read{unsigned(carried)};
  do {
    before = useful.size();
    for (unsigned body = 0; body < op.getBodies().size(); ++body) {
      for (auto [i, yielded] : llvm::enumerate(op.getBody(body).getTerminator()->getOperands()))
        if (useful.contains(op.getResult(unsigned(i))) || (i < carried && read[unsigned(i)]))
          use(yielded);
      useBlock(op.getBody(body));
      for (size_t i = 0; i < carried; ++i)
        if (useful.contains(op.getCarried(body)[i])) {
          read.set(unsigned(i));
          use(op.getInits()[i]);
        }
      for (auto [slice, stack] : llvm::zip_equal(op.getSlices(body), op.getStacks()))
        if (useful.contains(slice))
          use(stack);
    }
  } while (useful.size() != before);
}

} // namespace tessera::graph
