//===- TrainMicroBatches.cpp - Losses and gradients of a step -------------===//
#include "FloatArithmetic.h"
#include "TrainStepBuilder.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/RowNumbers.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Dialect/Graph/Transforms/Differentiate.h"
#include "tessera/Dialect/Graph/Transforms/Documents.h"
#include "tessera/Dialect/Graph/Transforms/Dropout.h"

using namespace mlir;

namespace tessera::graph {

IRMapping TrainStepBuilder::emitForward(Block &entry, ValueRange slices) {
  IRMapping mapping;
  Value positions, keys;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(forward.getArgument(input.first), slices[i]);
    if (input.second == FillSource::Positions) {
      positions = slices[i];
      keys = keysOfDocuments(builder, forward.getLoc(), positions);
    }
  }
  for (auto [value, slice] : llvm::zip(received, slices.drop_front(inputs.size() + (logits ? 1 : 0))))
    mapping.map(value.value, slice);
  if (firstLayer)
    mapping.map(forward.getArgument(*firstLayer), numbers.lookup(FillSource::FirstLayer));
  for (auto [i, weight] : llvm::enumerate(weights))
    mapping.map(forward.getArgument(weight.argument), entry.getArgument(unsigned(firstWeight + i)));
  auto retype = [&](Value value) {
    mapping.lookup(value).setType(positionWise.resized(value, sizes.rows(), sizes.seq));
  };
  for (Operation &op : forward.getBody().front().without_terminator()) {
    if (tail.ops.contains(&op))
      continue;
    Operation *copy = builder.clone(op, mapping);
    if (positions)
      useKeysOfDocuments(copy, positions, keys);
    op.walk([&](Operation *inner) {
      llvm::for_each(inner->getResults(), retype);
      for (Region &region : inner->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArguments(), retype);
    });
  }
  return mapping;
}

FailureOr<Value> TrainStepBuilder::emitLoss(IRMapping &values, Value targets, Value seed,
                                            SmallVectorImpl<LossInChunks::Gradient> &known) {
  Location loc = markPartOf(markPart(nameCall(forward.getLoc(), "loss"), StepPart::Loss), "loss");
  Value tokenWeight = numbers.lookup(FillSource::TokenWeight);
  if (lossChunks > 1)
    return LossInChunks{positionWise, tail, logits, sizes.rows(), sizes.seq, lossChunks, targets, tokenWeight}
        .emit(builder, loc, values, seed, known);
  FloatArithmetic f{builder, loc};
  auto lossOfRow = f.type({sizes.rows(), sizes.seq});
  auto loss = CrossEntropyOp::create(builder, loc, lossOfRow, lossOfRow, values.lookup(logits), targets);
  return f.mul(f.sum(loss.getLoss()), tokenWeight);
}

/// `block` is the entry's, or the body of the loop over micro-batches; `values` maps what it has of @forward.
LogicalResult TrainStepBuilder::emitDropout(Block &block, IRMapping &values) {
  SmallVector<DropSiteOpInterface> marked = dropoutSites(forward.getBody().front()), sites;
  for (DropSiteOpInterface site : marked)
    sites.push_back(cast<DropSiteOpInterface>(values.lookup(site.getOperation())));
  DropoutInputs inputs{numbers.lookup(FillSource::DropoutKey),
                       numbers.lookup(FillSource::Dropout),
                       {},
                       numbers.lookup(FillSource::FirstLayer)};
  if (!inputs.key) { // evaluation drops nothing
    keepAtSites(sites);
    return success();
  }
  if (auto microBatches = dyn_cast<RepeatOp>(block.getParentOp())) {
    OpBuilder first = OpBuilder::atBlockBegin(&block);
    Location loc = forward.getLoc();
    auto scalar = RankedTensorType::get({}, builder.getI64Type());
    Value index = CastOp::create(first, loc, scalar, microBatches.getIndex(0));
    inputs.firstRow = MulOp::create(first, loc, scalar, index, integerConstant(first, loc, sizes.rows()));
  }
  FailureOr<SmallVector<Value>> left = dropAtSites(sites, inputs, block.getParentOp());
  if (failed(left))
    return failure();
  // Whoever asks for such a value from here on means what is left of it.
  for (auto [site, value] : llvm::zip_equal(marked, *left))
    values.map(site->getResult(0), value);
  return success();
}

