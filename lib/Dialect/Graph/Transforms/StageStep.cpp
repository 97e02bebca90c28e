//===- StageStep.cpp - What a stage's step takes and gives besides --------===//
//
// The step of a stage of a pipeline is that of a model that begins with what it receives and ends with what
// it sends: docs/Pipelines.md, "The step of a stage".
//
//===----------------------------------------------------------------------===//
#include "FloatArithmetic.h"
#include "TrainStepBuilder.h"

using namespace mlir;

namespace tessera::graph {

bool TrainStepBuilder::takeStageInput(unsigned argument, FillSource source) {
  if (!isStage || (source != FillSource::Received && source != FillSource::FirstLayer))
    return false;
  BlockArgument value = forward.getArgument(argument);
  if (source == FillSource::FirstLayer)
    firstLayer = argument;
  else
    received.push_back(
        {value, argText(forward, argument, kNameAttr).str(), SmallVector<StringRef>(names.names(value))});
  return true;
}

RankedTensorType TrainStepBuilder::stackOf(Type slice) {
  auto type = cast<RankedTensorType>(slice);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), sizes.microBatches);
  return type.clone(shape);
}

Port TrainStepBuilder::stackPort(const StageValue &value, const Twine &name, Kind kind, NamedAttribute fact) {
  SmallVector<StringRef> dims{"micro"};
  auto type = cast<RankedTensorType>(positionWise.resized(value.value, sizes.rows(), sizes.seq));
  dims.append(value.dims.begin(), value.dims.end());
  dims.resize(size_t(type.getRank()) + 1); // of a value without names
  return {stackOf(type), kind, name.str(), dims, fact};
}

void TrainStepBuilder::addStackPorts(SmallVectorImpl<Port> &ports) {
  for (const StageValue &value : received)
    ports.push_back(stackPort(value, value.name, Kind::Input, fill(FillSource::Received)));
  for (const StageValue &value : sent)
    if (trains && value.hasGradient())
      ports.push_back(
          stackPort(value, kGradientPrefix + value.name, Kind::Input, fill(FillSource::ReceivedGradient)));
}

static std::string sharedName(const TrainedWeight &weight) {
  return (kSharedPrefix + ParameterOp(weight.symbol).getSymName()).str();
}

void TrainStepBuilder::addSumPorts(SmallVectorImpl<Port> &ports) {
  auto scalar = [&](Type type, StringRef name, FillSource source) {
    ports.push_back({RankedTensorType::get({}, type), Kind::Input, name.str(), {}, fill(source)});
  };
  if (firstLayer)
    scalar(builder.getI32Type(), argText(forward, *firstLayer, kNameAttr), FillSource::FirstLayer);
  scalar(builder.getF32Type(), kLossSum, FillSource::StageSum);
  if (!trains)
    return;
  scalar(builder.getF32Type(), kNormSum, FillSource::StageSum);
  for (const TrainedWeight &weight : weights)
    if (weight.copy) {
      Port port = weightPort(weight, sharedName(weight), Kind::Input);
      port.fact = fill(FillSource::SharedGradient);
      ports.push_back(port);
    }
}

/// At the end of a micro-batch: slices of the stacks that the loop over them returns.
void TrainStepBuilder::yieldStacks(MicroBatchValues &found, SmallVectorImpl<Value> &yielded) {
  llvm::append_range(yielded, found.sent);
  size_t next = 0;
  for (const StageValue &value : received) {
    if (!trains || !value.hasGradient())
      continue;
    Value &gradient = found.sentGradients[next++];
    FloatArithmetic f{builder, forward.getLoc()};
    auto type = cast<RankedTensorType>(positionWise.resized(value.value, sizes.rows(), sizes.seq));
    // The stage before waits for it in any case.
    gradient = gradient ? f.in(gradient, type.getElementType())
                        : Value(ConstantOp::create(builder, forward.getLoc(), type,
                                                   cast<ElementsAttr>(builder.getZeroAttr(type))));
    yielded.push_back(gradient);
  }
}

void TrainStepBuilder::sendStacks(const MicroBatchValues &found) {
  for (auto [value, stack] : llvm::zip_equal(sent, found.sent))
    give(stackPort(value, value.name, Kind::Output, givesFact(Gives::Sent)), stack);
  ArrayRef<Value> gradients = found.sentGradients;
  for (const StageValue &value : received)
    if (trains && value.hasGradient()) {
      give(stackPort(value, kGradientPrefix + value.name, Kind::Output, givesFact(Gives::SentGradient)),
           gradients.front());
      gradients = gradients.drop_front();
    }
}

void TrainStepBuilder::addSharedGradients(MutableArrayRef<Value> gradients) {
  FloatArithmetic f{builder, forward.getLoc()};
  for (auto [weight, gradient] : llvm::zip_equal(weights, gradients)) {
    if (!weight.copy)
      continue;
    Port port = weightPort(weight, sharedName(weight), Kind::Output);
    port.fact = givesFact(Gives::SharedGradient);
    if (!gradient)
      gradient = f.splat(cast<RankedTensorType>(port.type), 0);
    give(port, gradient);
    // The order of two terms does not matter: both stages have the same bits.
    gradient = f.add(gradient, stageInputs.lookup(port.name));
  }
}

Value TrainStepBuilder::sumOverStages(StringRef name, Value own) {
  if (own)
    give({own.getType(), Kind::Output, name.str(), {}, givesFact(Gives::StageSum)}, own);
  return stageInputs.lookup(name);
}

} // namespace tessera::graph
