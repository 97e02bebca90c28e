#ifndef TESSERA_DIALECT_EXEC_EXECCOLLECTIVEINTERFACE_TD
#define TESSERA_DIALECT_EXEC_EXECCOLLECTIVEINTERFACE_TD

include "mlir/IR/OpBase.td"

def ExecCollectiveOpInterface : OpInterface<"ExecCollectiveOpInterface"> {
  let description = [{
    Ops of rung `exec` by which all ranks of a group exchange something, whether they wait for it or go on: each is a row of the manifest's `collectives`, which says how often an
    entry runs it (docs/Manifest.md, "Collectives").
  }];
  let cppNamespace = "::tessera::exec";
  let methods = [
    InterfaceMethod<"Writes the row. Ops with equal rows share one.", "void", "describeCollective",
      (ins "::llvm::json::Object &":$row, "::tessera::exec::ManifestTables &":$tables)>,
  ];
}

#endif
