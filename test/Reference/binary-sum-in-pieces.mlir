// Terms of a sum in bf16 that nearly cancel lie on seven ranks: they are added in float32 and rounded once.
// RUN: llm-judge %s --rung=binary --seed=898
// What one rank contributes is among the terms (seed 4942 of the random programs).
// RUN: llm-judge %s --rung=binary --seed=4942
dist.mesh @mesh = <["x"=7]>
func.func @sum(%x: tensor<5x6xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>, graph.kind = #graph.kind<input>, graph.name = "x0"}) -> tensor<bf16> {
  %0 = graph.reduce sum %x dims = [0, 1] : (tensor<5x6xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
func.func @contribution(%x: tensor<7xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>, graph.kind = #graph.kind<input>, graph.name = "x1"}, %y: tensor<7xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>, graph.kind = #graph.kind<input>, graph.name = "y1"},
    %z: tensor<bf16> {graph.kind = #graph.kind<input>, graph.name = "z1"}) -> tensor<bf16> {
  %0 = graph.reduce sum %x dims = [0] : (tensor<7xbf16>) -> tensor<bf16>
  %1 = graph.reduce sum %y dims = [0] : (tensor<7xbf16>) -> tensor<bf16>
  %2 = graph.add %0, %z : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
  %3 = graph.add %2, %1 : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
  return %3 : tensor<bf16>
}
