// T8, T14: forward and backward of a stack of layers, written by hand: same numbers on every mesh. Forward keeps each layer's input in a stack, backward
// runs from the last layer to the first and returns the stacks of gradients. @period: two kinds of layers and a remainder.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,tp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,fsdp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=pp=3,tp=2}"
// RUN: llm-judge %s --entry=period --pipeline="tessera-shard{mesh=fsdp=3}"
// RUN: llm-judge %s --entry=period --pipeline="tessera-shard{mesh=dp=2,fsdp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
func.func @step(%x: tensor<4x6x10xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %dy: tensor<4x6x10xf32> {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "hidden"]},
    %w1: tensor<3x14x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["layer", "ffn", "hidden"]},
    %w2: tensor<3x10x14xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["layer", "hidden", "ffn"]})
    -> (tensor<4x6x10xf32> {graph.name = "x"}, tensor<4x6x10xf32> {graph.name = "dy"},
        tensor<3x14x10xf32> {graph.name = "up"}, tensor<3x10x14xf32> {graph.name = "down"}) {
  %y, %inputs = graph.repeat 3 carry(%x : tensor<4x6x10xf32>) stack(%w1, %w2 : tensor<3x14x10xf32>, tensor<3x10x14xf32>)
      -> (tensor<4x6x10xf32>, tensor<3x4x6x10xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x6x10xf32>, %up: tensor<14x10xf32>, %down: tensor<10x14xf32>):
    %u = graph.linear %h, %up contract = 1 : (tensor<4x6x10xf32>, tensor<14x10xf32>) -> tensor<4x6x14xf32>
    %a = graph.silu %u : tensor<4x6x14xf32>
    %o = graph.linear %a, %down contract = 1 : (tensor<4x6x14xf32>, tensor<10x14xf32>) -> tensor<4x6x10xf32>
    %next = graph.add %h, %o : (tensor<4x6x10xf32>, tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
    graph.yield %next, %h : tensor<4x6x10xf32>, tensor<4x6x10xf32>
  }
  %dx, %dw1, %dw2 = graph.repeat 3 reverse carry(%dy : tensor<4x6x10xf32>)
      stack(%w1, %w2, %inputs : tensor<3x14x10xf32>, tensor<3x10x14xf32>, tensor<3x4x6x10xf32>)
      -> (tensor<4x6x10xf32>, tensor<3x14x10xf32>, tensor<3x10x14xf32>) {
  ^bb0(%i: tensor<i32>, %d: tensor<4x6x10xf32>, %up: tensor<14x10xf32>, %down: tensor<10x14xf32>, %h: tensor<4x6x10xf32>):
    %u = graph.linear %h, %up contract = 1 : (tensor<4x6x10xf32>, tensor<14x10xf32>) -> tensor<4x6x14xf32>
    %s = graph.sigmoid %u : tensor<4x6x14xf32>
    %a = graph.mul %u, %s : (tensor<4x6x14xf32>, tensor<4x6x14xf32>) -> tensor<4x6x14xf32>
    %as = graph.mul %a, %s : (tensor<4x6x14xf32>, tensor<4x6x14xf32>) -> tensor<4x6x14xf32>
    %rest = graph.sub %a, %as : (tensor<4x6x14xf32>, tensor<4x6x14xf32>) -> tensor<4x6x14xf32>
    %slope = graph.add %s, %rest : (tensor<4x6x14xf32>, tensor<4x6x14xf32>) -> tensor<4x6x14xf32>
    %downt = graph.transpose %down [1, 0] : (tensor<10x14xf32>) -> tensor<14x10xf32>
    %da = graph.linear %d, %downt contract = 1 : (tensor<4x6x10xf32>, tensor<14x10xf32>) -> tensor<4x6x14xf32>
    %du = graph.mul %da, %slope : (tensor<4x6x14xf32>, tensor<4x6x14xf32>) -> tensor<4x6x14xf32>
    %dt = graph.transpose %d [2, 0, 1] : (tensor<4x6x10xf32>) -> tensor<10x4x6xf32>
    %at = graph.transpose %a [2, 0, 1] : (tensor<4x6x14xf32>) -> tensor<14x4x6xf32>
    %dut = graph.transpose %du [2, 0, 1] : (tensor<4x6x14xf32>) -> tensor<14x4x6xf32>
    %ht = graph.transpose %h [2, 0, 1] : (tensor<4x6x10xf32>) -> tensor<10x4x6xf32>
    %ddown = graph.linear %dt, %at contract = 2 : (tensor<10x4x6xf32>, tensor<14x4x6xf32>) -> tensor<10x14xf32>
    %dup = graph.linear %dut, %ht contract = 2 : (tensor<14x4x6xf32>, tensor<10x4x6xf32>) -> tensor<14x10xf32>
    %upt = graph.transpose %up [1, 0] : (tensor<14x10xf32>) -> tensor<10x14xf32>
    %dh = graph.linear %du, %upt contract = 1 : (tensor<4x6x14xf32>, tensor<10x14xf32>) -> tensor<4x6x10xf32>
    %next = graph.add %d, %dh : (tensor<4x6x10xf32>, tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
    graph.yield %next, %dup, %ddown : tensor<4x6x10xf32>, tensor<14x10xf32>, tensor<10x14xf32>
  }
  return %y, %dx, %dw1, %dw2 : tensor<4x6x10xf32>, tensor<4x6x10xf32>, tensor<3x14x10xf32>, tensor<3x10x14xf32>
}
func.func @period(%x: tensor<4x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "hidden"]},
    %w: tensor<5x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["layer", "hidden"]}) -> (tensor<4x6xf32>, tensor<5x4x6xf32>, tensor<5xi32>) {
  %y, %all, %layers = graph.repeat 5 reverse carry(%x : tensor<4x6xf32>) stack(%w : tensor<5x6xf32>) -> (tensor<4x6xf32>, tensor<5x4x6xf32>, tensor<5xi32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x6xf32>, %s: tensor<6xf32>):
    %0 = graph.mul %h, %s : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    graph.yield %0, %0, %i : tensor<4x6xf32>, tensor<4x6xf32>, tensor<i32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<4x6xf32>, %s: tensor<6xf32>):
    %0 = graph.add %h, %s : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    graph.yield %0, %h, %i : tensor<4x6xf32>, tensor<4x6xf32>, tensor<i32>
  }
  return %y, %all, %layers : tensor<4x6xf32>, tensor<5x4x6xf32>, tensor<5xi32>
}
