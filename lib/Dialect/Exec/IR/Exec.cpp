//===- Exec.cpp - the exec dialect ------------------------------------------===//

#include "tessera/Dialect/Exec/IR/Exec.h"

#include "tessera/Dialect/Exec/IR/ExecDialect.cpp.inc"
#include "tessera/Dialect/Exec/IR/ExecEnums.cpp.inc"
#include "tessera/Dialect/Exec/IR/ExecInterfaces.cpp.inc"

using namespace mlir;

namespace tessera::exec {

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Exec/IR/ExecOps.cpp.inc"
      >();
}

int64_t arrayBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  Type element = shaped.getElementType();
  int64_t bytes = element.isIndex() ? 8 : (int64_t(element.getIntOrFloatBitWidth()) + 7) / 8;
  return shaped.getNumElements() * bytes;
}

Value rootOf(Value value) {
  for (;;) {
    if (auto layer = value.getDefiningOp<LayerOp>())
      value = layer.getStack();
    else if (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getInput();
    else
      return value;
  }
}

MemRefType bufferType(Type type) {
  auto shaped = cast<ShapedType>(type);
  return MemRefType::get(shaped.getShape(), shaped.getElementType());
}

} // namespace tessera::exec
