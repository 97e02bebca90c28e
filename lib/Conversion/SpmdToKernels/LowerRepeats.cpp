//===- LowerRepeats.cpp - graph.repeat to exec.for --------------------------===//
//
// The loop sees whole stacks and takes one layer by a view. Stacks that it returns are carried and written
// layer by layer, in place; one whose slices are made of those of a stack that nobody reads any more takes
// that one's place. A period of several bodies becomes one body that runs them in turn; what is left
// of the last period follows after the loop, or in reverse stands before it (host code only: kernels are
// shared).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Support/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace tessera::kernels {

/// `stack` with `slice` as layer `index`: a copy, row by row, if the slice cannot be made there.
static Value writeLayer(Lowering &lowering, OpBuilder &builder, Location loc, Value stack, Value slice,
                        Value index) {
  RankedTensorType type = tensorOf(slice);
  int64_t rank = type.getRank(), count = rank ? type.getDimSize(0) : 1;
  KernelShell shell(loc, "write_layer_" + shapeText(type.getShape()), {type}, {tensorOf(stack)}, 1);
  shell.loop(count, [&](OpBuilder &b, Value row, ValueRange outs) -> SmallVector<Value> {
    if (!rank)
      return {tensor::InsertOp::create(b, loc,
                                       tensor::ExtractOp::create(b, loc, shell.inputs[0], ValueRange()),
                                       outs[0], ValueRange{shell.scalars[0]})};
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> at(rank, zero), sizes = {one}, ones(rank, one);
    at[0] = row;
    for (int64_t size : type.getShape().drop_front())
      sizes.push_back(b.getIndexAttr(size));
    auto rowType = RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
    Value source = tensor::ExtractSliceOp::create(b, loc, rowType, shell.inputs[0], at, sizes, ones);
    at.insert(at.begin(), OpFoldResult(shell.scalars[0]));
    sizes.insert(sizes.begin(), one);
    ones.push_back(one);
    Value target = tensor::ExtractSliceOp::create(b, loc, rowType, outs[0], at, sizes, ones);
    Value copied = linalg::CopyOp::create(b, loc, source, target).getResult(0);
    return {tensor::InsertSliceOp::create(b, loc, copied, outs[0], at, sizes, ones)};
  });
  FlatSymbolRefAttr symbol = lowering.kernels.add(shell.func);
  auto launch =
      exec::LaunchOp::create(builder, loc, TypeRange(stack.getType()), symbol, ValueRange{slice}, stack,
                             index, builder.getI64IntegerAttr(count),
                             builder.getI64IntegerAttr(lowering.grain(type.getNumElements() / count, count)));
  launch.setModes(exec::AccessKind::Layer);
  launch.setCopies(true);
  return launch.getResults()[0];
}

/// For each returned stack the number of the stack that it begins as, -1 for none: it is not read after the
/// repeat, it may be written (no parameter, no input), and each slice is made by an op that reads its slice.
static SmallVector<int64_t> stacksTakenOver(graph::RepeatOp repeat) {
  auto mayBeWritten = [](Value stack) {
    if (auto arg = dyn_cast<BlockArgument>(stack)) {
      auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
      return !func || graph::argumentKind(arg) == graph::Kind::State;
    }
    return !isa<exec::ExecViewOpInterface>(stack.getDefiningOp()) &&
           stack.getDefiningOp()->getNumOperands() > 0;
  };
  SmallVector<int64_t> taken;
  for (auto [k, result] : llvm::enumerate(repeat.getCollected())) {
    taken.push_back(-1);
    for (auto [j, stack] : llvm::enumerate(repeat.getStacks())) {
      if (stack.getType() != result.getType() || !stack.hasOneUse() || !mayBeWritten(stack) ||
          llvm::is_contained(taken, int64_t(j)))
        continue;
      bool becomes = true;
      for (unsigned body = 0; body < repeat.getBodies().size(); ++body) {
        Operation *maker = repeat.getCollectedSlices(body)[k].getDefiningOp();
        Value slice = repeat.getSlices(body)[j];
        becomes &= maker && maker->getBlock() == &repeat.getBody(body) && slice.hasOneUse() &&
                   llvm::is_contained(maker->getOperands(), slice);
      }
      if (becomes)
        taken.back() = int64_t(j);
    }
  }
  return taken;
}

