//===- LowerRepeats.cpp - graph.repeat to exec.for --------------------------===//
//
// The loop sees whole stacks and takes one layer by a view. A period of several bodies becomes one body that runs
// them in turn; what is left of the last period follows after the loop (host code only: kernels are shared).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

namespace tessera::kernels {

/// Clones body `number` for layer `index`; returns the next carried values.
static SmallVector<Value> cloneBody(OpBuilder &builder, graph::RepeatOp repeat, unsigned number, Value index,
                                    ValueRange carried) {
  IRMapping map;
  Location loc = repeat.getLoc();
  BlockArgument indexArg = repeat.getIndex(number);
  map.map(indexArg, UnrealizedConversionCastOp::create(builder, loc, indexArg.getType(), index).getResult(0));
  map.map(ValueRange(repeat.getCarried(number)), carried);
  for (auto [arg, stack] : llvm::zip_equal(repeat.getSlices(number), repeat.getStacks()))
    map.map(arg, exec::LayerOp::create(builder, loc, arg.getType(), stack, index));
  Block &body = repeat.getBody(number);
  for (Operation &op : body.without_terminator())
    builder.clone(op, map);
  return llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) { return map.lookupOrDefault(v); });
}

static void lowerRepeat(graph::RepeatOp repeat) {
  OpBuilder builder(repeat);
  Location loc = repeat.getLoc();
  int64_t count = repeat.getCount(), period = repeat.getBodies().size(), whole = count / period * period;
  SmallVector<Value> carried(repeat.getInits());
  if (whole > 0) {
    auto loop = exec::ForOp::create(builder, loc, repeat.getResultTypes(), builder.getI64IntegerAttr(whole),
                                    builder.getI64IntegerAttr(period), carried);
    Block *block = builder.createBlock(&loop.getBody());
    Value index = block->addArgument(builder.getIndexType(), loc);
    for (Value value : carried)
      block->addArgument(value.getType(), loc);
    SmallVector<Value> values(block->getArguments().drop_front());
    for (int64_t body = 0; body < period; ++body) {
      Value layer = index;
      if (body > 0)
        layer = exec::IndexOffsetOp::create(builder, loc, builder.getIndexType(), index, builder.getI64IntegerAttr(body));
      values = cloneBody(builder, repeat, body, layer, values);
    }
    exec::YieldOp::create(builder, loc, values);
    builder.setInsertionPointAfter(loop);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (int64_t i = whole; i < count; ++i)
    carried = cloneBody(builder, repeat, i - whole, arith::ConstantIndexOp::create(builder, loc, i), carried);
  repeat.replaceAllUsesWith(carried);
  repeat.erase();
}

LogicalResult lowerRepeats(Lowering &lowering) {
  // Outer loops first: their clones hold the inner ones.
  for (;;) {
    graph::RepeatOp repeat;
    lowering.module.walk<WalkOrder::PreOrder>([&](graph::RepeatOp op) {
      repeat = op;
      return WalkResult::interrupt();
    });
    if (!repeat)
      break;
    lowerRepeat(repeat);
  }
  SmallVector<graph::LayerSliceOp> slices;
  lowering.module.walk([&](graph::LayerSliceOp op) { slices.push_back(op); });
  for (graph::LayerSliceOp op : slices) {
    OpBuilder builder(op);
    Value index = layerIndex(builder, op.getIndex());
    if (!index)
      return op.emitOpError("takes a layer whose number is neither a loop's index nor a constant");
    Value view = exec::LayerOp::create(builder, op.getLoc(), op.getType(), op.getStack(), index);
    op.replaceAllUsesWith(view);
    op.erase();
  }
  return success();
}

} // namespace tessera::kernels
