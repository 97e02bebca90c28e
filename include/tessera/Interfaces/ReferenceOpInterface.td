#ifndef TESSERA_INTERFACES_REFERENCEOPINTERFACE_TD
#define TESSERA_INTERFACES_REFERENCEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let description = [{
    The meaning of an op in simple loops over float64 (integers: int64): what the judge runs. One rank at a time; on rung `spmd` the
    context tells where the rank's shard begins and how long the unpadded dimension is.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"Computes all results from all operands, in order. Emits an error on the op when the values make no sense (an id out of range).",
                    "::llvm::LogicalResult", "evaluate",
                    (ins "::llvm::ArrayRef<::tessera::ReferenceTensor>":$operands,
                         "const ::tessera::ReferenceContext &":$context,
                         "::llvm::SmallVectorImpl<::tessera::ReferenceTensor> &":$results)>,
  ];
}

#endif
