// A block without an op that could run otherwise has nothing to trade for memory, however little is allowed.
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards=live-bytes=0 --verify-rung=rung=sharded | FileCheck %s

// CHECK: dist.reshard %arg0
dist.mesh @mesh = <["a"=2]>
func.func @f(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  return %x : tensor<8x8xf32>
}
