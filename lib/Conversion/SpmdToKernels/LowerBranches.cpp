//===- LowerBranches.cpp - graph.if to bodies that run once or not -----------===//
//
// The host reads the condition and runs one body or the other: two loops of one iteration at most, of which
// the second one runs where the first one does not. What follows for loops follows for branches so: kernels
// are made of a body's ops, and buffers of one branch lie where those of the other do. The condition is
// whole on all ranks that meet in a collective of a branch, so they run the same one.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Dialect/Graph/IR/Branch.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {

/// `block`, whose terminator gives `yielded`, as a body that runs once where `number` is 1, else leaves
/// `before`.
static SmallVector<Value> runWhere(OpBuilder &builder, Location loc, Value number, Block &block,
                                   ArrayRef<Value> yielded, ArrayRef<Value> before) {
  IntegerAttr one = builder.getI64IntegerAttr(1);
  auto loop = exec::ForOp::create(builder, loc, ValueRange(before).getTypes(), one, one,
                                  /*call=*/IntegerAttr(), builder.getI64IntegerAttr(0), before, number);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&loop.getBody());
  body->addArgument(builder.getIndexType(), loc);
  for (Value value : before)
    body->addArgument(value.getType(), loc);
  body->getOperations().splice(body->end(), block.getOperations());
  builder.setInsertionPointToEnd(body);
  exec::YieldOp::create(builder, loc, yielded);
  return llvm::to_vector_of<Value>(loop.getResults());
}

static void lowerBranch(graph::IfOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<unsigned> chosen; // results that both branches make of one value need no choice
  SmallVector<SmallVector<Value>, 2> yielded(2);
  SmallVector<Value> begin;
  auto valueOf = [&](unsigned branch, unsigned i) {
    return op->getRegion(branch).front().getTerminator()->getOperand(i);
  };
  for (OpResult result : op.getResults()) {
    unsigned i = result.getResultNumber();
    if (result.use_empty())
      continue;
    if (valueOf(0, i) == valueOf(1, i)) {
      result.replaceAllUsesWith(valueOf(0, i));
      continue;
    }
    chosen.push_back(i);
    for (unsigned branch = 0; branch < 2; ++branch)
      yielded[branch].push_back(valueOf(branch, i));
    RankedTensorType type = tensorOf(result);
    begin.push_back(
        tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType(), type.getEncoding()));
  }
  if (!chosen.empty()) {
    Value taken = exec::ReadFlagOp::create(builder, loc, builder.getIndexType(), op.getCondition(),
                                           /*stream=*/nullptr);
    Value other = exec::IndexOffsetOp::create(builder, loc, builder.getIndexType(), taken,
                                              builder.getI64IntegerAttr(1), builder.getUnitAttr());
    SmallVector<Value> values = begin;
    for (unsigned branch = 0; branch < 2; ++branch) {
      Block &block = op->getRegion(branch).front();
      block.getTerminator()->erase();
      values = runWhere(builder, loc, branch == 0 ? taken : other, block, yielded[branch], values);
    }
    for (auto [i, value] : llvm::zip_equal(chosen, values))
      op.getResult(i).replaceAllUsesWith(value);
  }
  op.erase();
}

void lowerBranches(Lowering &lowering) {
  SmallVector<graph::IfOp> branches; // inner ones first
  lowering.module.walk([&](graph::IfOp op) { branches.push_back(op); });
  for (graph::IfOp op : branches)
    lowerBranch(op);
}

} // namespace tessera::kernels
