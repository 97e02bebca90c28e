//===- ShardableValue.cpp - Values that names seed with shardings ----------------===//
#include "Annotate/ShardableValue.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// Values of a class have a largest dimension, and so has the class.
static void addClass(std::map<StringRef, SmallVector<StringRef>> &dims, const ShardableValue &subject) {
  if (subject.valueClass.empty())
    return;
  SmallVector<StringRef> &list = dims[subject.valueClass];
  list.append(subject.dims.begin(), subject.dims.end());
  list.push_back(kLargest);
  dims[subject.name].push_back(kLargest);
}

ShardableValues::ShardableValues(ModuleOp module, const DimNames &names) : module(module), names(names) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
      if (name && graph::resultKind(function, i) == graph::Kind::Output)
        outputs.insert(name);
    }
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument arg : function.getArguments())
      if (isa<RankedTensorType>(arg.getType())) {
        ShardableValue subject = of(function, arg);
        valueDims[subject.name].append(subject.dims.begin(), subject.dims.end());
        addClass(valueDims, subject);
        if (subject.isHeld && !subject.isWeight)
          states.insert(subject.name);
        if (subject.isHeld)
          largestBytes = std::max(largestBytes, subject.bytes);
      }
  module.walk([&](graph::NameOp op) {
    ArrayRef<StringRef> dims = names.names(op.getResult());
    valueDims[op.getName()].append(dims.begin(), dims.end());
    addClass(valueDims, of(op));
    named.insert(op.getName());
  });
}

ShardableValue ShardableValues::of(func::FuncOp function, BlockArgument arg) const {
  unsigned i = arg.getArgNumber();
  ShardableValue subject{arg.getLoc(), {}, {}, {}};
  if (auto name = function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr))
    subject.name = name;
  subject.dims = llvm::to_vector(names.names(arg));
  subject.shape = llvm::to_vector(cast<RankedTensorType>(arg.getType()).getShape());
  subject.dims.resize(subject.shape.size());
  std::optional<graph::Kind> kind = graph::argumentKind(arg);
  subject.isWeight = kind == graph::Kind::Parameter;
  if (subject.isWeight) {
    auto parameter = module.lookupSymbol<graph::ParameterOp>(subject.name);
    subject.valueClass = parameter && parameter->hasAttr(graph::kStateOfAttr) ? kStates : kWeights;
  }
  subject.isInput = kind == graph::Kind::Input;
  subject.isHeld = subject.isWeight || kind == graph::Kind::State;
  subject.bytes = tensorBytes(arg.getType());
  // What another function of the program gives lies as that one leaves it, and as names want.
  subject.isDecided = !subject.isInput || !outputs.count(subject.name);
  if (auto fill = function.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr))
    if (fill.getSource() == graph::FillSource::Received ||
        fill.getSource() == graph::FillSource::ReceivedGradient ||
        fill.getSource() == graph::FillSource::SharedGradient)
      exchange(subject, fill.getSource() == graph::FillSource::SharedGradient);
  return subject;
}

void ShardableValues::exchange(ShardableValue &subject, bool isShared) const {
  subject.isExchanged = subject.isDecided = true;
  subject.isInput = false; // the host has nothing to hand out
  if (isShared) {
    // Where its sum with the other stage's is read.
    subject.name.consume_front(graph::kSharedPrefix);
    subject.isWeight = true;
    subject.valueClass = kWeights;
  } else {
    subject.name.consume_front(graph::kGradientPrefix);
  }
}

ShardableValue ShardableValues::ofResult(func::FuncOp function, unsigned result, RankedTensorType type) {
  ShardableValue subject{function.getLoc(), {}, {}, {}};
  if (auto name = function.getResultAttrOfType<StringAttr>(result, graph::kNameAttr))
    subject.name = name;
  if (auto dims = function.getResultAttrOfType<ArrayAttr>(result, graph::kDimsAttr))
    for (auto dim : dims.getAsRange<StringAttr>())
      subject.dims.push_back(dim);
  subject.shape = llvm::to_vector(type.getShape());
  subject.dims.resize(subject.shape.size());
  subject.bytes = tensorBytes(type);
  return subject;
}

static bool isSent(graph::GivesAttr gives) {
  return gives && (gives.getValue() == graph::Gives::Sent || gives.getValue() == graph::Gives::SentGradient ||
                   gives.getValue() == graph::Gives::SharedGradient);
}

std::optional<ShardableValue> ShardableValues::ofSent(func::FuncOp function, unsigned result) const {
  auto gives = function.getResultAttrOfType<graph::GivesAttr>(result, graph::kGivesAttr);
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[result]);
  if (!isSent(gives) || !type)
    return std::nullopt;
  ShardableValue subject = ofResult(function, result, type);
  exchange(subject, gives.getValue() == graph::Gives::SharedGradient);
  return subject;
}

std::optional<ShardableValue> ShardableValues::ofOutput(func::FuncOp function, unsigned result) const {
  auto gives = function.getResultAttrOfType<graph::GivesAttr>(result, graph::kGivesAttr);
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[result]);
  if (isSent(gives) || !type || graph::resultKind(function, result) != graph::Kind::Output)
    return std::nullopt;
  return ofResult(function, result, type);
}

ShardableValue ShardableValues::of(graph::NameOp op) const {
  ShardableValue subject{op.getLoc(), op.getName(), {}, {}};
  if (Operation *maker = op.getInput().getDefiningOp())
    subject.maker = maker->getName().getStringRef();
  subject.dims = llvm::to_vector(names.names(op.getResult()));
  subject.shape = llvm::to_vector(op.getType().getShape());
  subject.bytes = tensorBytes(op.getType());
  subject.dims.resize(subject.shape.size());
  // What a training step calls so (docs/TrainStep.md).
  StringRef of = op.getName();
  if (of.consume_front(graph::kGradientPrefix) && module.lookupSymbol<graph::ParameterOp>(of))
    subject.valueClass = kGradients;
  else if (of.consume_front(graph::kComputedPrefix) && module.lookupSymbol<graph::ParameterOp>(of))
    subject.valueClass = kComputed;
  return subject;
}

bool ShardableValues::hasGroup(StringRef value) const {
  return llvm::any_of(valueDims, [&](const auto &entry) {
    return (value.empty() || entry.first == value) && llvm::is_contained(entry.second, kGroup);
  });
}
