#ifndef TESSERA_DIALECT_DIST_DISTDIALECT_TD
#define TESSERA_DIALECT_DIST_DISTDIALECT_TD

include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::tessera::dist";
  let summary = "Shardings of tensors over a mesh, and the collectives that change them";
  let description = [{
    `dist` says how tensors lie on a mesh of devices and moves them from one layout to another. A sharding is part of the tensor
    type (its encoding) on the rungs `sharded` and `spmd`, partial sums included, so a forgotten all_reduce does not verify.
    See docs/RationaleDist.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

#endif
