// Regions that are programs of one rank over some axes: same numbers interpreted as such, partitioned over the others, and compiled.
// RUN: split-file %s %t
// RUN: llm-judge %t/good.mlir --runs=2 --entry='*' --pipeline="tessera-shard{}"
// RUN: llm-judge %t/good.mlir --rung=binary
// RUN: not llm-judge %t/broken.mlir --pipeline=canonicalize 2>&1 | FileCheck %s
// CHECK: 'dist.manual_computation' op result #0: element {{.*}} on rank

//--- good.mlir
dist.mesh @mesh = <["a"=2, "b"=3]>

// A maximum of this rank's columns: another number than of all of them.
func.func @norms(%x: tensor<5x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"a"}, {?}]>})
    -> (tensor<5x3xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %t = graph.sin %x : tensor<5x6xf32>
  %0 = dist.manual_computation over {"b"} (%t : tensor<5x6xf32>) -> (tensor<5x3xf32>)
      in [#dist.sharding<@mesh, [{?}, {"b", ?}]>] out [#dist.sharding<@mesh, [{?}, {"b"}]>] {
  ^bb0(%p: tensor<5x2xf32>):
    %m = graph.reduce max %p dims = [1] : (tensor<5x2xf32>) -> tensor<5xf32>
    %r = graph.reshape %m : (tensor<5xf32>) -> tensor<5x1xf32>
    dist.manual_yield %r : tensor<5x1xf32>
  }
  %u = graph.tanh %0 : tensor<5x3xf32>
  return %u : tensor<5x3xf32>
}

// Two manual axes, a weight that is pieces of rows along one, a sum over the other.
func.func @terms(%x: tensor<5x12xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
                 %w: tensor<4x12xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<5x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.manual_computation over {"a", "b"} (%x, %w : tensor<5x12xf32>, tensor<4x12xf32>) -> (tensor<5x4xf32>)
      in [#dist.sharding<@mesh, [{}, {"b"}]>, #dist.sharding<@mesh, [{"a"}, {"b"}]>] out [#dist.sharding<@mesh, [{}, {"a"}], partial=sum{"b"}>] {
  ^bb0(%p: tensor<5x4xf32>, %v: tensor<2x4xf32>):
    %t = graph.linear %p, %v contract = 1 : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x2xf32>
    dist.manual_yield %t : tensor<5x2xf32>
  }
  %u = graph.tanh %0 : tensor<5x4xf32>
  return %u : tensor<5x4xf32>
}

// Inside, sums over b are handed on in pieces over b; a could share the work, but is not there.
func.func @other_axis(%x: tensor<16x12xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
                      %v: tensor<12x12xf32> {graph.kind = #graph.kind<input>, graph.name = "v", dist.sharding = #dist.sharding<@mesh, [{}, {"b"}]>},
                      %w: tensor<12x12xf32> {graph.kind = #graph.kind<input>, graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{"b"}, {}]>})
    -> (tensor<16x12xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.manual_computation over {"a"} (%x, %v, %w : tensor<16x12xf32>, tensor<12x12xf32>, tensor<12x12xf32>) -> (tensor<16x12xf32>)
      in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {"b"}]>, #dist.sharding<@mesh, [{"b"}, {}]>] out [#dist.sharding<@mesh, [{}, {"b"}]>] {
  ^bb0(%p: tensor<16x12xf32>, %q: tensor<12x12xf32>, %r: tensor<12x12xf32>):
    %h = graph.linear %p, %q contract = 1 : (tensor<16x12xf32>, tensor<12x12xf32>) -> tensor<16x12xf32>
    %e = graph.relu %h : tensor<16x12xf32>
    %c = graph.linear %e, %r contract = 1 : (tensor<16x12xf32>, tensor<12x12xf32>) -> tensor<16x12xf32>
    dist.manual_yield %c : tensor<16x12xf32>
  }
  return %0 : tensor<16x12xf32>
}

//--- broken.mlir
dist.mesh @mesh = <["a"=2, "b"=3]>
// Promises that ranks along b hold the same, which they do not.
func.func @broken(%x: tensor<6xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> tensor<2xf32> {
  %0 = dist.manual_computation over {"b"} (%x : tensor<6xf32>) -> (tensor<2xf32>)
      in [#dist.sharding<@mesh, [{"b"}]>] out [#dist.sharding<@mesh, [{}]>] {
  ^bb0(%p: tensor<2xf32>):
    dist.manual_yield %p : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
