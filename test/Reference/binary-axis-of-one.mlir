// What is summed over lies on an axis of size 1: nothing is split, and there is no sum over ranks to wait for.
// RUN: llm-judge %s --rung=binary
dist.mesh @mesh = <["x"=1, "y"=2]>
func.func @reduced(%x: tensor<3x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>, graph.kind = #graph.kind<input>, graph.name = "x"}) -> tensor<3xf32> {
  %0 = graph.reduce sum %x dims = [1] : (tensor<3x7xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @product(%x: tensor<3x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>, graph.kind = #graph.kind<input>, graph.name = "z"}) -> tensor<3x3xf32> {
  %0 = graph.linear %x, %x contract = 1 : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
// Over both axes at once.
func.func @both(%x: tensor<3x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>, graph.kind = #graph.kind<input>, graph.name = "w"}) -> tensor<3x7xf32> {
  %0 = graph.softmax %x : tensor<3x7xf32>
  return %0 : tensor<3x7xf32>
}
