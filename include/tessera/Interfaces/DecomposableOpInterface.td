#ifndef TESSERA_INTERFACES_DECOMPOSABLEOPINTERFACE_TD
#define TESSERA_INTERFACES_DECOMPOSABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let description = [{
    Ops that need some factor whole only because they are one op: written as a small program of other ops they can run with it sharded, at the
    price of that program's own collectives (a norm over a sharded hidden dimension: one sum per token). Placement prices the program for every way to
    shard those factors, beside running the op as it is; `dist-insert-reshards` writes it out only where that is chosen.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"Factors of the sharding rule, of kind need-replication, that may be sharded if the op is decomposed.",
                    "::llvm::SmallVector<int, 2>", "getDecomposableFactors">,
    InterfaceMethod<[{
      Emits ops with sharding rules that compute the op's results from `operands` (which have the op's operand types, whatever their encodings); the
      ops' own types have no encodings. Returns one value per result, of the result's shape and element type.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
  ];
}

#endif
