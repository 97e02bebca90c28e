// Gradients that are chosen to be 16 bits are summed up over micro-batches in float32, and rounded once, behind the loop, for ranks to exchange.
// RUN: llm-opt %s --graph-set-precision="compute=bf16 gradients=bf16" --graph-build-train-step="batch=4 micro-batches=2 optimizer=sgd" | FileCheck %s
// RUN: llm-opt %s --graph-set-precision="compute=bf16" --graph-build-train-step="batch=4 micro-batches=2 optimizer=sgd" | FileCheck %s --check-prefix=WIDE
// RUN: llm-opt %s --graph-set-precision="compute=f16" --graph-build-train-step="batch=4 micro-batches=2 optimizer=sgd loss-scale=1024" | FileCheck %s --check-prefix=SCALED

graph.parameter @table : tensor<9x6xf32> from [#graph.source<"t", file = [9, 6]>]

// CHECK-LABEL: func.func @train
// Weights are rounded once a step, not once a micro-batch.
// CHECK: %[[NARROW:.*]] = graph.cast %{{.*}} {graph.gradient = bf16} : (tensor<9x6xf32>) -> tensor<9x6xbf16>
// CHECK-NEXT: graph.name %[[NARROW]] inner "computed.table"
// CHECK: %[[SUMS:.*]]:2 = graph.repeat 2 carry({{.*}} : tensor<f32>, tensor<9x6xf32>)
// CHECK: graph.yield
// CHECK: %[[ROUNDED:.*]] = graph.cast %[[SUMS]]#1 {graph.terms = bf16} : (tensor<9x6xf32>) -> tensor<9x6xbf16>
// CHECK-NEXT: %[[GRADIENT:.*]] = graph.cast %[[ROUNDED]] : (tensor<9x6xbf16>) -> tensor<9x6xf32>
// CHECK: graph.mul %[[GRADIENT]], %[[GRADIENT]]
// WIDE-LABEL: func.func @train
// WIDE-NOT: graph.terms
// The scale of the loss is taken back in the norm and in the update, both of which read the sums.
// SCALED: %[[SUMS:.*]]:2 = graph.repeat 2 carry
// SCALED: %[[INVERSE:.*]] = graph.div %{{.*}}, %arg7 :
// SCALED-NEXT: %[[SQUARED:.*]] = graph.mul %[[SUMS]]#1, %[[INVERSE]]
// SCALED-NEXT: graph.mul %[[SQUARED]], %[[SQUARED]]
// SCALED: %[[CLIPPED:.*]] = graph.select %{{.*}} : (tensor<i1>
// SCALED: %[[BOTH:.*]] = graph.mul %[[CLIPPED]], %[[INVERSE]]
// SCALED-NEXT: %[[GRADIENT:.*]] = graph.mul %[[SUMS]]#1, %[[BOTH]]
// SCALED: graph.add %[[GRADIENT]],
// SCALED: return
func.func @forward(%tokens: tensor<4x8xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens"},
                   %table: tensor<9x6xf32> {graph.dims = ["vocab", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "table"})
    -> (tensor<4x8x9xf32> {graph.dims = ["batch", "seq", "vocab"], graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %rows = graph.embedding %table, %tokens : (tensor<9x6xf32>, tensor<4x8xi32>) -> tensor<4x8x6xf32>
  %logits = graph.linear %rows, %table contract = 1 : (tensor<4x8x6xf32>, tensor<9x6xf32>) -> tensor<4x8x9xf32>
  return %logits : tensor<4x8x9xf32>
}
