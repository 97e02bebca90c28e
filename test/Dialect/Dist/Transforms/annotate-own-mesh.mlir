// A mesh that stands there already is used; its axes may have any names, annotations give them meaning.
// RUN: llm-opt %s --tessera-shard | FileCheck %s
// RUN: not llm-opt %s --tessera-shard="mesh=rows=4" 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: two meshes (--mesh=rows=4): the module has another one already; drop --mesh or the dist.mesh

// CHECK: dist.mesh @devices = <["rows"=2]>
dist.mesh @devices = <["rows"=2]>
// CHECK: func.func @f(%arg0: tensor<2x8xf32, #dist.sharding<@devices, [{"rows"}, {}], global=[4, 8]>>) -> tensor<2x8xf32, #dist.sharding<@devices, [{"rows"}, {}], global=[4, 8]>>
func.func @f(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@devices, [{"rows"}, {?}]>}) -> tensor<4x8xf32> {
  %0 = graph.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
