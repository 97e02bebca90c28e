// Attention with its log-sum-exp, and what backward makes of it, print what they parse.
// RUN: llm-opt %s | llm-opt | FileCheck %s

!q = tensor<1x4x2x3x8xf32>
!k = tensor<1x6x2x8xf32>
!v = tensor<1x6x2x5xf32>
!o = tensor<1x4x2x3x5xf32>
!row = tensor<1x4x2x3xf32>
!p = tensor<1x4xi32>

// CHECK-LABEL: func.func @backward
func.func @backward(%q: !q, %k: !k, %v: !v, %p: !p, %g: !o, %delta: !row) -> (!q, !k, !v) {
  // CHECK: %[[O:.*]], %[[LSE:.*]] = graph.attention %{{.*}} scale = 5.000000e-01 {window = 4 : i64} : {{.*}} -> (tensor<1x4x2x3x5xf32>, tensor<1x4x2x3xf32>)
  %o, %lse = graph.attention %q, %k, %v, %p scale = 0.5 {window = 4 : i64} : (!q, !k, !v, !p) -> (!o, !row)
  // CHECK: graph.attention_query_gradient %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[LSE]], %{{.*}} scale = 5.000000e-01 {window = 4 : i64} :
  // CHECK-SAME: -> tensor<1x4x2x3x8xf32>
  %dq = graph.attention_query_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.5 {window = 4 : i64} : (!q, !k, !v, !p, !o, !row, !row) -> !q
  // CHECK: graph.attention_key_value_gradient %{{.*}}, %[[LSE]], %{{.*}} scale = 5.000000e-01 {softcap = 2.000000e+00 : f64} :
  // CHECK-SAME: -> (tensor<1x6x2x8xf32>, tensor<1x6x2x5xf32>)
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.5 {softcap = 2.0 : f64} : (!q, !k, !v, !p, !o, !row, !row) -> (!k, !v)
  return %dq, %dk, %dv : !q, !k, !v
}

!q16 = tensor<1x4x2x3x8xbf16>
!k16 = tensor<1x6x2x8xbf16>

// Gradients of keys and values are sums, and may be as wide as these.
// CHECK-LABEL: func.func @sums
func.func @sums(%q: !q16, %k: !k16, %p: !p, %row: !row) -> (!k, !k) {
  // CHECK: graph.attention_key_value_gradient
  // CHECK-SAME: -> (tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %k, %p, %q, %row, %row scale = 0.5 : (!q16, !k16, !k16, !p, !q16, !row, !row) -> (!k, !k)
  return %dk, %dv : !k, !k
}
