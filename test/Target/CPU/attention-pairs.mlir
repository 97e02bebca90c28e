// Attention of bfloat16 arrays multiplies in pairs where the CPU does, and heads are even: of many rows, and both gradients.
// RUN: llm-opt %s --tessera-to-kernels=target-options=cpu=znver4 | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: llm-opt %s --tessera-to-kernels=target-options=cpu=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,ALONE
// RUN: llm-opt %s --tessera-to-kernels=target-options=cpu=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,ALONE

!q = tensor<1x32x2x1x8xbf16>
!k = tensor<1x64x2x8xbf16>
!row = tensor<1x32x2x1xf32>
!p = tensor<1x32xi32>

// Two neighbours of a key, in all lanes, times those of 16 queries. Nothing is widened any more.
// CHECK-LABEL: func.func private @attention_1x32x2x1x8
// PAIRS-NOT: arith.extf
// PAIRS: %[[TWO:.*]] = vector.load %{{.*}} : memref<1x64x2x8xbf16>, vector<2xbf16>
// PAIRS: %[[BITS:.*]] = vector.bitcast %[[TWO]] : vector<2xbf16> to vector<1xi32>
// PAIRS: %[[WORD:.*]] = vector.extract %[[BITS]][0] : i32 from vector<1xi32>
// PAIRS: %[[WORDS:.*]] = vector.broadcast %[[WORD]] : i32 to vector<16xi32>
// PAIRS: %[[ALL:.*]] = vector.bitcast %[[WORDS]] : vector<16xi32> to vector<32xbf16>
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[ALL]], %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// PAIRS-NOT: arith.extf
// ALONE-NOT: dpbf16ps
// CHECK-LABEL: func.func private @attention_query_gradient_1x32x2x1x8
// PAIRS-NOT: arith.extf
// PAIRS: dpbf16ps
// PAIRS-NOT: arith.extf
// ALONE-NOT: dpbf16ps
// CHECK-LABEL: func.func private @attention_key_value_gradient_1x32x2x1x8
// PAIRS-NOT: arith.extf
// PAIRS: dpbf16ps
// PAIRS-NOT: arith.extf
// ALONE-NOT: dpbf16ps
func.func @even(%q: !q {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k {graph.kind = #graph.kind<input>, graph.name = "k"}, %v: !k {graph.kind = #graph.kind<input>, graph.name = "v"}, %p: !p {graph.kind = #graph.kind<input>, graph.name = "p"}, %g: !q {graph.kind = #graph.kind<input>, graph.name = "g"}, %delta: !row {graph.kind = #graph.kind<input>, graph.name = "delta"}) -> (!q {graph.kind = #graph.kind<output>, graph.name = "dq"}, !k {graph.kind = #graph.kind<output>, graph.name = "dk"}, !k {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %o, %lse = graph.attention %q, %k, %v, %p scale = 0.35 : (!q, !k, !k, !p) -> (!q, !row)
  %dq = graph.attention_query_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 : (!q, !k, !k, !p, !q, !row, !row) -> !q
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 : (!q, !k, !k, !p, !q, !row, !row) -> (!k, !k)
  return %dq, %dk, %dv : !q, !k, !k
}

// A word would reach into the next head.
// CHECK-LABEL: func.func private @attention_1x32x2x1x7
// CHECK-NOT: dpbf16ps
!odd_q = tensor<1x32x2x1x7xbf16>
!odd_k = tensor<1x64x2x7xbf16>
func.func @odd(%q: !odd_q {graph.kind = #graph.kind<input>, graph.name = "oq"}, %k: !odd_k {graph.kind = #graph.kind<input>, graph.name = "ok"}, %v: !odd_k {graph.kind = #graph.kind<input>, graph.name = "ov"}, %p: !p {graph.kind = #graph.kind<input>, graph.name = "p"}) -> (!odd_q {graph.kind = #graph.kind<output>, graph.name = "o"}) {
  %o = graph.attention %q, %k, %v, %p scale = 0.35 : (!odd_q, !odd_k, !odd_k, !p) -> !odd_q
  return %o : !odd_q
}

// Another type of 16 bits, in all arrays or in one.
// CHECK-LABEL: func.func private @attention_1x32x2x1x6
// CHECK-NOT: dpbf16ps
!half_q = tensor<1x32x2x1x6xbf16>
!half_k = tensor<1x64x2x6xf16>
func.func @half(%q: !half_q {graph.kind = #graph.kind<input>, graph.name = "hq"}, %k: !half_k {graph.kind = #graph.kind<input>, graph.name = "hk"}, %v: !half_k {graph.kind = #graph.kind<input>, graph.name = "hv"}, %p: !p {graph.kind = #graph.kind<input>, graph.name = "p"}) -> (!half_q {graph.kind = #graph.kind<output>, graph.name = "h"}) {
  %o = graph.attention %q, %k, %v, %p scale = 0.35 : (!half_q, !half_k, !half_k, !p) -> !half_q
  return %o : !half_q
}

// Few rows: the head stands in the lanes, and is widened.
// CHECK-LABEL: func.func private @attention_1x1x2x1x8
// CHECK-NOT: dpbf16ps
!one = tensor<1x1x2x1x8xbf16>
!one_p = tensor<1x1xi32>
func.func @few(%q: !one {graph.kind = #graph.kind<input>, graph.name = "fq"}, %k: !k {graph.kind = #graph.kind<input>, graph.name = "fk"}, %v: !k {graph.kind = #graph.kind<input>, graph.name = "fv"}, %p: !one_p {graph.kind = #graph.kind<input>, graph.name = "fp"}) -> (!one {graph.kind = #graph.kind<output>, graph.name = "f"}) {
  %o = graph.attention %q, %k, %v, %p scale = 0.35 : (!one, !k, !k, !one_p) -> !one
  return %o : !one
}