/// What the value of body `number` that becomes a layer is called; what is carried as what the body makes of
/// it.
static StringRef sliceName(graph::RepeatOp repeat, unsigned number, Value slice) {
  for (auto [carried, next] :
       llvm::zip(repeat.getCarried(number), repeat.getBody(number).getTerminator()->getOperands()))
    if (carried == slice)
      slice = next;
  Operation *maker = slice.getDefiningOp();
  return maker ? graph::callName(maker->getLoc()) : StringRef();
}

/// Clones body `number` for layer `index`, which is `iteration` of the loop; returns the next carried values
/// and stacks.
static SmallVector<Value> cloneBody(Lowering &lowering, OpBuilder &builder, graph::RepeatOp repeat,
                                    ArrayRef<int64_t> takenOver, unsigned number, Value index,
                                    graph::CallIteration iteration, ValueRange carried) {
  IRMapping map;
  Location loc = graph::placeCall(repeat.getLoc(), iteration);
  BlockArgument indexArg = repeat.getIndex(number);
  map.map(indexArg, UnrealizedConversionCastOp::create(builder, loc, indexArg.getType(), index).getResult(0));
  size_t inits = repeat.getInits().size();
  map.map(ValueRange(repeat.getCarried(number)), carried.take_front(inits));
  for (auto [j, arg, stack] : llvm::enumerate(repeat.getSlices(number), repeat.getStacks())) {
    // What has this layer now: the stack that was given, or the one that is to be returned.
    auto *by = llvm::find(takenOver, int64_t(j));
    Value now = by == takenOver.end() ? stack : carried[inits + size_t(by - takenOver.begin())];
    map.map(arg, exec::LayerOp::create(builder, loc, arg.getType(), now, index));
  }
  Block &body = repeat.getBody(number);
  SmallVector<Value> stacks(carried.drop_front(inits));
  auto write = [&](bool given) { // what the body is given, or what it makes
    for (auto [slice, stack] : llvm::zip_equal(repeat.getCollectedSlices(number), stacks)) {
      if (isa<BlockArgument>(slice) != given)
        continue;
      StringRef name = sliceName(repeat, number, slice);
      stack = writeLayer(lowering, builder, name.empty() ? loc : graph::nameCall(loc, name), stack,
                         map.lookupOrDefault(slice), index);
    }
  };
  write(/*given=*/true); // now: the next value may take its place then
  for (Operation &op : body.without_terminator())
    builder.clone(op, map)->walk(
        [&](Operation *made) { made->setLoc(graph::placeCall(made->getLoc(), iteration)); });
  write(/*given=*/false);
  auto next = llvm::map_to_vector(body.getTerminator()->getOperands().take_front(inits),
                                  [&](Value v) { return map.lookupOrDefault(v); });
  llvm::append_range(next, stacks);
  return next;
}

