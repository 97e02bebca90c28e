// Within few bytes a block is split over axes that nobody asked for; without a limit nothing is sent.
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s --check-prefix=FREE
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards=live-bytes=200000 --verify-rung=rung=sharded --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %s

dist.mesh @mesh = <["x"=8]>

// The result is 131,072 bytes whole; each value on the way an eighth of that: 16,384.
// FREE-NOT: dist.reshard
// CHECK: remark: [Passed] memory{{.*}}block of func.func: a rank has 147456 bytes of what it makes at once, of 200000
// CHECK: graph.silu {{.*}} : tensor<64x512xf32, #dist.sharding<@mesh, [{{.*}}"x"{{.*}}]>>
// CHECK: graph.add {{.*}} -> tensor<64x512xf32, #dist.sharding<@mesh, [{{.*}}"x"{{.*}}]>>
// CHECK-NEXT: dist.reshard {{.*}} -> tensor<64x512xf32, #dist.sharding<@mesh, [{}, {}]>>
func.func @few_bytes(%v: tensor<64x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<64x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %a = graph.relu %v : tensor<64x512xf32>
  %b = graph.silu %a : tensor<64x512xf32>
  %c = graph.add %a, %b : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  return %c : tensor<64x512xf32>
}
