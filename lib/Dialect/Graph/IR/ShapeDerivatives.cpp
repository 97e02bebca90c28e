//===- ShapeDerivatives.cpp - Gradients of ops that move elements ---------===//
#include "GradientProgram.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

SmallVector<Value> ReshapeOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return {GradientProgram(builder, *this).reshaped(gradients[0], getInput().getType().getShape())};
}

SmallVector<Value> TransposeOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = int64_t(to);
  return {GradientProgram(builder, *this).transposed(gradients[0], inverse)};
}

SmallVector<Value> BroadcastOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this);
  SmallVector<int64_t> repeated;
  for (int64_t d = 0; d < rankOf(getResult()); ++d)
    if (!llvm::is_contained(getDims(), d))
      repeated.push_back(d);
  if (repeated.empty())
    return {gradients[0]};
  return {p.narrow(p.folded(ReduceKind::sum, p.wide(gradients[0]), repeated))};
}

/// Zeros in front and behind, one dimension after another.
SmallVector<Value> SliceOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this);
  Value g = gradients[0];
  for (size_t d = 0; d < getOffsets().size(); ++d) {
    int64_t offset = getOffsets()[d];
    SmallVector<int64_t> shape(typeOf(g).getShape());
    auto zeros = [&](int64_t n) {
      shape[d] = n;
      return p.zeros(shape, typeOf(g).getElementType());
    };
    int64_t behind = sizeOf(getInput(), int64_t(d)) - offset - shape[d];
    SmallVector<Value> parts = {g};
    if (offset > 0)
      parts.insert(parts.begin(), zeros(offset));
    if (behind > 0)
      parts.push_back(zeros(behind));
    g = p.concat(parts, int64_t(d));
  }
  return {g};
}

SmallVector<Value> ReverseOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return {ReverseOp::create(builder, getLoc(), gradients[0].getType(), gradients[0], getDim())};
}

SmallVector<Value> ConcatOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  GradientProgram p(builder, *this);
  Gradients result(getInputs().size());
  SmallVector<int64_t> offsets(size_t(rankOf(getResult())), 0);
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    ArrayRef<int64_t> sizes = typeOf(input).getShape();
    if (wanted[unsigned(i)])
      result[i] = p.sliced(gradients[0], offsets, sizes);
    offsets[getDim()] += sizes[getDim()];
  }
  return result;
}

/// A sum repeats its gradient. Of a maximum it goes to the elements that are the largest, in equal parts.
SmallVector<Value> ReduceOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this, getInput());
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  SmallVector<int64_t> kept, ones(shape);
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (llvm::is_contained(getDims(), d))
      ones[d] = 1;
    else
      kept.push_back(d);
  auto type = RankedTensorType::get(shape, getInput().getType().getElementType());
  if (getKind() == ReduceKind::sum)
    return {BroadcastOp::create(builder, getLoc(), type, p.narrow(gradients[0]),
                                builder.getDenseI64ArrayAttr(kept))};
  Value isLargest = p.compare(CompareKind::eq, getInput(), p.reshaped(getResult(), ones), shape);
  Value one = p.number(1), count = p.reduced(ReduceKind::sum, p.select(isLargest, one, {}, shape), getDims());
  Value part = p.div(p.reshaped(p.wide(gradients[0]), ones), count);
  return {p.narrow(p.select(isLargest, part, {}, shape))};
}

/// Of each row the position that was taken has the gradient.
SmallVector<Value> TakeOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this);
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  SmallVector<int64_t> rows(shape.size(), 1), places(shape.size(), 1);
  rows[0] = places[0] = shape[0];
  places[1] = shape[1];
  Value taken = p.compare(CompareKind::eq, p.counting(shape[1], rankOf(getInput()) - 2),
                          p.reshaped(getIndex(), rows), places);
  return {p.select(taken, gradients[0], {}, shape), Value()};
}

SmallVector<Value> LayerSliceOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  GradientProgram p(builder, *this);
  ArrayRef<int64_t> shape = getStack().getType().getShape();
  SmallVector<int64_t> layers(shape.size(), 1);
  layers[0] = shape[0];
  Value taken = p.compare(CompareKind::eq, p.counting(shape[0], rankOf(getResult())), getIndex(), layers);
  return {p.select(taken, gradients[0], {}, shape), Value()};
}

SmallVector<Value> MaskPaddingOp::differentiate(OpBuilder &builder, Known gradients, Wanted) {
  return {MaskPaddingOp::create(builder, getLoc(), gradients[0].getType(), gradients[0], getDimsAttr(),
                                builder.getF64FloatAttr(0))};
}

SmallVector<Value> NameOp::differentiate(OpBuilder &, Known gradients, Wanted) { return {gradients[0]}; }