/// As calls of its ops are named.
static std::string gradientName(TrainedWeight &weight) {
  return ("gradient of " + weight.symbol.getSymName()).str();
}

Value TrainStepBuilder::named(TrainedWeight &weight, Value gradient) {
  return NameOp::create(builder, nameCall(forward.getLoc(), gradientName(weight)), gradient.getType(),
                        gradient, (kGradientPrefix + weight.symbol.getSymName()).str(),
                        builder.getStrArrayAttr(weight.dims),
                        /*inner=*/true);
}

/// At the end of `block`, which ends in nothing yet.
FailureOr<MicroBatchValues> TrainStepBuilder::emitMicroBatch(Block &entry, Block &block, ValueRange slices,
                                                             ArrayRef<BlockArgument> wanted) {
  builder.setInsertionPointToEnd(&block);
  IRMapping values = emitForward(entry, slices);
  if (failed(emitDropout(block, values)))
    return failure();
  // Before there is a loop that is none of layers.
  if (trains && failed(recompute.checkNames(block)))
    return failure();
  Value scale = numbers.lookup(FillSource::LossScale), seed;
  if (trains && logits)
    seed = scale ? scale : FloatArithmetic{builder, forward.getLoc()}.number(1);
  SmallVector<LossInChunks::Gradient> known;
  MicroBatchValues found;
  if (logits) {
    FailureOr<Value> loss = emitLoss(values, slices[inputs.size()], seed, known);
    if (failed(loss))
      return failure();
    found.loss = *loss;
  }
  for (const StageValue &value : sent)
    found.sent.push_back(values.lookup(value.value));
  if (!trains)
    return found;
  // Gradients are emitted in front of a terminator that gives the loss, or what its gradient has come to.
  // What it is of does not matter.
  SmallVector<Value> results, seeds;
  if (logits) {
    results.push_back(found.loss);
    seeds.push_back(lossChunks > 1 ? Value() : seed);
  }
  for (auto [value, gradient] : known) {
    results.push_back(value);
    seeds.push_back(gradient);
  }
  llvm::append_range(results, found.sent);
  ValueRange gradientsOfSent = slices.drop_front(inputs.size() + (logits ? 1 : 0) + received.size());
  for (const StageValue &value : sent) {
    seeds.push_back(value.hasGradient() ? gradientsOfSent.front() : Value());
    gradientsOfSent = gradientsOfSent.drop_front(value.hasGradient() ? 1 : 0);
  }
  SmallVector<BlockArgument> all(wanted);
  for (const StageValue &value : received)
    if (value.hasGradient())
      all.push_back(cast<BlockArgument>(values.lookup(value.value)));
  Operation *terminator = YieldOp::create(builder, forward.getLoc(), results);
  FailureOr<SmallVector<Value>> gradients = differentiate(block, seeds, all, recompute);
  if (failed(gradients))
    return failure();
  if (logits)
    found.loss = terminator->getOperand(0);
  OperandRange last = terminator->getOperands().take_back(sent.size());
  found.sent.assign(last.begin(), last.end());
  terminator->erase();
  builder.setInsertionPointToEnd(&block);
  found.gradients.assign(gradients->begin(), gradients->begin() + int64_t(wanted.size()));
  found.sentGradients.assign(gradients->begin() + int64_t(wanted.size()), gradients->end());
  return found;
}

/// Weights are rounded, and named, once a step, not once a micro-batch.
static void hoistCasts(RepeatOp repeat) {
  for (Operation &op : llvm::make_early_inc_range(repeat.getBody(0)))
    if (isa<CastOp, NameOp>(op) && !repeat->isAncestor(op.getOperand(0).getParentRegion()->getParentOp()))
      op.moveBefore(repeat);
}

/// The gradient of a weight of @forward as ranks exchange it: in the type that is chosen for it. Sums
/// over micro-batches are float32, and rounded once.
static Value exchanged(OpBuilder &builder, func::FuncOp forward, TrainedWeight &of, Value gradient) {
  BlockArgument weight = forward.getArgument(of.argument);
  Location loc = nameCall(gradient.getLoc(), ("gradient of " + of.symbol.getSymName()).str());
  FloatArithmetic f{builder, markPartOf(loc, "rounding of a gradient")};
  Type own = getElementTypeOrSelf(gradient);
  for (Operation *reader : weight.getUsers()) {
    Type chosen = reader->getNumResults() == 1 ? chosenGradientType(reader->getResult(0)) : Type();
    if (!chosen || chosen.getIntOrFloatBitWidth() >= own.getIntOrFloatBitWidth())
      continue;
    if (auto cast = gradient.getDefiningOp<CastOp>(); cast && getElementTypeOrSelf(cast.getInput()) == chosen)
      return gradient;
    Value rounded = f.in(gradient, chosen);
    rounded.getDefiningOp()->setAttr(kTermsAttr, TypeAttr::get(chosen));
    return f.in(rounded, own);
  }
  return gradient;
}

