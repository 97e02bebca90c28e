// A slice of a sharded dimension moves pieces, no more than a rank lacks, and never makes the dimension whole.
// RUN: llm-opt %s --tessera-shard | FileCheck %s
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: llm-judge %s --pipeline=tessera-shard
// RUN: llm-judge %s --rung=binary

dist.mesh @mesh = <["x"=2, "y"=4]>

// The middle half over two ranks lies where it belongs: the first has it at the end of its piece, the second at the beginning.
// CHECK-LABEL: func.func @middle
// CHECK-NEXT: dist.grouped_send %arg0 at [8, 0] {{.*}} -> tensor<8x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[16, 8]>>
// CHECK-NEXT: return
func.func @middle(%x: tensor<32x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = graph.slice %x at [8, 0] : (tensor<32x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// Pieces of 4, 4, 4 and 1 rows; of the part 2, 2, 2 and 1. What arrives is gathered over the other axis as pieces of the part.
// EXPLAIN: grouped_send over {y}
// EXPLAIN: slice takes a part of {{.*}}, which is sharded
// CHECK-LABEL: func.func @uneven
// CHECK-NEXT: %[[PART:.*]] = dist.grouped_send %arg0 at [3, 0] {{.*}} -> tensor<2x4xf32, #dist.sharding<@mesh, [{"y"}, {"x"}], global=[7, 8]>>
// CHECK-NEXT: dist.all_gather %[[PART]] dim = 1 axes = {"x"}
// CHECK-NEXT: return
func.func @uneven(%x: tensor<13x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<7x8xf32> {graph.kind = #graph.kind<output>, graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = graph.slice %x at [3, 0] : (tensor<13x8xf32>) -> tensor<7x8xf32>
  return %0 : tensor<7x8xf32>
}

// Two dimensions at once, and a part of a sum.
// CHECK-LABEL: func.func @sum
// CHECK: dist.grouped_send {{.*}} at [2, 1]
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @sum(%a: tensor<16x6xf32> {graph.kind = #graph.kind<input>, graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
               %b: tensor<9x6xf32> {graph.kind = #graph.kind<input>, graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {graph.kind = #graph.kind<output>, graph.name = "c", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = graph.linear %a, %b contract = 1 : (tensor<16x6xf32>, tensor<9x6xf32>) -> tensor<16x9xf32>
  %1 = graph.slice %0 at [2, 1] : (tensor<16x9xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// A part of zeros is made, like all of them; and so it is where the zeros are read beside it.
// CHECK-LABEL: func.func @zeros
func.func @zeros(%x: tensor<32x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "d", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
        tensor<32x8xf32> {graph.kind = #graph.kind<output>, graph.name = "e", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %z = graph.constant dense<0.0> : tensor<32x8xf32> : tensor<32x8xf32>
  %0 = graph.slice %z at [8, 0] : (tensor<32x8xf32>) -> tensor<16x8xf32>
  %1 = graph.add %x, %z : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<32x8xf32>
}
