// An iteration that takes several tiles in turn computes once what they share, and what others read of it is stored once: the same numbers as one tile an iteration.
// REQUIRES: standin
// RUN: env TESSERA_PTXAS= TESSERA_STANDIN_RACES=1 %standin llm-judge %s --rung=binary --target=cuda --target-options=grain=16 --seed=%seed
// RUN: %build/bin/llm-judge-fused %s --rung=binary --target=fused --target-options=tile=1024,small=16,iterations=8
// RUN: llm-opt %s --spmd-to-kernels="target=cuda target-options=grain=16" | FileCheck %s

// 4 x 389 outputs, one a tile (389 has no divisors), two tiles an iteration. The norm stands in front of the loop over them.
// CHECK: exec.launch @[[KERNEL:rms_norm_linear_[a-z0-9_]*]] ins({{.*}}) outs({{.*}}) count = 778
// CHECK: func.func private @[[KERNEL]](
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = arith.muli
// CHECK: math.rsqrt
// CHECK: scf.for %[[TURN:.*]] = %c0{{.*}} to %c2
// CHECK: arith.addi %[[FIRST]], %[[TURN]]
// CHECK-NOT: math.rsqrt
// CHECK: return
func.func @turns(%x: tensor<1x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %n: tensor<64xf32> {graph.kind = #graph.kind<input>, graph.name = "n"}, %w: tensor<4x389x64xf32> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<1x4x389xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<1x64xf32> {graph.kind = #graph.kind<output>, graph.name = "h"}) {
  %h = graph.rms_norm %x, %n eps = 1.0e-5 : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<1x64xf32>
  %y = graph.linear %h, %w contract = 1 : (tensor<1x64xf32>, tensor<4x389x64xf32>) -> tensor<1x4x389xf32>
  return %y, %h : tensor<1x4x389xf32>, tensor<1x64xf32>
}

// What takes nothing and is read by what the tiles share is made in front of the loop, too.
// CHECK: func.func private @iota_compare
// CHECK: arith.cmpi slt
// CHECK: math.rsqrt
// CHECK: scf.for
// CHECK-NOT: arith.cmpi slt
// CHECK: return
func.func @maker(%x: tensor<1x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %n: tensor<64xf32> {graph.kind = #graph.kind<input>, graph.name = "n"}, %w: tensor<4x389x64xf32> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<1x4x389xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %i = graph.iota dim = 0 : tensor<64xi32>
  %last = graph.constant dense<50> : tensor<i32> : tensor<i32>
  %in = graph.compare lt %i, %last : (tensor<64xi32>, tensor<i32>) -> tensor<64xi1>
  %minus = graph.neg %n : tensor<64xf32>
  %m = graph.select %in, %n, %minus : (tensor<64xi1>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %h = graph.rms_norm %x, %m eps = 1.0e-5 : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<1x64xf32>
  %y = graph.linear %h, %w contract = 1 : (tensor<1x64xf32>, tensor<4x389x64xf32>) -> tensor<1x4x389xf32>
  return %y : tensor<1x4x389xf32>
}
