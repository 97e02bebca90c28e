// Weights in blocks are gathered as they are held: words of blocks travel, one piece comes behind the other, and the product says how many there are along each dimension of
// a layer. What is read in any other way, or does not nest, travels as floats and is expanded at load.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels | FileCheck %s

// 32 rows of 64 in Q8_0 are two units of 1088 bytes behind a header of 64. Q4_0 takes less: layers of a stack lie as far apart as the largest need, whichever that is.
// CHECK: graph.parameter @up {{.*}}exec.held = ["Q4_0", "Q8_0"], exec.layer_bytes = 2240 : i64
// CHECK-LABEL: func.func @rows
// CHECK: %[[HELD:.*]] = exec.param @up : tensor<2x560xi32>
// CHECK: exec.for %[[I:.*]] = 2
// CHECK: %[[LAYER:.*]] = exec.layer %[[HELD]][%[[I]]] : tensor<2x560xi32> -> tensor<560xi32>
// CHECK: %[[PIECES:.*]] = exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%[[LAYER]] : tensor<560xi32>) outs(%{{.*}} : tensor<2x1x560xi32>) {why = "linear needs it whole"}
// CHECK: exec.matmul m = 4 n = 64 k = 64 ins(%{{.*}}, %[[PIECES]] : tensor<4x64xf32>, tensor<2x1x560xi32>) packed @up outs
// CHECK-NOT: unrealized
dist.mesh @mesh = <["fsdp"=2]>
!x = tensor<4x64xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 64]>>
!stack = tensor<2x32x64xf32, #dist.sharding<@mesh, [{}, {"fsdp"}, {}], global=[2, 64, 64]>>
!piece = tensor<32x64xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[64, 64]>>
!whole = tensor<64x64xf32, #dist.sharding<@mesh, [{}, {}], global=[64, 64]>>
graph.parameter @up : tensor<2x64x64xf32> stacked from [#graph.source<"up.{}", file = [64, 64]>] {graph.held = ["Q4_0", "Q8_0"]}
func.func @rows(%x: !x {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: !stack {graph.kind = #graph.kind<parameter>, graph.name = "up"})
    -> (!x {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.repeat 2 carry(%x : !x) stack(%w : !stack) -> (!x) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: !x, %p: !piece):
    %1 = dist.all_gather %p dim = 0 axes = {"fsdp"} {why = "linear needs it whole"} : !piece -> !whole
    %2 = graph.linear %h, %1 contract = 1 : (!x, !whole) -> !x
    graph.yield %2 : !x
  }
  return %0 : !x
}

// -----

// Columns, 22 of 64 over three ranks: shards begin within blocks, and what they have beyond the whole is left out. Here the weight is gathered, there it stays where it is;
// either way it is held once.
// CHECK: graph.parameter @w {{.*}}exec.held = ["Q8_0"]{{.*}}exec.pack = 1
// CHECK-LABEL: func.func @columns
// CHECK: exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%{{.*}} : tensor<[[WORDS:[0-9]+]]xi32>) outs(%{{.*}} : tensor<1x3x[[WORDS]]xi32>)
// CHECK: exec.matmul m = 4 n = 32 k = 64 ins(%{{.*}}, %{{.*}} : tensor<4x64xf32>, tensor<1x3x[[WORDS]]xi32>) packed @w outs
// CHECK-LABEL: func.func @stays
// CHECK: exec.matmul m = 4 n = 32 k = 22 ins(%{{.*}} : tensor<4x22xf32>) packed @w outs
dist.mesh @mesh = <["fsdp"=3]>
!x = tensor<4x64xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 64]>>
!y = tensor<4x32xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 32]>>
!piece = tensor<32x22xf32, #dist.sharding<@mesh, [{}, {"fsdp"}], global=[32, 64]>>
!whole = tensor<32x64xf32, #dist.sharding<@mesh, [{}, {}], global=[32, 64]>>
!part = tensor<4x22xf32, #dist.sharding<@mesh, [{}, {"fsdp"}], global=[4, 64]>>
!sum = tensor<4x32xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"fsdp"}, global=[4, 32]>>
graph.parameter @w : tensor<32x64xf32> from [#graph.source<"w", file = [32, 64]>] {graph.held = ["Q8_0"]}
func.func @columns(%x: !x {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: !piece {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (!y {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %w dim = 1 axes = {"fsdp"} : !piece -> !whole
  %1 = graph.linear %x, %0 contract = 1 : (!x, !whole) -> !y
  return %1 : !y
}
func.func @stays(%x: !part {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: !piece {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (!y {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.linear %x, %w contract = 1 : (!part, !piece) -> !sum
  %1 = dist.all_reduce %0 axes = {"fsdp"} : !sum -> !y
  return %1 : !y
}

// -----

// A lookup reads rows of its own parameter, and a sum reads floats: whole tables of those are gathered as they lie.
// CHECK: graph.parameter @table
// CHECK-NOT: exec.held
// CHECK: exec.collective all_gather {{.*}} : tensor<32x32xf32>) outs(%{{.*}} : tensor<64x32xf32>)
dist.mesh @mesh = <["fsdp"=2]>
!ids = tensor<1x4xi32, #dist.sharding<@mesh, [{}, {}], global=[1, 4]>>
!x = tensor<1x4x32xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 32]>>
!y = tensor<1x4x64xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 64]>>
!piece = tensor<32x32xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[64, 32]>>
!whole = tensor<64x32xf32, #dist.sharding<@mesh, [{}, {}], global=[64, 32]>>
graph.parameter @table : tensor<64x32xf32> from [#graph.source<"table", file = [64, 32]>] {graph.held = ["Q8_0"]}
func.func @looked_up(%ids: !ids {graph.kind = #graph.kind<input>, graph.name = "tokens"}, %w: !piece {graph.kind = #graph.kind<parameter>, graph.name = "table"})
    -> (!y {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %w dim = 0 axes = {"fsdp"} : !piece -> !whole
  %1 = graph.embedding %0, %ids : (!whole, !ids) -> !x
  %2 = graph.linear %1, %0 contract = 1 : (!x, !whole) -> !y
  return %2 : !y
}
