// RUN: llm-opt %s --dist-partition --split-input-file --verify-diagnostics

// expected-error @+1 {{has no dist.mesh: run dist-annotate before}}
module {
  func.func @f() { return }
}

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{argument #0 has no sharding}}
func.func @f(%x: tensor<4xf32>) { return }

// -----

dist.mesh @mesh = <["x"=2]>
// Keys have no neutral element to mask with.
func.func @f(%x: tensor<5xi64, #dist.sharding<@mesh, [{"x"}]>>) {
  // expected-error @+1 {{takes the maximum of integers over dimension 0, which is padded: there is no neutral element to mask with}}
  %0 = graph.reduce max %x dims = [0] : (tensor<5xi64, #dist.sharding<@mesh, [{"x"}]>>) -> tensor<i64, #dist.sharding<@mesh, [], partial=max{"x"}>>
  return
}
