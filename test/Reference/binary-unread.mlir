// Of a loop with two bodies in turn, the first does not pass on what the second computed: no kernel computes it, and none is left that writes nothing.
// RUN: llm-judge %s --rung=exec
// RUN: llm-opt %s --pass-pipeline='builtin.module(tessera-shard,tessera-to-kernels)' | FileCheck %s
// CHECK-NOT: exec.launch
dist.mesh @mesh = <[]>
func.func @f(%w: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "w"}, %x: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %a: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "a"}, %b: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "b"}, %c: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "c"})
    -> (tensor<1xf32> {graph.kind = #graph.kind<output>, graph.name = "out"}) {
  %0:2 = graph.repeat 2 reverse carry(%c, %w : tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  ^bb0(%i: tensor<i32>, %p: tensor<1xf32>, %q: tensor<1xf32>):
    graph.yield %a, %b : tensor<1xf32>, tensor<1xf32>
  }, {
  ^bb0(%i: tensor<i32>, %p: tensor<1xf32>, %q: tensor<1xf32>):
    %1 = graph.gelu_tanh %x : tensor<1xf32>
    graph.yield %1, %q : tensor<1xf32>, tensor<1xf32>
  }
  return %0#0 : tensor<1xf32>
}
