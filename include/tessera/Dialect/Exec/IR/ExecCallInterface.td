#ifndef TESSERA_DIALECT_EXEC_EXECCALLINTERFACE_TD
#define TESSERA_DIALECT_EXEC_EXECCALLINTERFACE_TD

include "mlir/IR/OpBase.td"

def ExecCallOpInterface : OpInterface<"ExecCallOpInterface"> {
  let description = [{
    Ops of rung `exec` that ask the runtime for something, and so stand in the manifest's `calls` (docs/Manifest.md, "Calls"). They say there what they ask for; who writes the
    manifest asks nothing else.
  }];
  let cppNamespace = "::tessera::exec";
  let methods = [
    InterfaceMethod<"What the call does, in a word: `do`.", "::llvm::StringRef", "getCallWord", (ins), [{}], [{
      return $_op->getName().stripDialect();
    }]>,
    InterfaceMethod<"Adds to `call` what docs/Manifest.md lists for such a call, beside `do`, `value` and `at`.", "void", "describeCall",
      (ins "::llvm::json::Object &":$call, "::tessera::exec::ManifestTables &":$tables), [{}], [{ return; }]>,
    InterfaceMethod<"Whether the name that its location carries is that of what it makes: `value`.", "bool", "namesCall", (ins), [{}], [{ return true; }]>,
  ];
}

#endif
