// A pin that nobody reads as it says is told as such: the value is moved there, and from there to where it is read. Which readers hold it, in any of its
// pinned dimensions, is another matter.
// RUN: llm-opt %s --tessera-shard="mesh=tp=2 shard=middle:rows=-" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=tp=2 shard=middle:rows=tp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=HELD

// CHECK: Missed{{.*}}pins{{.*}}middle is pinned to [-/-], and nobody reads it so: who reads it needs [tp/-]
// HELD-NOT: nobody reads it so
dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["rows", "cols"], dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}) {
  %0 = graph.neg %x : tensor<8x8xf32>
  %1 = graph.name %0 inner "middle" ["rows", "cols"] : tensor<8x8xf32>
  %2 = graph.exp %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
