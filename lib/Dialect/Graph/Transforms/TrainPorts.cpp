//===- TrainPorts.cpp -----------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/TrainPorts.h"

using namespace mlir;

namespace tessera::graph {

FailureOr<bool> decays(ParameterOp parameter) {
  std::optional<bool> decays;
  for (auto source : parameter.getSources().getAsRange<SourceAttr>()) {
    bool isMatrix = source.getFile().size() >= 2;
    if (decays && *decays != isMatrix)
      return parameter.emitError() << "comes from tensors of one dimension and of more: weight decay is for "
                                      "the latter alone; make it two parameters";
    decays = isMatrix;
  }
  return *decays;
}

void addStates(TrainedWeight &weight, const Optimizer &optimizer, FloatType type) {
  ParameterOp symbol = weight.symbol;
  OpBuilder builder(symbol->getContext());
  builder.setInsertionPointAfter(symbol);
  symbol.setVariable(true);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(symbol.getType()).getShape();
  for (StringRef state : optimizer.states) {
    auto op = ParameterOp::create(builder, symbol.getLoc(),
                                  builder.getStringAttr(state + "." + symbol.getSymName()),
                                  TypeAttr::get(RankedTensorType::get(shape, type)), symbol.getStackedAttr(),
                                  symbol.getSourcesAttr(), builder.getUnitAttr());
    op->setAttr(kStateOfAttr, StateOfAttr::get(builder.getContext(), builder.getStringAttr(state),
                                               FlatSymbolRefAttr::get(symbol.getSymNameAttr())));
    weight.states.push_back(op);
  }
}

} // namespace tessera::graph
