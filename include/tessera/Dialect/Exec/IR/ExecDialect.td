#ifndef TESSERA_DIALECT_EXEC_EXECDIALECT_TD
#define TESSERA_DIALECT_EXEC_EXECDIALECT_TD

include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::tessera::exec";
  let useDefaultTypePrinterParser = 1;
  let summary = "The host program of one rank: launches, library calls, communication";
  let description = [{
    `exec` is what a rank does between the start and the end of a step. Every op that computes is in destination-passing style and
    stands on two rungs: on `kernels` its operands are tensors and its results name the new values; on `exec` they
    are memrefs at fixed offsets of the rank's arena and there are no results. All shapes are static and local; shardings are gone from the
    types. `exec` knows nothing of what a kernel computes. See docs/RationaleExec.md.
  }];
}

#endif
