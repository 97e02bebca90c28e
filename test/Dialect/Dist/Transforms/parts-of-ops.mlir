// Explanations name no op that nobody wrote: parts of a softmax over a split dimension are known as the softmax.
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="reduce reduces" --implicit-check-not=reshape

// CHECK: all_reduce over {x}, [-] Umax{x} -> [-]
// CHECK-NEXT: within: softmax (a) [
// CHECK-NEXT: disagree on: cols: softmax reduces over cols, sharded over {x}; softmax needs the maximum
// CHECK: all_reduce over {x}, [-] U{x} -> [-]
// CHECK-NEXT: within: softmax (a) [
// CHECK-NEXT: disagree on: cols: softmax reduces over cols, sharded over {x}; softmax needs the sum
dist.mesh @mesh = <["x"=2]>
func.func @f(%a: tensor<8x64xf32> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["rows", "cols"], dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = graph.softmax %a : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
