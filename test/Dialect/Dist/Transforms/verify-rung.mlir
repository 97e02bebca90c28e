// RUN: llm-opt %s --verify-rung=rung=spmd --split-input-file --verify-diagnostics

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{argument #0 is no local type, 'tensor<4xf32>': on rung spmd every tensor has a sharding with global sizes; dist-partition should have given it}}
func.func @f(%x: tensor<4xf32>) { return }

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f() {
  %0 = graph.constant dense<0.0> : tensor<4xf32> : tensor<2xf32, #dist.sharding<@mesh, [{"x"}], global=[4]>>
  // expected-error @+1 {{does not stand on rung spmd; what should have removed it: dist-partition}}
  %1 = graph.name %0 "n" : tensor<2xf32, #dist.sharding<@mesh, [{"x"}], global=[4]>>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'arith.constant' op does not stand on rung spmd: only graph, dist, func do}}
  %0 = arith.constant 0 : i32
  return
}
