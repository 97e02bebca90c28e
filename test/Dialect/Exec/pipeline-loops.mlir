// Collectives of a loop one iteration before, or after, the work that they are for; values pass between iterations, two of which are one of the new loop.
// RUN: llm-opt %s --exec-pipeline-loops --split-input-file | FileCheck %s
// Each place of a gathered weight is one of two, and none is copied; layers of what is returned are made where they lie, outside of the loop too.
// RUN: llm-opt %s --exec-pipeline-loops --kernels-to-exec=communication --exec-start-collectives --verify-exec-memory --exec-verify-order --split-input-file \
// RUN:   | FileCheck %s --check-prefix=EXEC --implicit-check-not=exec.copy --implicit-check-not='exec.launch @place'

// A gather: of layer 0 before the loop, of the next layer at the beginning of each, none in the last.
// CHECK-LABEL: func.func @gathers
// CHECK: exec.collective all_gather
// CHECK: %[[LOOP:.*]]:2 = exec.for %[[I:.*]] = 6 step 2 carry(%[[H:.*]] = %{{.*}} : tensor<8xf32>, %[[G:.*]] = %{{.*}} : tensor<8xf32>)
// CHECK: %[[NEXT:.*]] = exec.index_offset %[[I]], 1
// CHECK: exec.layer %{{.*}}[%[[NEXT]]]
// CHECK: %[[G1:.*]] = exec.collective all_gather
// CHECK: exec.launch @k ins(%[[G]] : tensor<8xf32>) outs(%[[H]] : tensor<8xf32>)
// CHECK: %[[AFTER:.*]] = exec.index_offset %[[I]], 2
// CHECK: exec.layer %{{.*}}[%[[AFTER]]]
// CHECK: %[[G2:.*]] = exec.collective all_gather
// CHECK: %[[H2:.*]] = exec.launch @k ins(%[[G1]] :
// CHECK: exec.yield %[[H2]], %[[G2]]
// CHECK: exec.collective all_gather
// CHECK: exec.launch @k ins(%[[LOOP]]#1 : tensor<8xf32>) outs(%[[LOOP]]#0 : tensor<8xf32>)
// CHECK-NOT: exec.collective
// CHECK: exec.launch @k
// CHECK-NOT: exec.launch
// CHECK: return

