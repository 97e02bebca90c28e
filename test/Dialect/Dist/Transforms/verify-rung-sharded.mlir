// RUN: llm-opt %s --verify-rung=rung=sharded --split-input-file --verify-diagnostics
// RUN: not llm-opt %s --verify-rung=rung=binary --split-input-file 2>&1 | FileCheck %s
// CHECK: error: unknown rung 'binary': verify-rung knows graph, step, sharded, spmd, kernels and exec

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{argument #0 has no sharding, 'tensor<4xf32>': on rung sharded every tensor has one; dist-insert-reshards should have given it}}
func.func @f(%x: tensor<4xf32>) { return }

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{argument #0 has global sizes in its sharding: types are local on rung spmd only}}
func.func @f(%x: tensor<2xf32, #dist.sharding<@mesh, [{"x"}], global=[4]>>) { return }
