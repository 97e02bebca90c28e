// The entry that drops nothing: every op that drops keeps all, and what was drawn from is no input. The entry that drops stays as it is.
// RUN: llm-opt %s --graph-leave-out-dropout --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: func.func @train(%[[Q:.*]]: tensor<2x4x1x1x6xf32> {{{.*}}}, %[[K:.*]]: tensor<2x4x1x6xf32> {{{.*}}}, %[[POSITIONS:.*]]: tensor<2x4xi32> {{{.*}}}, %[[LSE:.*]]: tensor<2x4x1x1xf32>
// CHECK-SAME: attributes {graph.role = #graph.role<train>}
// CHECK-NOT: random_key
// CHECK-NOT: dropout
// CHECK: %[[O:.*]] = graph.attention %[[Q]], %[[K]], %[[K]], %[[POSITIONS]] scale
// CHECK: graph.attention_query_gradient %[[Q]], %[[K]], %[[K]], %[[POSITIONS]], %[[O]], %[[LSE]], %[[LSE]] scale
// CHECK: graph.attention_key_value_gradient %[[Q]], %[[K]], %[[K]], %[[POSITIONS]], %[[O]], %[[LSE]], %[[LSE]] scale
// CHECK: return
// CHECK: func.func @train_dropout
// CHECK: graph.random_key
// CHECK: graph.attention {{.*}} dropout
// CHECK: graph.dropout
// CHECK: graph.attention_query_gradient {{.*}} dropout
// CHECK: graph.attention_key_value_gradient {{.*}} dropout
func.func @train_dropout(%q: tensor<2x4x1x1x6xf32> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<2x4x1x6xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
    %positions: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions"}, %lse: tensor<2x4x1x1xf32> {graph.kind = #graph.kind<input>, graph.name = "lse"},
    %key: tensor<i64> {graph.fill = #graph.fill<dropout_key>, graph.kind = #graph.kind<input>, graph.name = "key"},
    %p: tensor<f32> {graph.fill = #graph.fill<dropout>, graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<2x4x1x1x6xf32> {graph.kind = #graph.kind<output>, graph.name = "dq"}, tensor<2x4x1x6xf32> {graph.kind = #graph.kind<output>, graph.name = "dk"}, tensor<2x4x1x6xf32> {graph.kind = #graph.kind<output>, graph.name = "dv"})
    attributes {graph.role = #graph.role<train_dropout>} {
  %stream = graph.constant dense<1> : tensor<i64> : tensor<i64>
  %rows = graph.iota dim = 0 : tensor<2x4x1x1xi64>
  %keys = graph.random_key %key, %stream, %rows : (tensor<i64>, tensor<i64>, tensor<2x4x1x1xi64>) -> tensor<2x4x1x1xi64>
  %o = graph.attention %q, %k, %k, %positions dropout %keys, %p scale = 0.4 : (tensor<2x4x1x1x6xf32>, tensor<2x4x1x6xf32>, tensor<2x4x1x6xf32>, tensor<2x4xi32>, tensor<2x4x1x1xi64>, tensor<f32>) -> tensor<2x4x1x1x6xf32>
  %columns = graph.iota dim = 0 : tensor<6xi32>
  %row_keys = graph.reshape %keys : (tensor<2x4x1x1xi64>) -> tensor<2x4x1x1x1xi64>
  %kept = graph.dropout %o keys %row_keys columns %columns probability %p : (tensor<2x4x1x1x6xf32>, tensor<2x4x1x1x1xi64>, tensor<6xi32>, tensor<f32>) -> tensor<2x4x1x1x6xf32>
  %dq = graph.attention_query_gradient %q, %k, %k, %positions, %kept, %lse, %lse dropout %keys, %p scale = 0.4 : (tensor<2x4x1x1x6xf32>, tensor<2x4x1x6xf32>, tensor<2x4x1x6xf32>, tensor<2x4xi32>, tensor<2x4x1x1x6xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xi64>, tensor<f32>) -> tensor<2x4x1x1x6xf32>
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %k, %positions, %kept, %lse, %lse dropout %keys, %p scale = 0.4 : (tensor<2x4x1x1x6xf32>, tensor<2x4x1x6xf32>, tensor<2x4x1x6xf32>, tensor<2x4xi32>, tensor<2x4x1x1x6xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xi64>, tensor<f32>) -> (tensor<2x4x1x6xf32>, tensor<2x4x1x6xf32>)
  return %dq, %dk, %dv : tensor<2x4x1x1x6xf32>, tensor<2x4x1x6xf32>, tensor<2x4x1x6xf32>
}

// -----

// An op that reads the share and cannot keep all would drop in the entry that drops nothing.
func.func @train_dropout(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %p: tensor<f32> {graph.fill = #graph.fill<dropout>, graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {graph.role = #graph.role<train_dropout>} {
  // expected-error @+1 {{stays in the entry that drops nothing, though it reads what is drawn from: what drops elements says how to keep all (DropOpInterface)}}
  %y = graph.mul %x, %p : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