// EXEC-LABEL: func.func @gathers
// EXEC: exec.for
// EXEC: %[[ONE:.*]] = exec.collective_start all_gather {{.*}} outs(%[[A:.*]] : memref<8xf32>)
// EXEC: exec.launch @k ins(%[[B:.*]] : memref<8xf32>) outs(
// EXEC: %[[TWO:.*]] = exec.collective_start all_gather {{.*}} outs(%[[B]] : memref<8xf32>)
// EXEC-NEXT: exec.wait %[[ONE]]
// EXEC-NEXT: exec.launch @k ins(%[[A]] : memref<8xf32>) outs(
// EXEC-NEXT: exec.wait %[[TWO]]
// EXEC-NEXT: }
dist.mesh @mesh = <["fsdp"=2]>
graph.parameter @w : tensor<8x8xf32> stacked from [#graph.source<"w.{}", file = [8]>] {exec.local = tensor<8x4xf32>}
func.func private @k(tensor<8xf32>, tensor<8xf32>, index, index) -> tensor<8xf32>
func.func @gathers(%x: tensor<8xf32> {graph.kind = #graph.kind<state>, graph.name = "x"}) -> (tensor<8xf32> {graph.kind = #graph.kind<state>, graph.name = "x"}) attributes {exec.entry} {
  %w = exec.param @w : tensor<8x4xf32>
  %r = exec.for %i = 8 step 1 carry(%h = %x : tensor<8xf32>) {
    %l = exec.layer %w[%i] : tensor<8x4xf32> -> tensor<4xf32>
    %e = tensor.empty() : tensor<8xf32>
    %g = exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%l : tensor<4xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %y = exec.launch @k ins(%g : tensor<8xf32>) outs(%h : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
    exec.yield %y : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// A sum of a layer's gradients, last layer first: it begins beside the work of the layer before, and goes where its own number says.
// CHECK-LABEL: func.func @sums
// CHECK: exec.launch @k
// CHECK: exec.for %[[I:.*]] = 2 step 2 carry(%{{.*}}, %{{.*}}, %[[P:.*]] = %{{.*}} : tensor<8xf32>)
// CHECK: %[[OLD:.*]] = exec.index_offset %[[I]], 3 reverse
// CHECK: %[[S:.*]] = exec.collective reduce_scatter sum {{.*}} ins(%[[P]] : tensor<8xf32>)
// CHECK: exec.launch @k
// CHECK: exec.launch @place ins(%[[S]] : tensor<4xf32>) {{.*}} scalars(%[[OLD]])
// CHECK: exec.yield
// CHECK: exec.collective reduce_scatter
// CHECK: exec.launch @k
// CHECK: exec.launch @place
// CHECK: exec.collective reduce_scatter
// CHECK-NOT: exec.launch @k
// CHECK: exec.launch @place
// CHECK: return
// EXEC-LABEL: func.func @sums
// EXEC: exec.for
// EXEC: exec.collective_start reduce_scatter
// EXEC: exec.launch @k
// EXEC: exec.wait
// EXEC: exec.collective_start reduce_scatter
// EXEC: exec.launch @k
// EXEC: exec.wait
// EXEC-NEXT: }
dist.mesh @mesh = <["fsdp"=2]>
func.func private @k(tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, index, index) -> (tensor<8xf32>, tensor<8xf32>)
func.func private @place(tensor<4xf32>, tensor<4x4xf32>, index, index, index) -> tensor<4x4xf32>
func.func @sums(%x: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<4x4xf32> {graph.kind = #graph.kind<output>, graph.name = "g"}) attributes {exec.entry} {
  %s0 = tensor.empty() : tensor<4x4xf32>
  %r:2 = exec.for %i = 4 step 1 carry(%h = %x : tensor<8xf32>, %s = %s0 : tensor<4x4xf32>) {
    %j = exec.index_offset %i, 3 reverse
    %f = tensor.empty() : tensor<8xf32>
    %p = tensor.empty() : tensor<8xf32>
    %y:2 = exec.launch @k ins(%h : tensor<8xf32>) outs(%f, %p : tensor<8xf32>, tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>, tensor<8xf32>
    %e = tensor.empty() : tensor<4xf32>
    %g = exec.collective reduce_scatter sum over [#dist.axis_ref<"fsdp">] ins(%y#1 : tensor<8xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %n = exec.launch @place ins(%g : tensor<4xf32>) outs(%s : tensor<4x4xf32>) scalars(%j) count = 1 grain = 1 modes(layer) copies -> tensor<4x4xf32>
    exec.yield %y#0, %n : tensor<8xf32>, tensor<4x4xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<4x4xf32>
}

// -----

// Left alone: a collective of what the loop carries, whose result the next iteration reads; a loop whose count the call gives.
// CHECK-LABEL: func.func @alone
// CHECK: exec.for %{{.*}} = 4 step 1
// CHECK: exec.for %{{.*}} = call[0] in 1 to 4 step 1
// CHECK-NOT: exec.for
// EXEC-LABEL: func.func @alone
// EXEC: exec.for
// EXEC-NOT: exec.collective_start
// EXEC: return
dist.mesh @mesh = <["fsdp"=2]>
graph.parameter @w : tensor<4x8xf32> stacked from [#graph.source<"w.{}", file = [8]>] {exec.local = tensor<4x4xf32>}
func.func private @k(tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, index, index) -> tensor<8xf32>
func.func private @add(tensor<8xf32>, tensor<8xf32>, index, index) -> tensor<8xf32>
func.func @alone(%x: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %w = exec.param @w : tensor<4x4xf32>
  %z = tensor.empty() : tensor<8xf32>
  %b = exec.launch @k ins(%x, %x : tensor<8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  %r = exec.for %i = 4 step 1 carry(%h = %b : tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %g = exec.collective all_reduce sum over [#dist.axis_ref<"fsdp">] ins(%h : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    exec.yield %g : tensor<8xf32>
  }
  %q = exec.for %i = call[0] in 1 to 4 step 1 carry(%h = %r : tensor<8xf32>) {
    %l = exec.layer %w[%i] : tensor<4x4xf32> -> tensor<4xf32>
    %e = tensor.empty() : tensor<8xf32>
    %g = exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%l : tensor<4xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %y = exec.launch @add ins(%g : tensor<8xf32>) outs(%h : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
    exec.yield %y : tensor<8xf32>
  }
  return %q : tensor<8xf32>
}
