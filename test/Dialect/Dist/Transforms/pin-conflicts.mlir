// Pins that do not agree are no error where ops stand between them, but the reshard is told with the two pins, the ops and the bytes.
// RUN: llm-opt %s --tessera-shard="mesh=tp=2 shard=first:rows=tp,second:cols=tp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="Missed{{.*}}pins"
// RUN: llm-opt %s --tessera-shard="mesh=tp=2 shard=first:rows=tp,second:rows=tp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=AGREE

// CHECK: Missed{{.*}}pins{{.*}}first pinned to [tp/-] and second pinned to [-/tp] do not agree: exp, neg are between them, a rank receives 64 bytes
// AGREE-NOT: Missed{{.*}}pins
func.func @f(%x: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["rows", "cols"]}) -> tensor<8x8xf32> {
  %0 = graph.neg %x : tensor<8x8xf32>
  %1 = graph.name %0 inner "first" ["rows", "cols"] : tensor<8x8xf32>
  %2 = graph.exp %1 : tensor<8x8xf32>
  %3 = graph.neg %2 : tensor<8x8xf32>
  %4 = graph.name %3 inner "second" ["rows", "cols"] : tensor<8x8xf32>
  %5 = graph.exp %4 : tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}
