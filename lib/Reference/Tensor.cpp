//===- Tensor.cpp - Values of the reference interpreter -------------------===//
#include "tessera/Reference/Tensor.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

ReferenceTensor::ReferenceTensor(RankedTensorType type)
    : ReferenceTensor(type.getElementType(), type.getShape()) {}

ReferenceTensor::ReferenceTensor(Type elementType, llvm::ArrayRef<int64_t> shape)
    : elementType(elementType), shape(shape.begin(), shape.end()) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  if (isFloat())
    f.assign(size_t(elements), 0.0);
  else
    i.assign(size_t(elements), 0);
}

llvm::SmallVector<int64_t> ReferenceTensor::strides() const {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Rounds to nearest even with `precision` significant bits, gradual underflow below 2^minExponent and
/// overflow above `largest`.
static double roundTo(double x, int precision, int minExponent, double largest) {
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent; // x = m * 2^exponent with 0.5 <= |m| < 1
  std::frexp(x, &exponent);
  int quantum = std::max(exponent - precision, minExponent - (precision - 1));
  double rounded = std::scalbn(std::nearbyint(std::scalbn(x, -quantum)), quantum);
  return std::fabs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

void ReferenceTensor::roundToType() {
  if (!isFloat() || elementType.isF64())
    return;
  if (elementType.isF32()) {
    for (double &x : f)
      x = double(float(x));
  } else if (elementType.isF16()) {
    for (double &x : f)
      x = roundTo(x, 11, -14, 65504.0);
  } else if (elementType.isBF16()) {
    for (double &x : f)
      x = roundTo(x, 8, -126, 0x1.FEp127);
  }
}
