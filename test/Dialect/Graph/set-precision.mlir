// RUN: llm-opt %s --graph-set-precision="compute=bf16" --split-input-file | FileCheck %s
// RUN: llm-opt %s --graph-set-precision="compute=f16 gradients=f16" --split-input-file | FileCheck %s --check-prefix=HALF
// RUN: llm-opt %s --graph-set-precision="compute=bf16" --graph-differentiate="of=w,scale,table" --split-input-file | FileCheck %s --check-prefix=SUMS
// RUN: llm-opt %s --graph-set-precision="compute=bf16 gradients=bf16" --graph-differentiate="of=w,scale,table" --split-input-file | FileCheck %s --check-prefix=ROUNDED

// Parameters and constants are rounded once; what is computed from them is 16 bits wide, inside loops too. A sum gives
// float32 by itself.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[IDS:.*]]: tensor<4xi32>, %[[TABLE:.*]]: tensor<9x8xf32> {{.*}}, %[[SCALE:.*]]: tensor<3x8xf32> {{.*}}, %[[W:.*]]: tensor<6x8xf32> {{.*}} -> (tensor<f32>
// CHECK-DAG: %[[T:.*]] = graph.cast %[[TABLE]] {graph.gradient = f32} : (tensor<9x8xf32>) -> tensor<9x8xbf16>
// CHECK-DAG: %[[S:.*]] = graph.cast %[[SCALE]] {graph.gradient = f32} : (tensor<3x8xf32>) -> tensor<3x8xbf16>
// CHECK-DAG: %[[WEIGHT:.*]] = graph.cast %[[W]] {graph.gradient = f32} : (tensor<6x8xf32>) -> tensor<6x8xbf16>
// CHECK: %[[ROWS:.*]] = graph.embedding %[[T]], %[[IDS]] : {{.*}} -> tensor<4x8xbf16>
// CHECK: %[[TWO:.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[NARROW:.*]] = graph.cast %[[TWO]] {graph.gradient = f32} : (tensor<f32>) -> tensor<bf16>
// CHECK: graph.mul %[[ROWS]], %[[NARROW]] : (tensor<4x8xbf16>, tensor<bf16>) -> tensor<4x8xbf16>
// CHECK: graph.repeat 3 carry({{.*}} : tensor<4x8xbf16>) stack(%[[S]] : tensor<3x8xbf16>)
// CHECK: graph.rms_norm {{.*}} : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
// CHECK: %[[PRODUCT:.*]] = graph.linear {{.*}}, %[[WEIGHT]] contract = 1 : (tensor<4x8xbf16>, tensor<6x8xbf16>) -> tensor<4x6xbf16>
// CHECK-NEXT: %[[TANH:.*]] = graph.tanh %[[PRODUCT]] : tensor<4x6xbf16>
// CHECK-NEXT: %[[LOSS:.*]] = graph.reduce sum %[[TANH]] dims = [0, 1] : (tensor<4x6xbf16>) -> tensor<f32>
// CHECK-NEXT: return %[[LOSS]]
// HALF-LABEL: func.func @forward
// HALF: graph.cast {{.*}} {graph.gradient = f16} : (tensor<9x8xf32>) -> tensor<9x8xf16>

// Gradients of what was rounded keep the sums: of a product with operands in 16 bits, of the rows of a table, of a scale in a loop. What the product
// multiplies is as wide as forward's operands.
// SUMS-LABEL: func.func @forward
// SUMS: graph.repeat 3 carry
// SUMS: graph.einsum {{.*}} : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xf32>
// SUMS: graph.repeat 3 reverse carry({{.*}} -> (tensor<4x8xbf16>, tensor<3x8xf32>)
// SUMS: graph.scatter_add {{.*}} : (tensor<4x8xbf16>, tensor<4xi32>) -> tensor<9x8xf32>
// SUMS-NOT: graph.cast
// SUMS: return

// Or they are rounded where backward makes them, and ranks exchange them so. Gradients of what is computed are none of those.
// ROUNDED-LABEL: func.func @forward
// ROUNDED: graph.einsum {{.*}} {graph.terms = bf16} : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
// ROUNDED-NOT: graph.terms
// ROUNDED: -> (tensor<4x8xbf16>, tensor<3x8xbf16>)
// ROUNDED-NOT: graph.terms
// ROUNDED: graph.cast {{.*}} {graph.terms = bf16} : (tensor<8xf32>) -> tensor<8xbf16>
// ROUNDED-NOT: graph.terms
// ROUNDED: graph.cast {{.*}} {graph.terms = bf16} : (tensor<9x8xf32>) -> tensor<9x8xbf16>
func.func @forward(%ids: tensor<4xi32>, %table: tensor<9x8xf32> {graph.name = "table"}, %scale: tensor<3x8xf32> {graph.name = "scale"}, %w: tensor<6x8xf32> {graph.name = "w"})
    -> (tensor<f32> {graph.name = "loss"}) {
  %rows = graph.embedding %table, %ids : (tensor<9x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %two = graph.constant dense<2.0> : tensor<f32> : tensor<f32>
  %x = graph.mul %rows, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %y = graph.repeat 3 carry(%x : tensor<4x8xf32>) stack(%scale : tensor<3x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<4x8xf32>, %s: tensor<8xf32>):
    %n = graph.rms_norm %c, %s eps = 1.0e-6 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    graph.yield %n : tensor<4x8xf32>
  }
  %p = graph.linear %y, %w contract = 1 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %t = graph.tanh %p : tensor<4x6xf32>
  %l = graph.reduce sum %t dims = [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Results are float32 back to the product that they are made of. What has to be float32 is so, and is rounded behind; a result that is made in 16 bits
// is widened; a parameter that leads to a result alone is not rounded.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {graph.name = "scale"}
// CHECK: %[[LOSS:.*]], %{{.*}} = graph.cross_entropy {{.*}} : (tensor<4x6xbf16>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[NARROW:.*]] = graph.cast %[[LOSS]] : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK: %[[LOOP:.*]] = graph.repeat 2 carry(%[[NARROW]] : tensor<4xbf16>)
// CHECK: %[[PRODUCT:.*]] = graph.linear {{.*}} : (tensor<4x6xbf16>, tensor<4x6xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[TANH:.*]] = graph.tanh %[[PRODUCT]] : tensor<4x4xf32>
// CHECK-NEXT: %[[LOGITS:.*]] = graph.mul %[[TANH]], %[[SCALE]] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
// CHECK: %[[WIDE:.*]] = graph.cast %[[LOOP]] : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK: return %[[WIDE]], %[[LOGITS]], %[[SCALE]]
// HALF-LABEL: func.func @forward
// SUMS-LABEL: func.func @forward
// ROUNDED-LABEL: func.func @forward
func.func @forward(%w: tensor<4x6xf32> {graph.name = "w"}, %scale: tensor<f32> {graph.name = "scale"}, %table: tensor<f32> {graph.name = "table"}, %labels: tensor<4xi32>)
    -> (tensor<4xf32> {graph.name = "each"}, tensor<4x4xf32> {graph.name = "logits"}, tensor<f32> {graph.name = "loss"}) {
  %loss, %lse = graph.cross_entropy %w, %labels : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  %y = graph.repeat 2 carry(%loss : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<4xf32>):
    %n = graph.neg %c : tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  %p = graph.linear %w, %w contract = 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
  %t = graph.tanh %p : tensor<4x4xf32>
  %logits = graph.mul %t, %scale : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %y, %logits, %scale : tensor<4xf32>, tensor<4x4xf32>, tensor<f32>
}
