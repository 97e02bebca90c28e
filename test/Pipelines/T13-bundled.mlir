// T13: where links are slow and copies are not, the keys and values of an attention are exchanged together; the reasons of both stand
// there, and the numbers stay.
// RUN: llm-opt %s --tessera-shard="mesh=sp=4 machine=%test_dir/Inputs/slow-links.json" | FileCheck %s
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=4 machine=%test_dir/Inputs/slow-links.json}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,sp=2 machine=%test_dir/Inputs/slow-links.json}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=3 machine=%test_dir/Inputs/slow-links.json}"
// RUN: llm-opt %s --tessera-explain="mesh=sp=4 machine=%test_dir/Inputs/slow-links.json" -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: collective 2 of 3 (f): all_to_all over {sp}, [-/-/sp/-/-] -> [-/sp/-/-/-]
// EXPLAIN-NEXT: between: argument k and argument v {{.*}} and attention

// CHECK-LABEL: func.func @f
// CHECK: %[[KV:.*]] = graph.concat
// CHECK: dist.all_to_all %[[KV]]
// CHECK: graph.attention
func.func @f(%q: tensor<16x41x8x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<16x41x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<16x41x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<16x41xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<16x41x8x1x8xf32> {graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<16x41x8x1x8xf32>, tensor<16x41x8x8xf32>, tensor<16x41x8x8xf32>, tensor<16x41xi32>) -> tensor<16x41x8x1x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<16x41x8x1x8xf32>
  return %o : tensor<16x41x8x1x8xf32>
}
