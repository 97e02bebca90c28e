//===- TrainStepAnalysis.cpp - What of @forward can be trained ------------===//
#include "TrainStepBuilder.h"

#include "tessera/Dialect/Graph/Transforms/Dropout.h"

using namespace mlir;

namespace tessera::graph {

LogicalResult TrainStepBuilder::analyzeInput(unsigned argument) {
  auto attr = forward.getArgAttrOfType<FillAttr>(argument, kFillAttr);
  if (attr && takeStageInput(argument, attr.getSource()))
    return success();
  if (!attr || (attr.getSource() != FillSource::TokenIds && attr.getSource() != FillSource::Positions))
    return forward.emitError() << "argument #" << argument
                               << " must say whether token ids or positions fill it: " << kFillAttr
                               << " = #graph.fill<token_ids> or #graph.fill<positions>";
  Value value = forward.getArgument(argument);
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 2 || !type.getElementType().isInteger(32) || positionWise.find(value, "batch") != 0 ||
      positionWise.find(value, "seq") != 1)
    return forward.emitError() << "argument #" << argument << " must be i32 with " << kDimsAttr
                               << " = [\"batch\", \"seq\"]: a step hands it its rows";
  for (auto [other, source] : inputs)
    if (source == attr.getSource())
      return forward.emitError() << "argument #" << argument << " is filled with "
                                 << stringifyFillSource(source) << ", as argument #" << other << " is";
  inputs.push_back({argument, attr.getSource()});
  return success();
}

LogicalResult TrainStepBuilder::analyzeWeight(unsigned argument) {
  Value value = forward.getArgument(argument);
  for (StringRef name : {"batch", "seq"})
    if (positionWise.find(value, name) >= 0)
      return forward.emitError() << "argument #" << argument << " is a parameter with a dimension '" << name
                                 << "', which a step cuts; give the dimension another name";
  StringRef name = argText(forward, argument, kNameAttr);
  auto symbol = forward->getParentOfType<ModuleOp>().lookupSymbol<ParameterOp>(name);
  if (!symbol)
    return forward.emitError() << "argument #" << argument
                               << " is a parameter, but there is no graph.parameter @" << name
                               << " that says where it comes from";
  if (symbol->hasAttr(kStateOfAttr))
    return symbol.emitError() << "is a state already; a step is built of a model without any";
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.getElementType().isF32())
    return forward.emitError() << "argument #" << argument << " (" << name << ") is a weight of "
                               << type.getElementType() << "; weights are trained in f32 so far";
  FailureOr<bool> decaying = decays(symbol);
  if (failed(decaying))
    return failure();
  std::optional<int64_t> copy;
  if (auto number = symbol->getAttrOfType<IntegerAttr>(kCopyAttr))
    copy = number.getInt();
  weights.push_back({argument, symbol, SmallVector<StringRef>(names.names(value)), *decaying, {}, copy});
  return success();
}

/// A stage but the last one sends all that it returns.
LogicalResult TrainStepBuilder::analyzeResults() {
  Operation *terminator = forward.getBody().front().getTerminator();
  auto isSent = [&](unsigned result) {
    auto gives = forward.getResultAttrOfType<GivesAttr>(result, kGivesAttr);
    return gives && gives.getValue() == Gives::Sent;
  };
  if (isStage && forward.getNumResults() > 0 && isSent(0)) {
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      auto name = forward.getResultAttrOfType<StringAttr>(unsigned(i), kNameAttr);
      if (!isSent(unsigned(i)) || !name)
        return forward.emitError() << "result #" << i
                                   << " must say that it is sent, and its name, as #0 does";
      sent.push_back({value, name.str(), SmallVector<StringRef>(names.names(value))});
    }
    return success();
  }
  if (forward.getNumResults() != 1)
    return forward.emitError() << "must be one block that returns the logits alone";
  logits = terminator->getOperand(0);
  if (positionWise.find(logits, "batch") != 0 || positionWise.find(logits, "seq") != 1 ||
      cast<RankedTensorType>(logits.getType()).getRank() != 3)
    return forward.emitError()
           << "must return logits [batch, seq, vocab]; the names of the result's dimensions say otherwise";
  return success();
}

LogicalResult TrainStepBuilder::analyze(int64_t forwardSeq) {
  if (forward.getBody().getBlocks().size() != 1 || (!isStage && forward.getNumResults() != 1))
    return forward.emitError() << "must be one block that returns the logits alone";
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    if (!isa<RankedTensorType>(forward.getArgument(i).getType()))
      return forward.emitError() << "argument #" << i << " must be a ranked tensor";
    std::optional<Kind> kind = argumentKind(forward, i);
    if (kind != Kind::Input && kind != Kind::Parameter)
      return forward.emitError() << "argument #" << i << " must have " << kKindAttr << " input or parameter";
    if (failed(kind == Kind::Input ? analyzeInput(i) : analyzeWeight(i)))
      return failure();
    taken.insert(argText(forward, i, kNameAttr));
  }
  auto isTokens = [](auto &input) { return input.second == FillSource::TokenIds; };
  if (!isStage && llvm::none_of(inputs, isTokens))
    return forward.emitError() << "has no argument that token ids fill: nothing can be trained on";
  if (!isStage && weights.empty())
    return forward.emitError() << "has no parameter: there is nothing to train";
  if (failed(positionWise.checkPassesThrough("batch")) ||
      (sizes.seq != forwardSeq && failed(positionWise.checkPassesThrough("seq"))))
    return failure();
  if (failed(analyzeResults()))
    return failure();
  if (!logits && !forward->hasAttr(kVocabAttr))
    return forward.emitError() << "has no " << kVocabAttr << ", the size of the vocabulary, and no logits";
  return success();
}

TrainAttr TrainStepBuilder::attribute() {
  int64_t vocab = logits ? cast<RankedTensorType>(logits.getType()).getDimSize(2)
                         : forward->getAttrOfType<IntegerAttr>(kVocabAttr).getInt();
  return TrainAttr::get(builder.getContext(), sizes.batch, sizes.seq, sizes.microBatches, vocab,
                        lossScale ? builder.getF64FloatAttr(lossScale) : FloatAttr(), 0,
                        builder.getStringAttr(optimizer.gradientState));
}

LogicalResult TrainStepBuilder::chooseChunks() {
  if (!logits) {
    lossChunks = 1;
    return success();
  }
  PositionWise::Tail found = positionWise.findTail();
  bool drops = llvm::any_of(found.ops, isDropoutSite);
  if (lossChunks == 0 && !found.ops.empty() && !drops) {
    ArrayRef<int64_t> input = cast<RankedTensorType>(found.input.getType()).getShape().drop_front(2);
    lossChunks = chunksOfLoss(sizes.rows(), sizes.seq, ShapedType::getNumElements(input),
                              cast<RankedTensorType>(logits.getType()).getDimSize(2));
  }
  if (lossChunks <= 1)
    return success();
  for (Operation *op : found.ops)
    if (isDropoutSite(op))
      return op->emitOpError() << "drops elements of what leads to the logits alone, and the loss is made in "
                               << lossChunks << " chunks; leave out one of both";
  if (found.ops.empty() || failed(positionWise.checkPassesThrough("seq")))
    return forward.emitError()
           << "cannot make the loss in " << lossChunks
           << " chunks: the logits do not follow from each position by itself; leave loss-chunks out";
  if (sizes.seq % lossChunks != 0)
    return forward.emitError() << "cannot make the loss in " << lossChunks << " chunks: rows have "
                               << sizes.seq << " positions; take a divisor of that";
  tail = std::move(found);
  return success();
}

} // namespace tessera::graph
