// What nobody reads is gone before kernels are made: of a loop whose value the next body does not carry on, and of a loop inside of one. Freed memory is filled,
// so that a block that is looked at after it was freed shows.
// RUN: env MALLOC_PERTURB_=165 llm-opt %s --spmd-to-kernels | FileCheck %s --implicit-check-not=@gelu --implicit-check-not=@tanh

// CHECK-LABEL: func.func @after
// CHECK: exec.launch @sin_4
// CHECK-NOT: exec.for
// CHECK: return
func.func @after(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %a: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "a"})
    -> (tensor<4xf32> {graph.kind = #graph.kind<output>, graph.name = "out"}) {
  %0 = graph.repeat 5 carry(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i32>, %p: tensor<4xf32>):
    %1 = graph.sin %a : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }, {
  ^bb0(%i: tensor<i32>, %p: tensor<4xf32>):
    %1 = graph.tanh %p : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @inside
// CHECK: return
func.func @inside(%w: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "w"}, %x: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %a: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "a"}, %b: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "b"},
    %c: tensor<1xf32> {graph.kind = #graph.kind<input>, graph.name = "c"}) -> (tensor<1xf32> {graph.kind = #graph.kind<output>, graph.name = "out"}) {
  %0:2 = graph.repeat 2 reverse carry(%c, %w : tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  ^bb0(%i: tensor<i32>, %p: tensor<1xf32>, %q: tensor<1xf32>):
    graph.yield %a, %b : tensor<1xf32>, tensor<1xf32>
  }, {
  ^bb0(%i: tensor<i32>, %p: tensor<1xf32>, %q: tensor<1xf32>):
    %1 = graph.repeat 3 carry(%x : tensor<1xf32>) -> (tensor<1xf32>) {
    ^bb0(%j: tensor<i32>, %h: tensor<1xf32>):
      %2 = graph.gelu_tanh %h : tensor<1xf32>
      graph.yield %2 : tensor<1xf32>
    }
    graph.yield %1, %q : tensor<1xf32>, tensor<1xf32>
  }
  return %0#0 : tensor<1xf32>
}
