#ifndef TESSERA_DIALECT_EXEC_EXECINTERFACES_TD
#define TESSERA_DIALECT_EXEC_EXECINTERFACES_TD

include "mlir/IR/OpBase.td"

def ExecAccessOpInterface : OpInterface<"ExecAccessOpInterface"> {
  let description = [{
    Ops of rung `exec` that touch memory say of every memref operand whether they read it, write all of it, or update it. Memory effects and
    `verify-exec-memory` read this and nothing else about the op. Which bytes an operand is follows from what defines it (`BufferView`).
  }];
  let cppNamespace = "::tessera::exec";
  let methods = [
    InterfaceMethod<"One entry for every memref operand, in order.", "::llvm::SmallVector<::tessera::exec::Access>", "getAccesses">,
    InterfaceMethod<[{Work that goes on after the op: the token that ends it. Its operands are busy until an op takes the token.}],
      "::mlir::Value", "getStartedToken", (ins), "", "return {};">,
    InterfaceMethod<"Layers of a packed parameter that the op reads: the parameter's symbol and the layer's number, or nothing.",
      "std::pair<::mlir::FlatSymbolRefAttr, ::mlir::Value>", "getPackedLayer", (ins), "", "return {};">,
  ];
}

#endif