FailureOr<MicroBatchValues> TrainStepBuilder::emitMicroBatches(Block &entry, ArrayRef<BlockArgument> wanted) {
  Location loc = forward.getLoc();
  FloatArithmetic f{builder, loc};
  ValueRange read = entry.getArguments().take_front(stacks);
  auto sliceType = [](Value stack) {
    auto type = cast<RankedTensorType>(stack.getType());
    return type.clone(type.getShape().drop_front());
  };
  if (sizes.microBatches == 1 && !isStage) {
    SmallVector<Value> whole = llvm::map_to_vector(
        read, [&](Value stack) -> Value { return ReshapeOp::create(builder, loc, sliceType(stack), stack); });
    FailureOr<MicroBatchValues> found = emitMicroBatch(entry, entry, whole, wanted);
    if (succeeded(found))
      for (auto [weight, gradient] : llvm::zip(weights, found->gradients))
        if (gradient)
          gradient = named(weight, exchanged(builder, forward, weight, gradient));
    return found;
  }
  // Inside an op from the beginning: what is differentiated asks what lies in what.
  auto bare = RepeatOp::create(builder, loc, TypeRange(), sizes.microBatches, ValueRange(), read, 1);
  Block &body = bare.getBodies()[0].emplaceBlock();
  body.addArgument(RankedTensorType::get({}, builder.getI32Type()), loc);
  SmallVector<Value> slices = llvm::map_to_vector(
      read, [&](Value stack) -> Value { return body.addArgument(sliceType(stack), loc); });
  // Gradients are known once they are emitted: what is carried comes between afterwards.
  FailureOr<MicroBatchValues> found = emitMicroBatch(entry, body, slices, wanted);
  if (failed(found))
    return failure();
  SmallVector<Value> next, inits;
  auto addUp = [&](Value value, const std::string &name) {
    Value sum = body.insertArgument(unsigned(1 + next.size()), value.getType(), loc);
    return FloatArithmetic{builder, nameCall(loc, name)}.add(sum, value);
  };
  if (found->loss)
    next.push_back(addUp(found->loss, "loss"));
  for (auto [weight, gradient] : llvm::zip(weights, found->gradients))
    if (gradient)
      next.push_back(named(weight, addUp(gradient, gradientName(weight))));
  SmallVector<Value> yielded(next);
  if (isStage)
    yieldStacks(*found, yielded);
  YieldOp::create(builder, loc, yielded);
  builder.setInsertionPoint(bare);
  for (Value value : next)
    inits.push_back(f.splat(cast<RankedTensorType>(value.getType()), 0));
  SmallVector<Type> types(ValueRange(inits).getTypes());
  for (Value slice : ArrayRef(yielded).drop_front(next.size()))
    types.push_back(stackOf(slice.getType()));
  auto repeat = RepeatOp::create(builder, markPartOf(nameCall(loc, "micro-batch"), "loop over micro-batches"),
                                 types, sizes.microBatches, inits, read, 1);
  if (isStage)
    repeat->setAttr(kMicroBatchesAttr, builder.getUnitAttr());
  repeat.getBodies()[0].takeBody(bare.getBodies()[0]);
  hoistCasts(repeat);
  builder.setInsertionPointToEnd(&entry);
  bare.erase();
  ValueRange results = repeat.getResults();
  auto takeNext = [&] {
    Value result = results.front();
    results = results.drop_front();
    return result;
  };
  if (found->loss)
    found->loss = takeNext();
  for (auto [weight, gradient] : llvm::zip(weights, found->gradients))
    if (gradient)
      gradient = exchanged(builder, forward, weight, takeNext());
  for (Value &value : found->sent)
    value = takeNext();
  for (Value &gradient : found->sentGradients)
    gradient = takeNext();
  return found;
}

} // namespace tessera::graph
