#ifndef TESSERA_DIALECT_EXEC_TRANSFORMS_PASSES_TD
#define TESSERA_DIALECT_EXEC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExecVerifyVariables : Pass<"exec-verify-variables", "::mlir::ModuleOp"> {
  let summary = "Check what entries write of parameters, and that no stale packed form is used";
  let description = [{
    Entries may write only parameters that are a `variable`, and only forms that are there: a packed parameter that is no variable has no plain form to read.
    Whoever writes the plain form of a packed variable leaves its packed form stale until `exec.pack` has made it again: a product or a lookup in between, or an
    entry that ends with a stale form, is an error. A layer that a loop updates counts as packed if the same iteration packs it.
    ```mlir
    %w = exec.param @w : memref<16x8xf32>
    exec.launch @step ins(%g : memref<16x8xf32>) outs(%w : memref<16x8xf32>) count = 16 grain = 4
    exec.pack @w // without it the product is an error
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    ```
  }];
}

#endif
