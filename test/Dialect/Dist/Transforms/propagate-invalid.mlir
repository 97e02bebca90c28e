// RUN: llm-opt %s --dist-propagate --split-input-file --verify-diagnostics

// expected-error @+1 {{has no dist.mesh: run dist-annotate before}}
module {
  func.func @f(%x: tensor<4xf32>) { return }
}

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{axis "y" is not in the mesh}}
func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) { return }

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{sharding has 2 dimensions, the tensor 1}}
func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) { return }

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{does not stand on rung step: only graph, dist, func do}}
  %0 = arith.negf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// One cache cannot lie in two ways.
// expected-error @+1 {{arguments or results of one name are annotated differently}}
module {
  dist.mesh @mesh = <["x"=2]>
  func.func @f(%x: tensor<4x4xf32> {graph.name = "k", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) { return }
  func.func @g(%x: tensor<4x4xf32> {graph.name = "k", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) { return }
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has no sharding rule: it cannot stand on rung step}}
  %0 = call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
