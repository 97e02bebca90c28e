//===- GradientProgram.cpp - Programs of gradients ------------------------===//
#include "GradientProgram.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// An op that gives its operand's bytes under another name or shape.
static Value sameBytes(Operation *op) {
  auto cost = dyn_cast_or_null<CostOpInterface>(op);
  if (!cost || op->getNumRegions() || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      getElementTypeOrSelf(op->getOperand(0)) != getElementTypeOrSelf(op->getResult(0)))
    return {};
  OpCost work = cost.getCost();
  return work.flops == 0 && work.bytesRead == 0 && work.bytesWritten == 0 ? op->getOperand(0) : Value();
}

/// What the bytes of a slice are a part of.
static Value stackOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto repeat = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp();
  if (!repeat)
    return {};
  size_t first = 1 + repeat.getInits().size();
  return argument.getArgNumber() < first ? Value() : repeat.getStacks()[argument.getArgNumber() - first];
}

/// The cast that made `value`, or what `value` is a part or another name of.
static CastOp roundingOf(Value value) {
  if (Value whole = stackOf(value))
    return roundingOf(whole);
  Operation *op = value.getDefiningOp();
  if (Value same = sameBytes(op))
    return roundingOf(same);
  auto cast = dyn_cast_or_null<CastOp>(op);
  bool rounds = cast && isa<FloatType>(typeOf(value).getElementType()) &&
                isa<FloatType>(cast.getInput().getType().getElementType());
  return rounds ? cast : CastOp();
}

Type graph::chosenGradientType(Value value) {
  CastOp cast = roundingOf(value);
  auto chosen = cast ? cast->getAttrOfType<TypeAttr>(kGradientAttr) : TypeAttr();
  return chosen ? chosen.getValue() : Type();
}

Type graph::gradientElementType(Value value) {
  Type own = typeOf(value).getElementType();
  CastOp cast = roundingOf(value);
  if (!cast)
    return own;
  if (Type chosen = chosenGradientType(value))
    return chosen;
  // A product of narrow operands keeps the sum that the wider value's gradient is: ops sum in float32.
  Type wider = gradientElementType(cast.getInput());
  if (own.getIntOrFloatBitWidth() >= 32 || wider.getIntOrFloatBitWidth() < 32)
    return own;
  return Float32Type::get(own.getContext());
}

Value GradientProgram::zeros(ArrayRef<int64_t> shape, Type element) {
  auto type = RankedTensorType::get(shape, element);
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, builder.getFloatAttr(element, 0)));
}

Value GradientProgram::counting(int64_t n, int64_t behind) {
  Value numbers = IotaOp::create(builder, loc, RankedTensorType::get({n}, builder.getI32Type()), 0);
  SmallVector<int64_t> shape(size_t(behind) + 1, 1);
  shape[0] = n;
  return reshaped(numbers, shape);
}

Value GradientProgram::reshaped(Value x, ArrayRef<int64_t> shape) {
  if (typeOf(x).getShape() == shape)
    return x;
  return ReshapeOp::create(builder, loc, RankedTensorType::get(shape, typeOf(x).getElementType()), x);
}

Value GradientProgram::transposed(Value x, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, int64_t(permutation.size()))))
    return x;
  SmallVector<int64_t> shape;
  for (int64_t from : permutation)
    shape.push_back(sizeOf(x, from));
  return TransposeOp::create(builder, loc, RankedTensorType::get(shape, typeOf(x).getElementType()), x,
                             builder.getDenseI64ArrayAttr(permutation));
}

Value GradientProgram::sliced(Value x, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
  return SliceOp::create(builder, loc, RankedTensorType::get(sizes, typeOf(x).getElementType()), x,
                         builder.getDenseI64ArrayAttr(offsets));
}

Value GradientProgram::concat(ValueRange parts, int64_t dim) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<int64_t> shape(typeOf(parts.front()).getShape());
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] += sizeOf(part, dim);
  return ConcatOp::create(builder, loc, RankedTensorType::get(shape, typeOf(parts.front()).getElementType()),
                          parts, dim);
}

Value GradientProgram::folded(ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return x;
  SmallVector<int64_t> left;
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (!llvm::is_contained(dims, d))
      left.push_back(sizeOf(x, d));
  return ReduceOp::create(builder, loc, RankedTensorType::get(left, typeOf(x).getElementType()),
                          ReduceKindAttr::get(builder.getContext(), kind), x,
                          builder.getDenseI64ArrayAttr(dims));
}

Value GradientProgram::reduced(ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> ones(typeOf(x).getShape());
  for (int64_t dim : dims)
    ones[dim] = 1;
  return reshaped(folded(kind, x, dims), ones);
}

Value GradientProgram::compare(CompareKind kind, Value x, Value y, ArrayRef<int64_t> shape) {
  return CompareOp::create(builder, loc, RankedTensorType::get(shape, builder.getI1Type()), kind, x, y);
}

Value GradientProgram::select(Value condition, Value x, Value y, ArrayRef<int64_t> shape) {
  Type element = typeOf(x).getElementType();
  return SelectOp::create(builder, loc, RankedTensorType::get(shape, element), condition, x,
                          y ? y : zero(element));
}

Value GradientProgram::sumTo(Value gradient, Value value) {
  RankedTensorType type = typeOf(value);
  int64_t rank = rankOf(gradient), first = rank - type.getRank();
  SmallVector<int64_t> dims, kept;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = sizeOf(gradient, d), want = d < first ? 1 : type.getDimSize(unsigned(d - first));
    if (size != want)
      dims.push_back(d);
  }
  // Sums are float32 at least.
  Value sum = dims.empty() ? gradient : folded(ReduceKind::sum, wide(gradient), dims);
  return given(reshaped(sum, type.getShape()), value);
}
