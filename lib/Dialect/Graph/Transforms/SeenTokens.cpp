//===- SeenTokens.cpp - Tokens that stand in a row's text -----------------===//
#include "tessera/Dialect/Graph/Transforms/SeenTokens.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tessera::graph {

namespace {
/// Elementwise ops, with numbers of the other operand's type.
struct Elements {
  OpBuilder &builder;
  Location loc;

  static RankedTensorType typeOf(Value x) { return cast<RankedTensorType>(x.getType()); }

  Value number(Type element, int64_t value) {
    auto scalar = RankedTensorType::get({}, element);
    Attribute attr = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, double(value)))
                                             : builder.getIntegerAttr(element, value);
    return ConstantOp::create(builder, loc, scalar, DenseElementsAttr::get(scalar, attr));
  }
  Value compare(CompareKind kind, Value x, Value y) {
    return CompareOp::create(builder, loc, typeOf(x).clone(builder.getI1Type()), kind, x, y);
  }
  /// Where `x` is at least 0.
  Value isThere(Value x) { return compare(CompareKind::ge, x, number(typeOf(x).getElementType(), 0)); }
  Value select(Value condition, Value x, Value y) {
    return SelectOp::create(builder, loc, y.getType(), condition, x, y);
  }
};
} // namespace

Value penalized(OpBuilder &builder, Location loc, Value logits, Value seen, Value penalty) {
  Elements e{builder, loc};
  Type f32 = builder.getF32Type();
  auto type = e.typeOf(logits).clone(f32);
  if (logits.getType() != type)
    logits = CastOp::create(builder, loc, type, logits);
  Value divided = DivOp::create(builder, loc, type, logits, penalty);
  Value multiplied = MulOp::create(builder, loc, type, logits, penalty);
  // 0 is 0 either way, and no number none.
  Value changed = e.select(e.isThere(logits), divided, multiplied);
  Value isSeen = e.compare(CompareKind::ge, seen, e.number(builder.getI32Type(), 1));
  return e.select(isSeen, changed, logits);
}

Value seenWith(OpBuilder &builder, Location loc, Value seen, Value ids, ArrayRef<Value> places) {
  Elements e{builder, loc};
  Value none = e.number(builder.getI32Type(), -1);
  // -1 is no token of the vocabulary.
  for (Value place : places)
    ids = SelectOp::create(builder, loc, ids.getType(), e.isThere(place), ids, none);
  RankedTensorType type = e.typeOf(seen);
  auto rows = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  Value wide = BroadcastOp::create(builder, loc, type, ids, builder.getDenseI64ArrayAttr(rows));
  auto vocabulary = RankedTensorType::get(type.getShape().back(), type.getElementType());
  Value tokens = IotaOp::create(builder, loc, vocabulary, builder.getI64IntegerAttr(0));
  return e.select(e.compare(CompareKind::eq, wide, tokens), e.number(type.getElementType(), 1), seen);
}

} // namespace tessera::graph
