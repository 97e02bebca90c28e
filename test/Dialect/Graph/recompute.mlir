// RUN: llm-opt %s --graph-differentiate | FileCheck %s --check-prefix=NONE
// RUN: llm-opt %s --graph-differentiate=recompute=full | FileCheck %s --check-prefix=FULL
// RUN: llm-opt %s --graph-differentiate=recompute=up | FileCheck %s --check-prefix=UP
// RUN: llm-opt %s --graph-differentiate=recompute=act,up --remarks-filter=graph --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not llm-opt %s --graph-differentiate=recompute=act,upp 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: cannot compute 'upp' again (--recompute={{.*}}upp{{.*}}): no value in a loop of layers is called so; names there are in, up, act, residual
// REMARK: saved {{.*}}backward of the loop over 3 layers reads 256 bytes a layer that forward saves: in, residual; computed again: up, act

// Backward reads h (residual), the norm, up and act. Without recomputation act, which is elementwise and made of up, is not saved:
// no product runs twice, and up has as many bytes.
// NONE-LABEL: func.func @forward
// NONE: graph.repeat 3 carry({{.*}} -> (tensor<4x8xf32>, tensor<3x4x16xf32>, tensor<3x4x8xf32>, tensor<3x4x8xf32>) attributes {graph.saved = ["up", "in", "residual"]}
// NONE-COUNT-2: graph.linear
// NONE: graph.repeat 3 reverse
// NONE-NOT: graph.linear
// NONE: graph.sin
// NONE-NOT: graph.linear
// NONE: return

// What the loop carries is all that is saved. The product behind which nothing is read does not run again; every op stands in front of its first reader.
// FULL-LABEL: func.func @forward
// FULL: graph.repeat 3 carry({{.*}} -> (tensor<4x8xf32>, tensor<3x4x8xf32>) attributes {graph.saved = ["residual"]}
// FULL-COUNT-2: graph.linear
// FULL: graph.repeat 3 reverse
// FULL: %[[NORM:.*]] = graph.rms_norm
// FULL-NEXT: %[[IN:.*]] = graph.name %[[NORM]] "in"
// FULL-NEXT: %[[L:.*]] = graph.linear %[[IN]],
// FULL: graph.sin
// FULL-NOT: graph.linear
// FULL: return

// A value that is named runs again from the names before it: its product and its bias.
// UP-LABEL: func.func @forward
// UP: graph.repeat 3 carry({{.*}} -> (tensor<4x8xf32>, tensor<3x4x8xf32>, tensor<3x4x8xf32>) attributes {graph.saved = ["in", "residual"]}
// UP: graph.repeat 3 reverse
// UP-NOT: graph.rms_norm
// UP: graph.linear
// UP-NEXT: graph.add
// UP-NEXT: graph.name %{{.*}} "up"
// UP-NOT: graph.linear
// UP: return
func.func @forward(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %norm: tensor<3x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "norm"},
    %up: tensor<3x16x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up"},
    %bias: tensor<3x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias"},
    %down: tensor<3x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down"}) -> (tensor<f32> {graph.name = "loss"}) {
  %y = graph.repeat 3 carry(%x : tensor<4x8xf32>) stack(%norm, %up, %bias, %down : tensor<3x8xf32>, tensor<3x16x8xf32>, tensor<3x16xf32>, tensor<3x8x16xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x8xf32>, %n: tensor<8xf32>, %u: tensor<16x8xf32>, %b: tensor<16xf32>, %d: tensor<8x16xf32>):
    %0 = graph.rms_norm %h, %n eps = 1.0e-6 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %1 = graph.name %0 "in" : tensor<4x8xf32>
    %2 = graph.linear %1, %u contract = 1 : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %3 = graph.add %2, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
    %4 = graph.name %3 "up" : tensor<4x16xf32>
    %5 = graph.sin %4 : tensor<4x16xf32>
    %6 = graph.name %5 "act" : tensor<4x16xf32>
    %7 = graph.linear %6, %d contract = 1 : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
    %8 = graph.add %h, %7 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %9 = graph.name %8 "residual" : tensor<4x8xf32>
    graph.yield %9 : tensor<4x8xf32>
  }
  %l = graph.reduce sum %y dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
