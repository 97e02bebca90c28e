//===- RowNumbers.cpp - Numbers of elements, of iotas ---------------------===//
#include "tessera/Dialect/Graph/IR/RowNumbers.h"

using namespace mlir;

namespace tessera::graph {

Value integerConstant(OpBuilder &builder, Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, value));
}

Value rowNumbers(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape, Value first) {
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  Value sum;
  // The major dimension first: each step is what came before times a size, and the next index.
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    if (shape[d] == 1 && !(d == 0 && first))
      continue;
    Value index = IotaOp::create(builder, loc, type, builder.getI64IntegerAttr(d));
    if (d == 0 && first)
      index = AddOp::create(builder, loc, type, index, first);
    if (sum) {
      sum = MulOp::create(builder, loc, type, sum, integerConstant(builder, loc, shape[d]));
      index = AddOp::create(builder, loc, type, sum, index);
    }
    sum = index;
  }
  return sum ? sum : IotaOp::create(builder, loc, type, builder.getI64IntegerAttr(0)).getResult();
}

} // namespace tessera::graph
