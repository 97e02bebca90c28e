// What is true of a pin is said once: of however many functions of a program, and of however many paths between two pins.
// RUN: llm-opt %s --tessera-shard="mesh=tp=2 shard=first:rows=tp,second:cols=tp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="Missed{{.*}}pins"

// CHECK: Missed{{.*}}pins{{.*}}first pinned to [tp/-] and second pinned to [-/tp] do not agree
func.func @f(%x: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["rows", "cols"]}) -> tensor<8x8xf32> {
  %0 = graph.neg %x : tensor<8x8xf32>
  %1 = graph.name %0 inner "first" ["rows", "cols"] : tensor<8x8xf32>
  %2 = graph.mul %1, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.name %2 inner "second" ["rows", "cols"] : tensor<8x8xf32>
  %4 = graph.exp %3 : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
func.func @g(%x: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["rows", "cols"]}) -> tensor<8x8xf32> {
  %0 = graph.neg %x : tensor<8x8xf32>
  %1 = graph.name %0 inner "first" ["rows", "cols"] : tensor<8x8xf32>
  %2 = graph.mul %1, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.name %2 inner "second" ["rows", "cols"] : tensor<8x8xf32>
  %4 = graph.exp %3 : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
