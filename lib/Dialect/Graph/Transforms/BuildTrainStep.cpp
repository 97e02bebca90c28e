//===- BuildTrainStep.cpp - @forward to @train and @evaluate --------------===//
#include "FloatArithmetic.h"
#include "TrainStepBuilder.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
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
  if (logits)
    ports.push_back(rowsPort(freeName("targets", taken), FillSource::Targets));
  if (isStage)
    addStackPorts(ports);
  stacks = ports.size();
  if (isStage)
    addSumPorts(ports);
  if (logits)
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
  stageInputs.clear();
  givenPorts.clear();
  given.clear();
  firstWeight = unsigned(ports.size());
  for (auto [port, argument] : llvm::zip_equal(ports, entry->getArguments())) {
    if (port.kind == Kind::Parameter)
      firstWeight = std::min(firstWeight, argument.getArgNumber());
    if (!port.fact)
      continue;
    FillSource source = cast<FillAttr>(port.fact->getValue()).getSource();
    if (source == FillSource::StageSum || source == FillSource::SharedGradient)
      stageInputs[port.name] = argument;
    else if (port.dims.empty())
      numbers[source] = argument;
  }
  builder.setInsertionPointToEnd(entry);
  return function;
}

void TrainStepBuilder::end(func::FuncOp function, ArrayRef<Value> values, ArrayRef<Port> results) {
  func::ReturnOp::create(builder, forward.getLoc(), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(
      llvm::map_to_vector(results, [&](const Port &port) { return port.attributes(builder); }));
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
  trains = true;
  SmallVector<Port> ports = inputPorts(sources);
  for (TrainedWeight &weight : weights)
    ports.push_back(weightPort(weight, weight.symbol.getSymName()));
  func::FuncOp function =
      drops ? begin("train_dropout", Role::TrainDropout, ports) : begin("train", Role::Train, ports);
  Block &entry = function.getBody().front();
  FailureOr<MicroBatchValues> found =
      emitMicroBatches(entry, entry.getArguments().slice(firstWeight, weights.size()));
  if (failed(found))
    return failure();
  if (isStage) {
    sendStacks(*found);
    addSharedGradients(found->gradients);
  }
  // A parameter that two stages have counts in the first of them.
  SmallVector<Value> known;
  for (auto [weight, gradient] : llvm::zip_equal(weights, found->gradients))
    if (gradient && weight.copy.value_or(0) == 0)
      known.push_back(gradient);

  FloatArithmetic f{builder, markPartOf(loc, "optimizer")};
  // Gradients of the loss times its scale, which is taken back in the first thing that reads them.
  Value scaled = numbers.lookup(FillSource::LossScale), inverse;
  if (scaled) {
    inverse = f.div(f.number(1), scaled);
    for (Value &gradient : known)
      gradient = f.mul(gradient, inverse);
  }
  FloatArithmetic ofNorm{builder, nameCall(markPartOf(loc, "norm of the gradients"), "grad_norm")};
  Value loss = found->loss, squares = sumOfSquares(builder, ofNorm.loc, known);
  if (isStage) {
    loss = sumOverStages(kLossSum, loss);
    squares = sumOverStages(kNormSum, squares);
  }
  Value norm = ofNorm.sqrt(squares);
  Value scale = clippingScale(builder, loc, norm, numbers.lookup(FillSource::Clip));
  // A step whose loss or norm is not finite changes nothing: both are known to every rank.
  Value isFinite = f.isFinite(f.add(norm, loss));
  if (scaled)
    scale = f.mul(scale, inverse);
  SmallVector<Value> values{loss, norm};
  SmallVector<Port> results{gives("loss", Gives::Loss), gives("grad_norm", Gives::GradNorm)};
  llvm::append_range(values, given);
  llvm::append_range(results, givenPorts);
  for (auto [i, weight, gradient] : llvm::enumerate(weights, found->gradients)) {
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
  trains = false;
  SmallVector<Port> ports = inputPorts({});
  for (TrainedWeight &weight : weights)
    ports.push_back(weightPort(weight, weight.symbol.getSymName()));
  func::FuncOp function = begin("evaluate", Role::Evaluate, ports);
  // Nothing that is wanted can fail.
  MicroBatchValues found = *emitMicroBatches(function.getBody().front(), {});
  SmallVector<Value> values{found.loss};
  SmallVector<Port> results{gives("loss", Gives::Loss)};
  if (isStage) {
    sendStacks(found);
    values.front() = sumOverStages(kLossSum, found.loss);
    llvm::append_range(values, given);
    llvm::append_range(results, givenPorts);
  }
  end(function, values, results);
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
    auto [rows, positions] = PositionWise(forward, names).sizes();
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