static void lowerRepeat(Lowering &lowering, graph::RepeatOp repeat) {
  OpBuilder builder(repeat);
  Location loc = repeat.getLoc();
  int64_t count = repeat.getCount(), period = repeat.getBodies().size(), whole = count / period * period;
  bool reverse = repeat.getReverse();
  StringRef name = graph::callName(loc);
  auto iteration = [&](int64_t scale, int64_t offset) {
    return graph::CallIteration{name.empty() ? StringRef("layer") : name, scale, offset};
  };
  SmallVector<Value> carried(repeat.getInits());
  SmallVector<int64_t> takenOver = stacksTakenOver(repeat);
  // Each begins in a place of its own: zeros that several begin as, or that a loop around this one begins
  // with again in each of its iterations, would be copied.
  for (Value &init : carried)
    if (Operation *maker = init.getDefiningOp();
        maker && maker->getNumOperands() == 0 &&
        (!init.hasOneUse() || maker->getBlock() != repeat->getBlock()))
      init = builder.clone(*maker)->getResult(0);
  for (auto [stack, taken] : llvm::zip_equal(repeat.getCollected(), takenOver)) {
    if (taken >= 0) {
      carried.push_back(repeat.getStacks()[size_t(taken)]);
      continue;
    }
    RankedTensorType type = tensorOf(stack);
    carried.push_back(
        tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType(), type.getEncoding()));
  }
  auto runRest = [&] {
    for (int64_t i = whole; i < count; ++i) {
      int64_t layer = reverse ? whole + count - 1 - i : i;
      carried = cloneBody(lowering, builder, repeat, takenOver, layer % period,
                          arith::ConstantIndexOp::create(builder, loc, layer), iteration(0, layer), carried);
    }
  };
  if (reverse)
    runRest();
  if (whole > 0) {
    auto loop = exec::ForOp::create(builder, loc, repeat.getResultTypes(), whole, period, carried);
    Block *block = builder.createBlock(&loop.getBody());
    Value index = block->addArgument(builder.getIndexType(), loc);
    for (Value value : carried)
      block->addArgument(value.getType(), loc);
    SmallVector<Value> values(block->getArguments().drop_front());
    for (int64_t turn = 0; turn < period; ++turn) {
      int64_t body = reverse ? period - 1 - turn : turn;
      Value layer = index;
      if (reverse || turn > 0)
        layer = exec::IndexOffsetOp::create(builder, loc, builder.getIndexType(), index,
                                            builder.getI64IntegerAttr(reverse ? whole - 1 - turn : turn),
                                            reverse ? builder.getUnitAttr() : UnitAttr());
      graph::CallIteration here = reverse ? iteration(-1, whole - 1 - turn) : iteration(1, turn);
      values = cloneBody(lowering, builder, repeat, takenOver, body, layer, here, values);
    }
    exec::YieldOp::create(builder, loc, values);
    builder.setInsertionPointAfter(loop);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  if (!reverse)
    runRest();
  repeat.replaceAllUsesWith(carried);
  repeat.erase();
}

void materializeLayerNumbers(Lowering &lowering) {
  SmallVector<UnrealizedConversionCastOp> numbers;
  lowering.module.walk([&](UnrealizedConversionCastOp op) { numbers.push_back(op); });
  for (UnrealizedConversionCastOp op : numbers) {
    if (!op.use_empty()) {
      Value number = op.getResult(0);
      OpBuilder builder(op);
      KernelShell shell(op.getLoc(), "layer_number", {}, {plainType(number.getType())}, 1);
      shell.loop(1, [&](OpBuilder &b, Value, ValueRange outs) -> SmallVector<Value> {
        Value element =
            arith::IndexCastOp::create(b, op.getLoc(), tensorOf(number).getElementType(), shell.scalars[0]);
        return {tensor::InsertOp::create(b, op.getLoc(), element, outs[0], ValueRange())};
      });
      auto one = builder.getI64IntegerAttr(1);
      auto launch = exec::LaunchOp::create(builder, op.getLoc(), TypeRange(number.getType()),
                                           lowering.kernels.add(shell.func), ValueRange(),
                                           fresh(builder, number), op.getInputs(), one, one);
      number.replaceAllUsesWith(launch.getResults()[0]);
    }
    op.erase();
  }
}

/// Numbers of layers in stacks of some bodies' layers: numbers of the host like those that they are made of.
static LogicalResult lowerStackLayers(Lowering &lowering) {
  SmallVector<graph::StackLayerOp> numbers;
  lowering.module.walk([&](graph::StackLayerOp op) { numbers.push_back(op); });
  for (graph::StackLayerOp op : numbers) {
    OpBuilder builder(op);
    Value index = layerIndex(builder, op.getIndex());
    if (!index)
      return op.emitOpError("takes a layer whose number is neither a loop's index nor a constant");
    Value number;
    if (auto constant = index.getDefiningOp<arith::ConstantIndexOp>())
      number = arith::ConstantIndexOp::create(
          builder, op.getLoc(),
          constant.value() / int64_t(op.getPeriod()) * int64_t(op.getHeld()) + int64_t(op.getBefore()));
    else
      number = exec::StackLayerOp::create(builder, op.getLoc(), builder.getIndexType(), index,
                                          op.getPeriodAttr(), op.getHeldAttr(), op.getBeforeAttr());
    Value tensor =
        UnrealizedConversionCastOp::create(builder, op.getLoc(), op.getType(), number).getResult(0);
    op.replaceAllUsesWith(tensor);
    op.erase();
  }
  return success();
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
    lowerRepeat(lowering, repeat);
  }
  if (failed(lowerStackLayers(lowering)))
    return failure();
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
