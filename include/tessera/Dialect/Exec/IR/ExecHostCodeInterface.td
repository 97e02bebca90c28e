#ifndef TESSERA_DIALECT_EXEC_EXECHOSTCODEINTERFACE_TD
#define TESSERA_DIALECT_EXEC_EXECHOSTCODEINTERFACE_TD

include "mlir/IR/OpBase.td"

def ExecHostCodeOpInterface : OpInterface<"ExecHostCodeOpInterface"> {
  let description = [{
    Ops of rung `exec` of which the host's code of an entry is made: each says what it becomes (docs/RationaleExec.md), in the words of `HostCode`, which `exec-to-llvm` implements.
  }];
  let cppNamespace = "::tessera::exec";
  let methods = [
    InterfaceMethod<"Emits the code. Returns what stands for the op's result from here on; null: it has none. Fails with an error at an op.",
      "::llvm::FailureOr<::mlir::Value>", "emitHostCode", (ins "::tessera::exec::HostCode &":$code)>,
  ];
}

#endif
