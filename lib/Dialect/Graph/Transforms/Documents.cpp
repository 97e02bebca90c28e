//===- Documents.cpp - Rows that hold several documents -------------------===//
#include "tessera/Dialect/Graph/Transforms/Documents.h"

using namespace mlir;

namespace tessera::graph {

Value keysOfDocuments(OpBuilder &builder, Location loc, Value positions) {
  auto type = cast<RankedTensorType>(positions.getType());
  auto of = [&](ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); };
  auto number = [&](int32_t value) -> Value {
    auto scalar = of({}, type.getElementType());
    return ConstantOp::create(builder, loc, scalar, DenseElementsAttr::get(scalar, value));
  };
  Value place = IotaOp::create(builder, loc, type, builder.getI64IntegerAttr(1));
  Value live = CompareOp::create(builder, loc, of(type.getShape(), builder.getI1Type()), CompareKind::ge,
                                 positions, number(0));
  Value last = SelectOp::create(builder, loc, type, live, place, number(-1));
  Value first = SubOp::create(builder, loc, type, place, positions);
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  SmallVector<Value> columns;
  for (Value value : {last, first})
    columns.push_back(ReshapeOp::create(builder, loc, of(shape, type.getElementType()), value));
  shape.back() = 2;
  return ConcatOp::create(builder, loc, of(shape, type.getElementType()), columns, 2);
}

void useKeysOfDocuments(Operation *op, Value positions, Value keys) {
  op->walk([&](PositionMixingOpInterface mixing) {
    if (OpOperand *seen = mixing.getSeenOperand(); seen && seen->get() == positions)
      seen->set(keys);
  });
}

} // namespace tessera::graph
