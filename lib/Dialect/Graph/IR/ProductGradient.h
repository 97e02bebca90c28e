//===- ProductGradient.h - What gradients of products share -----*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_IR_PRODUCTGRADIENT_H
#define TESSERA_LIB_DIALECT_GRAPH_IR_PRODUCTGRADIENT_H

#include "GradientProgram.h"

namespace tessera::graph::inner {

/// The type that an op's product is computed in: of its first two operands the wider one. A gradient is
/// rounded to it first, as what it is multiplied with was.
inline mlir::Value asFactor(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value gradient) {
  mlir::Type x = typeOf(op->getOperand(0)).getElementType(), y = typeOf(op->getOperand(1)).getElementType();
  mlir::Type wider = x.getIntOrFloatBitWidth() >= y.getIntOrFloatBitWidth() ? x : y;
  if (typeOf(gradient).getElementType().getIntOrFloatBitWidth() <= wider.getIntOrFloatBitWidth())
    return gradient;
  return GradientProgram(builder, op).cast(gradient, wider);
}

/// Of the gradient of `operand`: sums that go on as they are where it is that of a wider value.
inline mlir::RankedTensorType gradientType(mlir::Value operand) {
  return mlir::RankedTensorType::get(typeOf(operand).getShape(), gradientElementType(operand));
}

} // namespace tessera::graph::inner
#endif
