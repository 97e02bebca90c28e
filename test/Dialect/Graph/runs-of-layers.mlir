// RUN: llm-opt %s --graph-build-generate-step="chunk=4" | FileCheck %s
// RUN: not llm-opt %s --graph-cut-stages=stages=1,1 2>&1 | FileCheck %s --check-prefix=CUT

// Five layers in two runs: four of two kinds in turn, whose stacks have other shapes, so an iteration is one of each; and one of the first kind. Every layer of
// a body has caches of its own, called after its own stacks, and these have as many layers as the loop has iterations.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<2x2x16x2x4xf32> {{[^}]*}}graph.name = "layers0.k_cache"}
// CHECK-SAME: tensor<2x2x16x2x4xf32> {{[^}]*}}graph.name = "layers0.v_cache"}
// CHECK-SAME: tensor<2x2x16x3x4xf32> {{[^}]*}}graph.name = "layers1.k_cache"}
// CHECK-SAME: tensor<2x2x16x3x4xf32> {{[^}]*}}graph.name = "layers1.v_cache"}
// CHECK-SAME: tensor<1x2x16x2x4xf32> {{[^}]*}}graph.name = "layers4.k_cache"}
// CHECK-SAME: tensor<1x2x16x2x4xf32> {{[^}]*}}graph.name = "layers4.v_cache"}
// CHECK: graph.repeat 2
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: graph.cache_update %{{.*}}[%[[I]]], {{.*}} : (tensor<2x2x16x2x4xf32>
// CHECK: graph.cache_update %{{.*}}[%[[I]]], {{.*}} : (tensor<2x2x16x3x4xf32>
// CHECK: graph.repeat 1
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: graph.cache_update %{{.*}}[%[[I]]], {{.*}} : (tensor<1x2x16x2x4xf32>
// CHECK-LABEL: func.func @head

// CUT: is a second run of layers; a pipeline cuts one so far
func.func @forward(%tokens: tensor<2x16xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<2x16xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
                   %aq: tensor<2x2x1x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers0.q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
                   %ak: tensor<2x2x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers0.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
                   %ao: tensor<2x8x2x1x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers0.o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]},
                   %bq: tensor<2x3x1x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers1.q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
                   %bk: tensor<2x3x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers1.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
                   %bo: tensor<2x8x3x1x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers1.o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]},
                   %cq: tensor<1x2x1x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers4.q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
                   %ck: tensor<1x2x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers4.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
                   %co: tensor<1x8x2x1x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers4.o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x16x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x8xf32>, tensor<2x16xi32>) -> tensor<2x16x8xf32>
  %r = graph.repeat 2 carry(%x : tensor<2x16x8xf32>)
      stack(%aq, %ak, %ao, %bq, %bk, %bo : tensor<2x2x1x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x8x2x1x4xf32>, tensor<2x3x1x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x8x3x1x4xf32>) -> (tensor<2x16x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x16x8xf32>, %aqi: tensor<2x1x4x8xf32>, %aki: tensor<2x4x8xf32>, %aoi: tensor<8x2x1x4xf32>, %bqi: tensor<3x1x4x8xf32>, %bki: tensor<3x4x8xf32>, %boi: tensor<8x3x1x4xf32>):
    %a_q = graph.linear %h, %aqi contract = 1 : (tensor<2x16x8xf32>, tensor<2x1x4x8xf32>) -> tensor<2x16x2x1x4xf32>
    %a_k = graph.linear %h, %aki contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %a_a = graph.attention %a_q, %a_k, %a_k, %positions scale = 0.5 : (tensor<2x16x2x1x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16xi32>) -> tensor<2x16x2x1x4xf32>
    %a_y = graph.linear %a_a, %aoi contract = 3 : (tensor<2x16x2x1x4xf32>, tensor<8x2x1x4xf32>) -> tensor<2x16x8xf32>
    %a_z = graph.add %h, %a_y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    %b_q = graph.linear %a_z, %bqi contract = 1 : (tensor<2x16x8xf32>, tensor<3x1x4x8xf32>) -> tensor<2x16x3x1x4xf32>
    %b_k = graph.linear %a_z, %bki contract = 1 : (tensor<2x16x8xf32>, tensor<3x4x8xf32>) -> tensor<2x16x3x4xf32>
    %b_a = graph.attention %b_q, %b_k, %b_k, %positions scale = 0.5 : (tensor<2x16x3x1x4xf32>, tensor<2x16x3x4xf32>, tensor<2x16x3x4xf32>, tensor<2x16xi32>) -> tensor<2x16x3x1x4xf32>
    %b_y = graph.linear %b_a, %boi contract = 3 : (tensor<2x16x3x1x4xf32>, tensor<8x3x1x4xf32>) -> tensor<2x16x8xf32>
    %b_z = graph.add %a_z, %b_y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %b_z : tensor<2x16x8xf32>
  }
  %s = graph.repeat 1 carry(%r : tensor<2x16x8xf32>)
      stack(%cq, %ck, %co : tensor<1x2x1x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x8x2x1x4xf32>) -> (tensor<2x16x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x16x8xf32>, %cqi: tensor<2x1x4x8xf32>, %cki: tensor<2x4x8xf32>, %coi: tensor<8x2x1x4xf32>):
    %c_q = graph.linear %h, %cqi contract = 1 : (tensor<2x16x8xf32>, tensor<2x1x4x8xf32>) -> tensor<2x16x2x1x4xf32>
    %c_k = graph.linear %h, %cki contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %c_a = graph.attention %c_q, %c_k, %c_k, %positions scale = 0.5 : (tensor<2x16x2x1x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16xi32>) -> tensor<2x16x2x1x4xf32>
    %c_y = graph.linear %c_a, %coi contract = 3 : (tensor<2x16x2x1x4xf32>, tensor<8x2x1x4xf32>) -> tensor<2x16x8xf32>
    %c_z = graph.add %h, %c_y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %c_z : tensor<2x16x8xf32>
  }
  %logits = graph.linear %s, %table contract = 1 : (tensor<2x16x8xf32>, tensor<9x8xf32>) -> tensor<2x16x9xf32>
  return %logits : tensor<2x16x9xf32>
}
