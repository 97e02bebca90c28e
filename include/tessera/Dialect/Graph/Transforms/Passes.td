#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildGenerateStep : Pass<"graph-build-generate-step", "::mlir::ModuleOp"> {
  let summary = "Turns @forward into @prefill, @decode and @head with a KV cache";
  let description = [{
    Rung `graph` to rung `step` (docs/Step.md). Every `graph.attention` over the sequence gets two stacked caches as states; the functions work on
    `chunk` positions (@prefill) or one (@decode); the position-wise ops between the last mixing of positions and the logits run for
    one position per row only.
    ```mlir
    func.func private @forward(%tokens: tensor<1x64xi32>, %positions: tensor<1x64xi32>, %w: tensor<99x48xf32>)
        -> (tensor<1x64x99xf32> {graph.name = "logits"})
    // to, for chunk=16 (and @decode, @head)
    func.func private @prefill(%tokens: tensor<1x16xi32>, %positions: tensor<1x16xi32>, %index: tensor<1xi32>, %w: tensor<99x48xf32>, %k: tensor<4x1x64x2x8xf32>)
        -> (tensor<1x16x48xf32> {graph.name = "hidden"}, tensor<1x1x99xf32> {graph.name = "logits"}, tensor<1x1xi32> {graph.name = "next"},
            tensor<4x1x64x2x8xf32> {graph.name = "layers.k_cache"})
    ```
  }];
  let options = [
    Option<"batch", "batch", "int64_t", "0", "Rows of a step; 0: those of @forward">,
    Option<"maxSeqLen", "max-seq-len", "int64_t", "0", "Positions of the caches, at most those of @forward; 0: those of @forward">,
    Option<"chunk", "chunk", "int64_t", "0", "Positions of one @prefill; 0: the smaller of largest-chunk and max-seq-len">,
    Option<"largestChunk", "largest-chunk", "int64_t", "128", "Positions of one @prefill at most, if chunk does not say: the target's choice">,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

#endif
