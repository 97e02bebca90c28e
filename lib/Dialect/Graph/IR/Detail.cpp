//===- Detail.cpp - What verifiers and rules of graph ops share -----------===//
#include "Detail.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

LogicalResult inner::verifyTensor(Operation *op, const Twine &what, RankedTensorType type) {
  Type element = type.getElementType();
  if (!element.isF64() && !element.isF32() && !element.isF16() && !element.isBF16() &&
      !element.isSignlessInteger(1) && !element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return op->emitOpError() << what << " has element type " << element
                             << "; supported are f64, f32, f16, bf16, i64, i32 and i1";
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(size))
      return op->emitOpError() << what << " has no static size in dimension " << dim;
    if (size < 1)
      return op->emitOpError() << what << " has size " << size << " in dimension " << dim;
    if (size > kMaxElements / elements)
      return op->emitOpError() << what << " has more than 2^48 elements";
    elements *= size;
  }
  return success();
}

LogicalResult inner::verifyTensors(Operation *op) {
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && failed(verifyTensor(op, "operand #" + Twine(i), tensor)))
      return failure();
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && failed(verifyTensor(op, "result #" + Twine(i), tensor)))
      return failure();
  return success();
}

LogicalResult inner::expectRank(Operation *op, NamedValue value, int64_t rank) {
  if (rankOf(value.value) == rank)
    return success();
  return op->emitOpError() << value.name << " has " << rankOf(value.value) << " dimensions, expected "
                           << rank;
}

LogicalResult inner::expectSize(Operation *op, NamedValue value, int64_t dim, int64_t size) {
  if (sizeOf(value.value, dim) == size)
    return success();
  return op->emitOpError() << "dimension " << dim << " of " << value.name << " has size "
                           << sizeOf(value.value, dim) << ", expected " << size;
}

LogicalResult inner::expectSameSize(Operation *op, NamedValue a, int64_t da, NamedValue b, int64_t db) {
  if (sizeOf(a.value, da) == sizeOf(b.value, db))
    return success();
  return op->emitOpError() << "dimension " << da << " of " << a.name << " has size " << sizeOf(a.value, da)
                           << ", dimension " << db << " of " << b.name << " has size " << sizeOf(b.value, db);
}

LogicalResult inner::expectSameSizes(Operation *op, NamedValue a, int64_t da, NamedValue b, int64_t db,
                                     int64_t count) {
  for (int64_t d = 0; d < count; ++d)
    if (failed(expectSameSize(op, a, da + d, b, db + d)))
      return failure();
  return success();
}

LogicalResult inner::expectSameElements(Operation *op, NamedValue a, NamedValue b) {
  Type ea = typeOf(a.value).getElementType(), eb = typeOf(b.value).getElementType();
  if (ea == eb)
    return success();
  return op->emitOpError() << a.name << " has element type " << ea << ", " << b.name << " has " << eb;
}

LogicalResult inner::expectElementsOrSums(Operation *op, NamedValue result, NamedValue terms) {
  Type from = typeOf(terms.value).getElementType();
  if ((from.isBF16() || from.isF16()) && typeOf(result.value).getElementType().isF32())
    return success();
  return expectSameElements(op, result, terms);
}

LogicalResult inner::expectDims(Operation *op, StringRef what, ArrayRef<int64_t> dims, int64_t rank) {
  int64_t last = -1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << what << " names dimension " << dim << " of a tensor with " << rank
                               << " dimensions";
    if (dim <= last)
      return op->emitOpError() << what << " must be strictly increasing, " << dim << " comes after " << last;
    last = dim;
  }
  return success();
}

LogicalResult inner::verifyBroadcast(Operation *op, OperandRange operands, Value result) {
  ArrayRef<int64_t> shape = typeOf(result).getShape();
  // A result dimension may not be longer than all operands': nothing would say where its elements come from.
  SmallVector<int64_t> longest(shape.size(), 1);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    ArrayRef<int64_t> from = typeOf(operand).getShape();
    if (from.size() > shape.size())
      return op->emitOpError() << "operand #" << i << " has " << from.size()
                               << " dimensions, the result only " << shape.size();
    size_t shift = shape.size() - from.size();
    for (auto [d, size] : llvm::enumerate(from)) {
      if (size != 1 && size != shape[shift + d])
        return op->emitOpError() << "dimension " << d << " of operand #" << i << " has size " << size
                                 << " and does not broadcast to size " << shape[shift + d]
                                 << " of the result";
      longest[shift + d] = std::max(longest[shift + d], size);
    }
  }
  for (auto [d, size] : llvm::enumerate(shape))
    if (size != longest[d])
      return op->emitOpError() << "dimension " << d << " of the result has size " << size
                               << ", the operands' longest is " << longest[d];
  return success();
}

RuleBuilder::RuleBuilder(Operation *op) {
  auto take = [](ValueRange values, auto &shapes, auto &tensors) {
    for (Value value : values) {
      shapes.push_back(dist::globalShape(typeOf(value)));
      tensors.emplace_back();
      tensors.back().dims.resize(shapes.back().size());
    }
  };
  take(op->getOperands(), operandShapes, rule.operands);
  take(op->getResults(), resultShapes, rule.results);
}

int64_t RuleBuilder::size(TensorDim place) const {
  return (place.result ? resultShapes : operandShapes)[place.tensor][place.dim];
}

int RuleBuilder::add(ArrayRef<TensorDim> places, FactorKind kind, PartialKind combine) {
  int factor = addSized(size(places.front()), places, kind);
  rule.factors[factor].combine = combine;
  return factor;
}

int RuleBuilder::addSized(int64_t size, ArrayRef<TensorDim> places, FactorKind kind) {
  int factor = rule.addFactor(size, kind);
  for (TensorDim place : places)
    (place.result ? rule.results : rule.operands)[place.tensor].dims[place.dim].push_back(factor);
  return factor;
}

void RuleBuilder::pair(TensorDim from, TensorDim to, int count) {
  for (int d = 0; d < count; ++d)
    add({{from.result, from.tensor, from.dim + d}, {to.result, to.tensor, to.dim + d}});
}

template <typename T>
static void gatherElements(ArrayRef<T> from, T *to, ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                           int64_t base) {
  if (shape.empty()) {
    *to = from[base];
    return;
  }
  int64_t inner = shape.back(), innerStride = strides.back();
  Odometer outer(shape.drop_back());
  do {
    int64_t at = base;
    for (auto [d, i] : llvm::enumerate(outer.index))
      at += i * strides[d];
    for (int64_t j = 0; j < inner; ++j)
      *to++ = from[at + j * innerStride];
  } while (outer.next());
}

void inner::gatherStrided(const ReferenceTensor &input, ReferenceTensor &result, ArrayRef<int64_t> shape,
                          ArrayRef<int64_t> strides, int64_t base) {
  if (input.isFloat())
    gatherElements<double>(input.f, result.f.data(), shape, strides, base);
  else
    gatherElements<int64_t>(input.i, result.i.data(), shape, strides, base);
}

double inner::dot(const double *x, const double *y, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k)
      sums[k] += x[i + k] * y[i + k];
  double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; i < n; ++i)
    sum += x[i] * y[i];
  return sum;
}
