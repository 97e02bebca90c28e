// Gradients that are chosen to be 16 bits are summed up over micro-batches in float32, and rounded once, behind the loop, for ranks to exchange.
// RUN: llm-opt %s --graph-set-precision="compute=bf16 gradients=bf16" --graph-build-train-step="batch=4 micro-batches=2 optimizer=sgd" | FileCheck %s
// RUN: llm-opt %s --graph-set-precision="compute=bf16" --graph-build-train-step="batch=4 micro-batches=2 optimizer=sgd" | FileCheck %s --check-prefix=WIDE

graph.parameter @table : tensor<9x6xf32> from [#graph.source<"t", file = [9, 6]>]

// CHECK-LABEL: func.func @train
// CHECK: %[[SUMS:.*]]:2 = graph.repeat 2 carry({{.*}} : tensor<f32>, tensor<9x6xf32>)
// CHECK: graph.yield
// CHECK: %[[ROUNDED:.*]] = graph.cast %[[SUMS]]#1 {graph.terms = bf16} : (tensor<9x6xf32>) -> tensor<9x6xbf16>
// CHECK-NEXT: %[[GRADIENT:.*]] = graph.cast %[[ROUNDED]] : (tensor<9x6xbf16>) -> tensor<9x6xf32>
// CHECK: graph.mul %[[GRADIENT]], %[[GRADIENT]]
// WIDE-LABEL: func.func @train
// WIDE-NOT: graph.terms
func.func @forward(%tokens: tensor<4x8xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens"},
                   %table: tensor<9x6xf32> {graph.dims = ["vocab", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "table"})
    -> (tensor<4x8x9xf32> {graph.dims = ["batch", "seq", "vocab"], graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %rows = graph.embedding %table, %tokens : (tensor<9x6xf32>, tensor<4x8xi32>) -> tensor<4x8x6xf32>
  %logits = graph.linear %rows, %table contract = 1 : (tensor<4x8x6xf32>, tensor<9x6xf32>) -> tensor<4x8x9xf32>
  return %logits : tensor<4x8x9xf32>
}
