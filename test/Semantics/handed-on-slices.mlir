// Loops that hand on what they are given, a slice of a stack or another carried value: that lies as it did,
// however the place lies that it goes to.
// RUN: llm-judge %s --entry=cut --pipeline=tessera-shard
// RUN: llm-opt %s --tessera-shard | FileCheck %s
dist.mesh @mesh = <["y"=6]>

// The carried value is cut, the slice whole.
// CHECK-LABEL: @cut
// CHECK: graph.repeat
// CHECK-NEXT: ^bb0(%{{[a-z0-9]*}}: tensor<i32{{[^:]*}}, %{{[a-z0-9]*}}: tensor<1xf32, {{[^:]*}}{"y":(2)3}{{.*}} %{{[a-z0-9]*}}: tensor<3xf32, #dist.sharding<@mesh, [{}]
func.func @cut(%of: tensor<3x1xf32> {dist.sharding = #dist.sharding<@mesh, [{"y":(2)3, ?}p0, {?}]>, graph.kind = #graph.kind<input>, graph.name = "x6"},
                %ids: tensor<1xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens"},
                %index: tensor<3xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>, graph.fill = #graph.fill<last_index>, graph.kind = #graph.kind<input>, graph.name = "index"},
                %second: tensor<3xf32> {graph.kind = #graph.kind<input>, graph.name = "of_result2"},
                %first: tensor<3xf32> {graph.kind = #graph.kind<input>, graph.name = "of_result4"},
                %rows: tensor<3x1xf32> {graph.kind = #graph.kind<input>, graph.name = "of_result5"},
                %a: tensor<1x1x3xf32> {graph.kind = #graph.kind<input>, graph.name = "cut8"},
                %b: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "cut9"},
                %c: tensor<3x1xf32> {graph.kind = #graph.kind<input>, graph.name = "cut10"},
                %fourth: tensor<3x1xf32> {graph.kind = #graph.kind<input>, graph.name = "cut12"},
                %third: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "cut13"},
                %scalar: tensor<f32> {graph.kind = #graph.kind<input>, graph.name = "cut16"},
                %last: tensor<3xi32> {graph.kind = #graph.kind<input>, graph.name = "cut19"})
    -> (tensor<3x1xf32> {graph.kind = #graph.kind<output>, graph.name = "gradient7"}) {
  %0 = graph.reshape %index : (tensor<3xi32>) -> tensor<3x1xi32>
  %1 = graph.compare eq %last, %0 : (tensor<3xi32>, tensor<3x1xi32>) -> tensor<3x3xi1>
  %2 = graph.select %1, %rows, %scalar : (tensor<3x3xi1>, tensor<3x1xf32>, tensor<f32>) -> tensor<3x3xf32>
  %3 = graph.embedding %2, %ids : (tensor<3x3xf32>, tensor<1xi32>) -> tensor<1x3xf32>
  %4:6 = graph.repeat 1 reverse carry(%first, %second, %third, %fourth : tensor<3xf32>, tensor<3xf32>, tensor<1xf32>, tensor<3x1xf32>) stack(%3 : tensor<1x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<1xf32>, tensor<3x1xf32>, tensor<1x1x1x3xf32>, tensor<1x1xf32>) {
  ^bb0(%arg13: tensor<i32>, %arg14: tensor<3xf32>, %arg15: tensor<3xf32>, %arg16: tensor<1xf32>, %arg17: tensor<3x1xf32>, %arg18: tensor<3xf32>):
    %5 = graph.einsum "a,ab->b" %arg15, %of : (tensor<3xf32>, tensor<3x1xf32>) -> tensor<1xf32>
    graph.yield %arg18, %arg14, %b, %c, %a, %5 : tensor<3xf32>, tensor<3xf32>, tensor<1xf32>, tensor<3x1xf32>, tensor<1x1x3xf32>, tensor<1xf32>
  }
  return %4#3 : tensor<3x1xf32>
}
