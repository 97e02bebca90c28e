// Parts of which every rank has its piece itself: no rank sends, and nothing is counted. Where pieces begin where those of the whole do, no collective
// is left for the runtime.
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="collective {{[0-9]}}"
// RUN: llm-opt %s --tessera-shard --spmd-to-kernels | FileCheck %s --check-prefix=KERNELS
// RUN: llm-judge %s --pipeline=tessera-shard
// RUN: llm-judge %s --rung=binary

dist.mesh @mesh = <["x"=2, "y"=4]>

// Pieces of 4 and 4 rows; of the part 4 and 3.
// CHECK-DAG: step (tail): per rank 0 collective bytes in 0 collectives
// KERNELS-LABEL: func.func @tail
// KERNELS-NOT: exec.collective
// KERNELS: return
func.func @tail(%x: tensor<8x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<7x6xf32> {graph.kind = #graph.kind<output>, graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<8x6xf32> {graph.kind = #graph.kind<output>, graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %e = graph.exp %x : tensor<8x6xf32>
  %0 = graph.slice %e at [0, 0] : (tensor<8x6xf32>) -> tensor<7x6xf32>
  %1 = graph.neg %0 : tensor<7x6xf32>
  return %1, %e : tensor<7x6xf32>, tensor<8x6xf32>
}

// One row, which the first rank has.
// CHECK-DAG: step (row): per rank 0 collective bytes in 0 collectives
// KERNELS-LABEL: func.func @row
// KERNELS-NOT: exec.collective
// KERNELS: return
func.func @row(%x: tensor<6x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<6x1xf32> {graph.kind = #graph.kind<output>, graph.name = "c", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = graph.slice %x at [0, 0] : (tensor<6x8xf32>) -> tensor<6x1xf32>
  %1 = graph.neg %0 : tensor<6x1xf32>
  return %1 : tensor<6x1xf32>
}

// The first rank has its piece at the end of its own, the second one at the beginning: the runtime finds out that there is nothing to send.
// CHECK-DAG: step (middle): per rank 0 collective bytes in 0 collectives
// KERNELS-LABEL: func.func @middle
// KERNELS: exec.collective grouped_send
func.func @middle(%x: tensor<32x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "d", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = graph.slice %x at [8, 0] : (tensor<32x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
