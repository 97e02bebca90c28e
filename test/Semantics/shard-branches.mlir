// Both branches, in a loop and out of one, one in the other, with sums in them: same numbers on any mesh, down to the binary.
// RUN: llm-judge %s --runs=4 --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --runs=4 --pipeline="tessera-shard{mesh=dp=2,tp=2 shard=h=tp}"
// RUN: llm-judge %s --runs=2 --rung=binary --mesh=dp=2,tp=2 --shard=h=tp
func.func @f(%n: tensor<i32> {graph.kind = #graph.kind<input>, graph.name = "n"},
             %x: tensor<5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "h"]},
             %w: tensor<3x7x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["layer", "o", "h"]})
    -> (tensor<5x7xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<5xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) {
  %four = graph.constant dense<4> : tensor<i32> : tensor<i32>
  %c = graph.compare lt %n, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = graph.repeat 3 carry(%x : tensor<5x7xf32>) stack(%w : tensor<3x7x7xf32>) -> (tensor<5x7xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<5x7xf32>, %wi: tensor<7x7xf32>):
    %odd = graph.compare eq %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %next = graph.if %odd : tensor<i1> -> (tensor<5x7xf32>) {
      graph.branch_yield %h : tensor<5x7xf32>
    } else {
      %p = graph.linear %h, %wi contract = 1 : (tensor<5x7xf32>, tensor<7x7xf32>) -> tensor<5x7xf32>
      %t = graph.if %c : tensor<i1> -> (tensor<5x7xf32>) {
        %a = graph.tanh %p : tensor<5x7xf32>
        graph.branch_yield %a : tensor<5x7xf32>
      } else {
        %a = graph.sin %h : tensor<5x7xf32>
        graph.branch_yield %a : tensor<5x7xf32>
      }
      graph.branch_yield %t : tensor<5x7xf32>
    }
    graph.yield %next : tensor<5x7xf32>
  }
  %z = graph.if %c : tensor<i1> -> (tensor<5xf32>) {
    %s = graph.reduce sum %r dims = [1] : (tensor<5x7xf32>) -> tensor<5xf32>
    graph.branch_yield %s : tensor<5xf32>
  } else {
    %s = graph.reduce max %x dims = [1] : (tensor<5x7xf32>) -> tensor<5xf32>
    graph.branch_yield %s : tensor<5xf32>
  }
  return %r, %z : tensor<5x7xf32>, tensor<5xf32>
}
