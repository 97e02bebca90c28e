// A function gives back no open sum: who calls it could not know.
// RUN: llm-opt %s --split-input-file --verify-diagnostics --verify-rung=rung=sharded

dist.mesh @mesh = <["x"=2, "y"=4]>
// expected-error @+1 {{returns result #0 as a partial sum over {x}: it must be reduced before it leaves the function}}
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>> {
  %0 = graph.reduce sum %a dims = [1] : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>
  return %0 : tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>
}

// -----

dist.mesh @mesh = <["x"=2, "y"=4]>
// expected-error @+1 {{returns result #1 as a partial max over {x, y}: it must be reduced before it leaves the function}}
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>)
    -> (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>, tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x", "y"}>>) {
  %0 = graph.reduce max %a dims = [1] : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x", "y"}>>
  return %a, %0 : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>, tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x", "y"}>>
}
