//===- Exec.cpp - the exec dialect ------------------------------------------===//

#include "tessera/Dialect/Exec/IR/ExchangeRows.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/DialectImplementation.h"
#include "tessera/Dialect/Exec/IR/ExecDialect.cpp.inc"
#include "tessera/Dialect/Exec/IR/ExecInterfaces.cpp.inc"
#include "llvm/ADT/TypeSwitch.h"
#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Exec/IR/ExecTypes.cpp.inc"

#include <numeric>

using namespace mlir;

namespace tessera::exec {

void ExecDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tessera/Dialect/Exec/IR/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Exec/IR/ExecOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Exec/IR/ExecRowOps.cpp.inc"
      >();
}

std::optional<io::DType> elementDType(Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return io::dtypeFromName(name);
}

StringRef elementName(Type type) {
  std::optional<io::DType> dtype = elementDType(getElementTypeOrSelf(type));
  return dtype ? io::traits(*dtype).name : "";
}

Value rootOf(Value value) {
  while (auto view = value.getDefiningOp<ExecViewOpInterface>())
    value = view.getViewed();
  return value;
}

MemRefType bufferType(Type type) {
  auto shaped = cast<ShapedType>(type);
  return MemRefType::get(shaped.getShape(), shaped.getElementType());
}

int64_t layerStride(LayerOp layer) {
  if (auto param = layer.getStack().getDefiningOp<ParamOp>()) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom(param, param.getParamAttr());
    if (auto bytes = parameter ? parameter->getAttrOfType<IntegerAttr>(kLayerBytesAttr) : IntegerAttr())
      return bytes.getInt();
  }
  return arrayBytes(layer.getType());
}

int64_t alignmentOf(Value array) {
  int64_t known = kBufferAlignment; // of places in the arena, and of parameters
  while (auto view = array.getDefiningOp<ExecViewOpInterface>()) {
    if (auto layer = dyn_cast<LayerOp>(view.getOperation()))
      known = std::gcd(known, layerStride(layer));
    array = view.getViewed();
  }
  return known;
}

} // namespace tessera::exec
