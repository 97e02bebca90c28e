//===- BuildTrainStep.cpp - @forward to @train and @evaluate --------------===//
#include "Differentiator.h"
#include "FloatArithmetic.h"
#include "TrainStepBuilder.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/RowNumbers.h"
#include "tessera/Dialect/Graph/Transforms/Differentiate.h"
#include "tessera/Dialect/Graph/Transforms/Documents.h"
#include "tessera/Dialect/Graph/Transforms/Dropout.h"
#include "tessera/Dialect/Graph/Transforms/ModelFlops.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Precision.h"

#include "mlir/IR/Remarks.h"

#include <cmath>

namespace tessera::graph {
#define GEN_PASS_DEF_BUILDTRAINSTEP
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Port TrainStepBuilder::rowsPort(StringRef name, FillSource source) {
  return {RankedTensorType::get({sizes.microBatches, sizes.rows(), sizes.seq}, builder.getI32Type()),
          Kind::Input,
          name.str(),
          {"micro", "batch", "seq"},
          fill(source)};
}

Port TrainStepBuilder::numberPort(FillSource source) {
  Type type = source == FillSource::DropoutKey ? Type(builder.getI64Type()) : builder.getF32Type();
  return {RankedTensorType::get({}, type),
          Kind::Input,
          freeName(stringifyFillSource(source), taken),
          {},
          fill(source)};
}

Port TrainStepBuilder::weightPort(const TrainedWeight &weight, StringRef name, Kind kind) {
  return {forward.getArgument(weight.argument).getType(), kind, name.str(), weight.dims};
}

/// Rows of all micro-batches (those of @forward, then targets), the weight of a token, `numbers`.
SmallVector<Port> TrainStepBuilder::inputPorts(ArrayRef<FillSource> numbers) {
  SmallVector<Port> ports;
  for (auto [argument, source] : inputs)
    ports.push_back(rowsPort(argText(forward, argument, kNameAttr), source));
  ports.push_back(rowsPort(freeName("targets", taken), FillSource::Targets));
  ports.push_back(numberPort(FillSource::TokenWeight));
  for (FillSource source : numbers)
    ports.push_back(numberPort(source));
  return ports;
}

/// Starts function `name` before @forward, and finds its numbers.
func::FuncOp TrainStepBuilder::begin(StringRef name, Role role, ArrayRef<Port> ports) {
  SmallVector<Type> types = llvm::map_to_vector(ports, [](const Port &port) { return port.type; });
  builder.setInsertionPoint(forward);
  auto function = func::FuncOp::create(builder, forward.getLoc(), name, builder.getFunctionType(types, {}));
  function.setAllArgAttrs(
      llvm::map_to_vector(ports, [&](const Port &port) { return port.attributes(builder); }));
  function->setAttr(kRoleAttr, RoleAttr::get(builder.getContext(), role));
  Block *entry = function.addEntryBlock();
  numbers.clear();
  for (auto [port, argument] : llvm::zip_equal(ports, entry->getArguments()))
    if (port.fact && port.dims.empty())
      numbers[cast<FillAttr>(port.fact->getValue()).getSource()] = argument;
  builder.setInsertionPointToEnd(entry);
  return function;
}

void TrainStepBuilder::end(func::FuncOp function, ArrayRef<Value> values, ArrayRef<Port> results) {
  func::ReturnOp::create(builder, forward.getLoc(), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(
      llvm::map_to_vector(results, [&](const Port &port) { return port.attributes(builder); }));
}

IRMapping TrainStepBuilder::emitForward(Block &entry, ValueRange rows) {
  IRMapping mapping;
  Value positions, keys;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(forward.getArgument(input.first), rows[i]);
    if (input.second == FillSource::Positions) {
      positions = rows[i];
      keys = keysOfDocuments(builder, forward.getLoc(), positions);
    }
  }
  size_t firstWeight = inputs.size() + 1 + numbers.size();
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
  Location loc = markPart(nameCall(forward.getLoc(), "loss"), StepPart::Loss);
  Value logits = forward.getBody().front().getTerminator()->getOperand(0);
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
  DropoutInputs inputs{numbers.lookup(FillSource::DropoutKey), numbers.lookup(FillSource::Dropout), {}};
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

/// At the end of `block`, which ends in nothing yet: the loss of `rows` and its gradients, null where there
/// is none.
FailureOr<SmallVector<Value>> TrainStepBuilder::emitMicroBatch(Block &entry, Block &block, ValueRange rows,
                                                               ArrayRef<BlockArgument> wanted) {
  builder.setInsertionPointToEnd(&block);
  IRMapping values = emitForward(entry, rows);
  if (failed(emitDropout(block, values)))
    return failure();
  // Before there is a loop that is none of layers.
  if (!wanted.empty() && failed(recompute.checkNames(block)))
    return failure();
  Value scale = numbers.lookup(FillSource::LossScale), seed;
  if (!wanted.empty())
    seed = scale ? scale : FloatArithmetic{builder, forward.getLoc()}.number(1);
  SmallVector<LossInChunks::Gradient> known;
  FailureOr<Value> loss = emitLoss(values, rows.back(), seed, known);
  if (failed(loss))
    return failure();
  SmallVector<Value> results{*loss};
  if (wanted.empty())
    return results;
  // Gradients are emitted in front of a terminator that gives the loss, or what its gradient has come to.
  // What it is of does not matter.
  SmallVector<Value> seeds{lossChunks > 1 ? Value() : seed};
  for (auto [value, gradient] : known) {
    results.push_back(value);
    seeds.push_back(gradient);
  }
  Operation *terminator = YieldOp::create(builder, forward.getLoc(), results);
  FailureOr<SmallVector<Value>> gradients = differentiate(block, seeds, wanted, recompute);
  if (failed(gradients))
    return failure();
  results.assign(1, terminator->getOperand(0));
  terminator->erase();
  builder.setInsertionPointToEnd(&block);
  llvm::append_range(results, *gradients);
  return results;
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
  FloatArithmetic f{builder, nameCall(gradient.getLoc(), ("gradient of " + of.symbol.getSymName()).str())};
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

/// The loss of the step, and sums of gradients over micro-batches; null where the loss depends on none.
FailureOr<SmallVector<Value>> TrainStepBuilder::emitMicroBatches(Block &entry,
                                                                 ArrayRef<BlockArgument> wanted) {
  Location loc = forward.getLoc();
  FloatArithmetic f{builder, loc};
  ValueRange stacks = entry.getArguments().take_front(inputs.size() + 1);
  auto rows = RankedTensorType::get({sizes.rows(), sizes.seq}, builder.getI32Type());
  if (sizes.microBatches == 1) {
    SmallVector<Value> whole = llvm::map_to_vector(
        stacks, [&](Value stack) -> Value { return ReshapeOp::create(builder, loc, rows, stack); });
    FailureOr<SmallVector<Value>> found = emitMicroBatch(entry, entry, whole, wanted);
    if (succeeded(found))
      for (auto [weight, gradient] : llvm::zip(weights, llvm::MutableArrayRef(*found).drop_front()))
        if (gradient)
          gradient = named(weight, exchanged(builder, forward, weight, gradient));
    return found;
  }
  // Inside an op from the beginning: what is differentiated asks what lies in what.
  auto bare = RepeatOp::create(builder, loc, TypeRange(), sizes.microBatches, ValueRange(), stacks, 1);
  Block &body = bare.getBodies()[0].emplaceBlock();
  body.addArgument(RankedTensorType::get({}, builder.getI32Type()), loc);
  SmallVector<Value> slices =
      llvm::map_to_vector(stacks, [&](Value) -> Value { return body.addArgument(rows, loc); });
  // Gradients are known once they are emitted: what is carried comes between afterwards.
  FailureOr<SmallVector<Value>> found = emitMicroBatch(entry, body, slices, wanted);
  if (failed(found))
    return failure();
  SmallVector<Value> next, inits, results(found->size());
  SmallVector<size_t> carried;
  for (auto [i, value] : llvm::enumerate(*found)) {
    if (!value)
      continue;
    Value sum = body.insertArgument(unsigned(1 + carried.size()), value.getType(), loc);
    carried.push_back(i);
    std::string name = i == 0 ? "loss" : gradientName(weights[i - 1]);
    Value added = FloatArithmetic{builder, nameCall(loc, name)}.add(sum, value);
    next.push_back(i == 0 ? added : named(weights[i - 1], added));
  }
  YieldOp::create(builder, loc, next);
  builder.setInsertionPoint(bare);
  for (Value value : next)
    inits.push_back(f.splat(cast<RankedTensorType>(value.getType()), 0));
  auto repeat = RepeatOp::create(builder, nameCall(loc, "micro-batch"), ValueRange(inits).getTypes(),
                                 sizes.microBatches, inits, stacks, 1);
  repeat.getBodies()[0].takeBody(bare.getBodies()[0]);
  hoistCasts(repeat);
  builder.setInsertionPointToEnd(&entry);
  bare.erase();
  for (auto [i, result] : llvm::zip_equal(carried, repeat.getResults()))
    results[i] = i == 0 ? result : exchanged(builder, forward, weights[i - 1], result);
  return results;
}

LogicalResult TrainStepBuilder::buildTrain() {
  Location loc = forward.getLoc();
  SmallVector<FillSource> sources(optimizer.hyperparameters);
  sources.push_back(FillSource::Clip);
  if (lossScale)
    sources.push_back(FillSource::LossScale);
  bool drops = !dropoutSites(forward.getBody().front()).empty();
  if (drops)
    llvm::append_range(sources, ArrayRef{FillSource::DropoutKey, FillSource::Dropout});
  SmallVector<Port> ports = inputPorts(sources);
  unsigned firstWeight = unsigned(ports.size());
  for (TrainedWeight &weight : weights)
    ports.push_back(weightPort(weight, weight.symbol.getSymName()));
  func::FuncOp function =
      drops ? begin("train_dropout", Role::TrainDropout, ports) : begin("train", Role::Train, ports);
  Block &entry = function.getBody().front();
  FailureOr<SmallVector<Value>> found =
      emitMicroBatches(entry, entry.getArguments().slice(firstWeight, weights.size()));
  if (failed(found))
    return failure();
  ArrayRef<Value> gradients = ArrayRef<Value>(*found).drop_front();
  SmallVector<Value> known;
  llvm::copy_if(gradients, std::back_inserter(known), [](Value gradient) { return bool(gradient); });

  FloatArithmetic f{builder, loc};
  // Gradients of the loss times its scale, which is taken back in the first thing that reads them.
  Value scaled = numbers.lookup(FillSource::LossScale), inverse;
  if (scaled) {
    inverse = f.div(f.number(1), scaled);
    for (Value &gradient : known)
      gradient = f.mul(gradient, inverse);
  }
  Value norm = globalNorm(builder, nameCall(loc, "grad_norm"), known);
  Value scale = clippingScale(builder, loc, norm, numbers.lookup(FillSource::Clip));
  // A step whose loss or norm is not finite changes nothing: both are known to every rank.
  Value isFinite = f.isFinite(f.add(norm, found->front()));
  if (scaled)
    scale = f.mul(scale, inverse);
  SmallVector<Value> values{found->front(), norm};
  SmallVector<Port> results{gives("loss", Gives::Loss), gives("grad_norm", Gives::GradNorm)};
  for (auto [i, weight, gradient] : llvm::enumerate(weights, gradients)) {
    StringRef name = weight.symbol.getSymName();
    if (!gradient) {
      remark::missed(loc, remark::RemarkOpts::name("gradient").category("graph"))
          << llvm::formatv("{0} has no gradient: the loss does not depend on it, and it stays as it is", name)
                 .str();
      continue;
    }
    addStates(weight, optimizer, moments);
    WeightUpdate update{
        entry.getArgument(unsigned(firstWeight + i)), f.mul(gradient, scale), {}, weight.decays};
    SmallVector<Value> before{update.weight};
    for (ParameterOp state : weight.states) {
      Port port = weightPort(weight, state.getSymName());
      port.type = state.getType();
      unsigned number = function.getNumArguments();
      if (failed(function.insertArgument(number, port.type, port.attributes(builder), loc)))
        return failure();
      before.push_back(f.in(function.getArgument(number), builder.getF32Type()));
      update.states.push_back(before.back());
    }
    Location named = nameCall(loc, name);
    optimizer.update(builder, named, numbers, update);
    SmallVector<Value> after{update.weight};
    llvm::append_range(after, update.states);
    for (auto [next, present] : llvm::zip_equal(after, before))
      next = SelectOp::create(builder, named, next.getType(), isFinite, next, present);
    results.push_back(weightPort(weight, name));
    for (auto [state, value] : llvm::zip_equal(weight.states, MutableArrayRef<Value>(after).drop_front())) {
      value = f.in(value, moments);
      results.push_back(weightPort(weight, state.getSymName()));
    }
    llvm::append_range(values, after);
  }
  end(function, values, results);
  return success();
}

void TrainStepBuilder::buildEvaluate() {
  SmallVector<Port> ports = inputPorts({});
  for (TrainedWeight &weight : weights)
    ports.push_back(weightPort(weight, weight.symbol.getSymName()));
  func::FuncOp function = begin("evaluate", Role::Evaluate, ports);
  // Nothing that is wanted can fail.
  SmallVector<Value> values = *emitMicroBatches(function.getBody().front(), {});
  end(function, values, {gives("loss", Gives::Loss)});
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct BuildTrainStep : graph::impl::BuildTrainStepBase<BuildTrainStep> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward || forward.isExternal())
      return module.emitError() << "has no func @forward";
    const Optimizer *chosen = findOptimizer(optimizer);
    if (!chosen)
      return module.emitError() << "cannot be trained with optimizer " << optimizer << ": it is none of "
                                << optimizerNames();
    FloatType kept = floatTypeOf(&getContext(), moments);
    if (!kept)
      return module.emitError() << "cannot keep moments in " << moments << ": expected f32, bf16 or f16";
    if (!(lossScale >= 0 && std::isfinite(lossScale)))
      return module.emitError() << "cannot scale the loss with " << lossScale
                                << ": expected a positive number";
    DimNames names(module);
    PositionWise positionWise(forward, names);
    int64_t rows = 0, positions = 0;
    for (BlockArgument arg : forward.getArguments())
      if (int b = positionWise.find(arg, "batch"), s = positionWise.find(arg, "seq"); b >= 0 && s >= 0) {
        rows = cast<RankedTensorType>(arg.getType()).getDimSize(unsigned(b));
        positions = cast<RankedTensorType>(arg.getType()).getDimSize(unsigned(s));
      }
    if (positions == 0)
      return forward.emitError() << "has no argument with " << kDimsAttr << " [\"batch\", \"seq\"]";
    TrainSizes sizes{batch == 0 ? rows : batch, maxSeqLen == 0 ? positions : maxSeqLen, microBatches};
    if (sizes.batch < 1 || sizes.microBatches < 1 || sizes.microBatches > sizes.batch)
      return forward.emitError() << "cannot run " << sizes.batch << " rows in " << sizes.microBatches
                                 << " micro-batches: expected at least one row in each";
    if (sizes.seq < 1 || sizes.seq > positions)
      return forward.emitError() << "cannot run rows of " << sizes.seq << " positions: expected 1 to "
                                 << positions << ", the size of 'seq'";
    for (StringRef name : {"train", "train_dropout", "evaluate"})
      if (Operation *taken = module.lookupSymbol(name))
        return emitError(taken->getLoc())
               << "taken name (@" << name << "): a function of the step is called so; rename this "
               << taken->getName().stripDialect();
    TrainStepBuilder step(forward, names, sizes, *chosen, kept, lossScale, Recompute::parse(recompute),
                          lossChunks);
    if (failed(step.analyze(positions)) || failed(step.chooseChunks()) || failed(step.buildTrain()))
      return failure();
    step.buildEvaluate();
    module->setAttr(kTrainAttr, withModelFlops(step.attribute(), module.lookupSymbol("evaluate")));
    forward.erase();
    return success();
  }
};
} // namespace
