// The next values of variables are made where they lie if the old value is read before, else copied there as soon as nothing reads it any more.
// RUN: llm-opt %s --split-input-file --verify-diagnostics --kernels-to-exec --verify-exec-memory --exec-verify-variables | FileCheck %s

// @a is read once more behind its update; @b is not. @c begins as what @a was: all such copies come last.
// CHECK-LABEL: func.func @updates() attributes
// CHECK-NOT: returns
// CHECK-DAG: %[[A:.*]] = exec.param @a : memref<16xf32>
// CHECK-DAG: %[[B:.*]] = exec.param @b : memref<16xf32>
// CHECK: exec.launch @k ins(%[[A]] : memref<16xf32>) outs(%[[NEXT_A:.*]] : memref<16xf32>)
// CHECK-NEXT: exec.launch @k ins(%[[B]] : memref<16xf32>) outs(%[[NEXT_B:.*]] : memref<16xf32>)
// CHECK-NEXT: exec.copy %[[NEXT_B]] to %[[B]]
// CHECK-NEXT: exec.launch @k ins(%[[A]] : memref<16xf32>) outs(
// CHECK-NEXT: exec.copy %[[A]] to %[[OLD:.*]] :
// CHECK-NEXT: exec.copy %[[NEXT_A]] to %[[A]]
// CHECK-NEXT: exec.copy %[[OLD]] to %{{.*}}
// CHECK-NOT: exec.copy
module {
graph.parameter @a : tensor<16xf32> variable from [#graph.source<"a", file = [16]>] {exec.local = tensor<16xf32>}
graph.parameter @b : tensor<16xf32> variable from [#graph.source<"b", file = [16]>] {exec.local = tensor<16xf32>}
graph.parameter @c : tensor<16xf32> variable from [#graph.source<"c", file = [16]>] {exec.local = tensor<16xf32>}
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @updates() -> (tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "a"}, tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "b"},
    tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "c"}, tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %a = exec.param @a : tensor<16xf32>
  %b = exec.param @b : tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @k ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %1 = exec.launch @k ins(%b : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %2 = exec.launch @k ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0, %1, %a, %2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
}

// -----

// @a is read once more behind what is made of it, and no other variable begins as it was.
// CHECK-LABEL: func.func @read_once_more()
// CHECK: %[[A:.*]] = exec.param @a : memref<16xf32>
// CHECK: exec.launch @k ins(%[[A]] : memref<16xf32>) outs(%[[NEXT:.*]] : memref<16xf32>)
// CHECK-NEXT: exec.launch @k ins(%[[A]] : memref<16xf32>) outs(
// CHECK-NEXT: exec.copy %[[NEXT]] to %[[A]]
// CHECK-NOT: exec.copy
module {
graph.parameter @a : tensor<16xf32> variable from [#graph.source<"a", file = [16]>] {exec.local = tensor<16xf32>}
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @read_once_more() -> (tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "a"}, tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %a = exec.param @a : tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @k ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %1 = exec.launch @k ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}
}

// -----

// A view of @a is read behind what is made of it. @b becomes a view: what that shows is made in @b, which nothing reads.
// CHECK-LABEL: func.func @views()
// CHECK-DAG: %[[A:.*]] = exec.param @a : memref<16xf32>
// CHECK-DAG: %[[B:.*]] = exec.param @b : memref<16xf32>
// CHECK: exec.launch @k ins(%[[A]] : memref<16xf32>) outs(%[[NEXT_A:.*]] : memref<16xf32>)
// CHECK: %[[IN_B:.*]] = exec.reshape %[[B]]
// CHECK-NEXT: exec.launch @square ins({{.*}}) outs(%[[IN_B]] : memref<4x4xf32>)
// CHECK-NEXT: exec.launch @square
// CHECK-NEXT: exec.copy %[[NEXT_A]] to %[[A]]
// CHECK-NEXT: exec.reshape %[[IN_B]]
// CHECK-NEXT: return
module {
graph.parameter @a : tensor<16xf32> variable from [#graph.source<"a", file = [16]>] {exec.local = tensor<16xf32>}
graph.parameter @b : tensor<16xf32> variable from [#graph.source<"b", file = [16]>] {exec.local = tensor<16xf32>}
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func private @square(tensor<4x4xf32>, tensor<4x4xf32>, index, index) -> tensor<4x4xf32>
func.func @views() -> (tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "a"}, tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "b"},
    tensor<4x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %a = exec.param @a : tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %e4 = tensor.empty() : tensor<4x4xf32>
  %v = exec.reshape %a : tensor<16xf32> -> tensor<4x4xf32>
  %0 = exec.launch @k ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %1 = exec.launch @square ins(%v : tensor<4x4xf32>) outs(%e4 : tensor<4x4xf32>) count = 1 grain = 1 -> tensor<4x4xf32>
  %2 = exec.launch @square ins(%v : tensor<4x4xf32>) outs(%e4 : tensor<4x4xf32>) count = 1 grain = 1 -> tensor<4x4xf32>
  %b = exec.reshape %1 : tensor<4x4xf32> -> tensor<16xf32>
  return %0, %b, %2 : tensor<16xf32>, tensor<16xf32>, tensor<4x4xf32>
}
}

// -----

module {
graph.parameter @a : tensor<16xf32> from [#graph.source<"a", file = [16]>] {exec.local = tensor<16xf32>}
// expected-error @+1 {{gives parameter "a" a new value, which is no variable that it takes}}
func.func @fixed(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "a"}) attributes {exec.entry} {
  return %x : tensor<16xf32>
}
}

// -----

// @a is updated where it lies by the last op that reads it. @b is read once more behind that, @c by the op itself: they are updated elsewhere and copied.
// CHECK-LABEL: func.func @in_place()
// CHECK-DAG: %[[A:.*]] = exec.param @a : memref<16xf32>
// CHECK-DAG: %[[B:.*]] = exec.param @b : memref<16xf32>
// CHECK-DAG: %[[C:.*]] = exec.param @c : memref<16xf32>
// CHECK: exec.launch @k ins(%[[A]] : memref<16xf32>)
// CHECK-NEXT: exec.launch @u outs(%[[A]] : memref<16xf32>) count = 1 grain = 1 modes(update)
// CHECK-NEXT: exec.copy %[[B]] to %[[NEXT_B:.*]] :
// CHECK-NEXT: exec.launch @u outs(%[[NEXT_B]] : memref<16xf32>) count = 1 grain = 1 modes(update)
// CHECK-NEXT: exec.launch @k ins(%[[B]] : memref<16xf32>)
// CHECK-NEXT: exec.copy %[[NEXT_B]] to %[[B]]
// CHECK-NEXT: exec.copy %[[C]] to %[[NEXT_C:.*]] :
// CHECK-NEXT: exec.launch @k ins(%[[C]] : memref<16xf32>) outs(%[[NEXT_C]] : memref<16xf32>) count = 1 grain = 1 modes(update)
// CHECK-NEXT: exec.copy %[[NEXT_C]] to %[[C]]
// CHECK-NEXT: return
module {
graph.parameter @a : tensor<16xf32> variable from [#graph.source<"a", file = [16]>] {exec.local = tensor<16xf32>}
graph.parameter @b : tensor<16xf32> variable from [#graph.source<"b", file = [16]>] {exec.local = tensor<16xf32>}
graph.parameter @c : tensor<16xf32> variable from [#graph.source<"c", file = [16]>] {exec.local = tensor<16xf32>}
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func private @u(tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @in_place() -> (tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "a"}, tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "b"},
    tensor<16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "c"}, tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) attributes {exec.entry} {
  %a = exec.param @a : tensor<16xf32>
  %b = exec.param @b : tensor<16xf32>
  %c = exec.param @c : tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %y = exec.launch @k ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %0 = exec.launch @u outs(%a : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %1 = exec.launch @u outs(%b : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %z = exec.launch @k ins(%b : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %2 = exec.launch @k ins(%c : tensor<16xf32>) outs(%c : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0, %1, %2, %y, %z : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
}
