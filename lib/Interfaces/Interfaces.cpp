//===- Interfaces.cpp - What every op of ours can say about itself --------===//
#include "tessera/Interfaces/Interfaces.h"

using namespace mlir;

#include "tessera/Interfaces/CostOpInterface.cpp.inc"
#include "tessera/Interfaces/DecomposableOpInterface.cpp.inc"
#include "tessera/Interfaces/DerivativeOpInterface.cpp.inc"
#include "tessera/Interfaces/DropOpInterface.cpp.inc"
#include "tessera/Interfaces/ElementwiseOpInterface.cpp.inc"
#include "tessera/Interfaces/PositionMixingOpInterface.cpp.inc"
#include "tessera/Interfaces/ReferenceOpInterface.cpp.inc"
#include "tessera/Interfaces/SameElementsOpInterface.cpp.inc"
#include "tessera/Interfaces/ShardingRuleOpInterface.cpp.inc"
#include "tessera/Support/TypeSizes.h"

double tessera::tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  double elements = 1;
  for (int64_t size : tensor.getShape())
    elements *= double(size);
  return elements * double(elementBytes(tensor));
}

tessera::OpCost tessera::streamingCost(Operation *op, double flops) {
  OpCost cost;
  cost.flops = flops;
  for (Type type : op->getOperandTypes())
    cost.bytesRead += tensorBytes(type);
  for (Type type : op->getResultTypes())
    cost.bytesWritten += tensorBytes(type);
  return cost;
}
