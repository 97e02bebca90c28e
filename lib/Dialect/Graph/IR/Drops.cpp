//===- Drops.cpp - Ops that drop elements, and where training may do so ---===//
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

//===----------------------------------------------------------------------===//
// Keeping all
//===----------------------------------------------------------------------===//

void DropoutOp::keepAllElements() {
  getResult().replaceAllUsesWith(getInput());
  erase();
}

template <typename OpT> static void keepAllWeights(OpT op) {
  op.getDropKeysMutable().clear();
  op.getDropShareMutable().clear();
}
void AttentionOp::keepAllElements() { keepAllWeights(*this); }
void AttentionQueryGradientOp::keepAllElements() { keepAllWeights(*this); }
void AttentionKeyValueGradientOp::keepAllElements() { keepAllWeights(*this); }

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

using KeysOf = llvm::function_ref<Value(ArrayRef<int64_t>)>;

FailureOr<Value> NameOp::dropElements(OpBuilder &builder, KeysOf keysOf, Value probability) {
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() < 2 || !isa<FloatType>(type.getElementType()))
    return emitOpError() << "drops elements of " << type
                         << ": expected floats whose first dimension is the row of the batch";
  builder.setInsertionPointAfter(*this);
  SmallVector<int64_t> rows(type.getShape());
  rows.back() = 1;
  Value keys = keysOf(rows);
  auto columnType = RankedTensorType::get(type.getShape().back(), builder.getI32Type());
  Value columns = IotaOp::create(builder, getLoc(), columnType, builder.getI64IntegerAttr(0));
  Value dropped = DropoutOp::create(builder, getLoc(), type, getResult(), keys, columns, probability);
  getResult().replaceAllUsesExcept(dropped, dropped.getDefiningOp());
  return dropped;
}

FailureOr<Value> AttentionOp::dropElements(OpBuilder &, KeysOf keysOf, Value probability) {
  if (getPages())
    return emitOpError() << "drops weights of keys that a table finds: what has pages is not trained";
  getDropKeysMutable().assign(keysOf(getQuery().getType().getShape().drop_back()));
  getDropShareMutable().assign(probability);
  return Value(getResult());
}
