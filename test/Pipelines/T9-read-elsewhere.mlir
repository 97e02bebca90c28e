// A sum that a loop inside reads, without carrying it, is no sum that only waits: it is made each time, here before the loop, and not open.
// RUN: llm-opt %s --tessera-shard="mesh=x=4 shard=k=x" | FileCheck %s
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=x=4 shard=k=x}"

// CHECK-LABEL: func.func @nested
// CHECK: dist.all_reduce
// CHECK-NEXT: graph.repeat 4
// CHECK-NOT: = dist.
// CHECK: return
func.func @nested(%a: tensor<8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["r", "k"]}, %w: tensor<8x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["c", "k"]},
    %z: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "z"}) -> (tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "v"}) {
  %r:2 = graph.repeat 4 carry(%z, %z : tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<8x8xf32>, %d: tensor<8x8xf32>):
    %t = graph.linear %a, %w contract = 1 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x8xf32>
    %q = graph.repeat 3 carry(%d : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
    ^bb1(%j: tensor<i32>, %e: tensor<8x8xf32>):
      %f = graph.tanh %e : tensor<8x8xf32>
      %g = graph.mul %f, %c : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      graph.yield %g : tensor<8x8xf32>
    }
    %s = graph.add %c, %t : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    graph.yield %s, %q : tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %r#0, %r#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
