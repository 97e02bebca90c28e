// Where loops run over any factor, an iteration writes a piece of a row of a cache: every row has a place of its own, and every piece has one in its row.
// RUN: llm-opt %s --spmd-to-kernels="target=cuda target-options=grain=16" --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @update
// CHECK: exec.launch @[[UPDATE:.*]] ins({{.*}}) outs({{.*}}) count = 512
// CHECK: func.func private @[[UPDATE]](%[[X:.*]]: tensor<2x3x8x64xf32>, {{.*}}: tensor<i32>, %[[POSITIONS:.*]]: tensor<2x3xi32>, %[[CACHE:.*]]: tensor<5x2x32x8x64xf32>
// CHECK: tensor.extract_slice %[[X]][%[[BATCH:.*]], 0, %[[HEAD:.*]], %[[FROM:.*]]] [1, 3, 1, 2]
// CHECK: scf.for %{{.*}} = %c0 to %c3
// CHECK: %[[POSITION:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%{{.*}}, %[[BATCH]], %[[POSITION]], %[[HEAD]], %[[FROM]]] [1, 1, 1, 1, 2]
// CHECK: } {tessera.apart}
func.func @update(%x: tensor<2x3x8x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %p: tensor<2x3xi32> {graph.kind = #graph.kind<input>, graph.name = "positions"},
    %i: tensor<i32> {graph.kind = #graph.kind<input>, graph.name = "i"}, %c: tensor<5x2x32x8x64xf32> {graph.kind = #graph.kind<state>, graph.name = "k"})
    -> (tensor<5x2x32x8x64xf32> {graph.kind = #graph.kind<state>, graph.name = "k"}) {
  %0 = graph.cache_update %c[%i], %x, %p : (tensor<5x2x32x8x64xf32>, tensor<2x3x8x64xf32>, tensor<i32>, tensor<2x3xi32>) -> tensor<5x2x32x8x64xf32>
  return %0 : tensor<5x2x32x8x64xf32>
}
