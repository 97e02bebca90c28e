// With a stream for communication, a weight is gathered to a place beside the one that is multiplied, so the gather does not wait for the product before it. Without, both
// weights are gathered to one place.
// RUN: llm-opt %s --kernels-to-exec=communication --exec-assign-streams=communication --verify-exec-memory --exec-verify-order | FileCheck %s
// RUN: llm-opt %s --kernels-to-exec --exec-assign-streams=communication --exec-verify-order | FileCheck %s --check-prefix=WAITS

// CHECK: exec.arena_bytes = 34304
// CHECK: exec.event_wait {{.*}} stream 1
// CHECK: exec.collective all_gather
// CHECK: exec.matmul
// CHECK-NOT: exec.event_wait {{.*}} stream 1
// CHECK: exec.collective all_gather
// CHECK: exec.event_wait {{[0-9]+$}}
// CHECK-NEXT: exec.matmul

// WAITS: exec.arena_bytes = 17920
// WAITS: exec.matmul
// WAITS-NEXT: exec.event_record [[DONE:[0-9]+$]]
// WAITS-NEXT: exec.event_wait [[DONE]] stream 1
// WAITS-NEXT: exec.collective all_gather
dist.mesh @mesh = <["fsdp"=2]>
graph.parameter @u : tensor<32x64xf32> from [#graph.source<"u", file = [32, 64]>]
graph.parameter @v : tensor<32x64xf32> from [#graph.source<"v", file = [32, 64]>]

func.func @run(%x: tensor<2x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<2x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %u = exec.param @u : tensor<32x64xf32>
  %v = exec.param @v : tensor<32x64xf32>
  %e = tensor.empty() : tensor<64x64xf32>
  %r = tensor.empty() : tensor<2x64xf32>
  %wu = exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%u : tensor<32x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = exec.matmul m = 2 n = 64 k = 64 ins(%x, %wu : tensor<2x64xf32>, tensor<64x64xf32>) outs(%r : tensor<2x64xf32>) -> tensor<2x64xf32>
  %wv = exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%v : tensor<32x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = exec.matmul m = 2 n = 64 k = 64 ins(%h, %wv : tensor<2x64xf32>, tensor<64x64xf32>) outs(%r : tensor<2x64xf32>) -> tensor<2x64xf32>
  return %y : tensor<2x64xf32>
}
