//===- Tensor.cpp - Values of the reference interpreter -------------------===//
#include "tessera/Reference/TensorRounding.h"

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

namespace {
/// What a float type can say: `precision` significant bits, gradual underflow below 2^minExponent, overflow
/// above `largest`.
struct FloatFormat {
  int precision, minExponent;
  double largest;
};
} // namespace

static constexpr FloatFormat kFloat32{24, -126, 0x1.FFFFFEp127};

static FloatFormat formatOf(Type type) {
  return type.isF16()    ? FloatFormat{11, -14, 65504.0}
         : type.isBF16() ? FloatFormat{8, -126, 0x1.FEp127}
                         : kFloat32;
}

/// `x` as a multiple of the format's unit at its place, brought to an integer by `round`.
template <typename Round> static double roundTo(double x, const FloatFormat &format, Round round) {
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent; // x = m * 2^exponent with 0.5 <= |m| < 1
  std::frexp(x, &exponent);
  int quantum = std::max(exponent - format.precision, format.minExponent - (format.precision - 1));
  double rounded = std::scalbn(round(std::scalbn(x, -quantum)), quantum);
  return std::fabs(rounded) > format.largest ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                             : rounded;
}

void ReferenceTensor::roundToType() {
  if (!isFloat() || elementType.isF64())
    return;
  if (elementType.isF32()) {
    for (double &x : f)
      x = double(float(x));
    return;
  }
  FloatFormat format = formatOf(elementType);
  for (double &x : f)
    x = roundTo(x, format, [](double units) { return std::nearbyint(units); });
}

static double toNeighbour(double x, const FloatFormat &format, std::mt19937_64 &dice) {
  return roundTo(x, format,
                 [&](double units) { return dice() >> 63 ? std::floor(units) : std::ceil(units); });
}

double tessera::roundFloat32AtRandom(double x, std::mt19937_64 &dice) {
  return toNeighbour(x, kFloat32, dice);
}

void tessera::roundAtRandom(ReferenceTensor &tensor, std::mt19937_64 &dice) {
  if (!tensor.isFloat() || tensor.elementType.isF64())
    return;
  FloatFormat format = formatOf(tensor.elementType);
  for (double &x : tensor.f)
    x = toNeighbour(x, format, dice);
}
