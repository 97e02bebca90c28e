// Attention and its gradients in bfloat16, whose products may go in pairs: more rows and keys than a block has, an odd number of keys, rows that see
// nothing, keys that nobody sees, windows, caps, weights that are dropped.
// REQUIRES: slow
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --target-options=cpu=x86-64-v3

!q_causal = tensor<2x37x2x3x8xbf16>
!k_causal = tensor<2x45x2x8xbf16>
!v_causal = tensor<2x45x2x10xbf16>
!o_causal = tensor<2x37x2x3x10xbf16>
!row_causal = tensor<2x37x2x3xf32>
!p_causal = tensor<2x37xi32>
func.func @causal(%q: !q_causal {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_causal {graph.kind = #graph.kind<input>, graph.name = "k"}, %v: !v_causal {graph.kind = #graph.kind<input>, graph.name = "v"},
    %g: !o_causal {graph.kind = #graph.kind<input>, graph.name = "g"}, %delta: !row_causal {graph.kind = #graph.kind<input>, graph.name = "delta"})
    -> (!q_causal {graph.kind = #graph.kind<output>, graph.name = "dq"}, !k_causal {graph.kind = #graph.kind<output>, graph.name = "dk"}, !v_causal {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %p = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, -1, -1, -1, -1, -1, -1], [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]]> : !p_causal : !p_causal
  %o, %lse = graph.attention %q, %k, %v, %p scale = 0.35 : (!q_causal, !k_causal, !v_causal, !p_causal) -> (!o_causal, !row_causal)
  %dq = graph.attention_query_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35
      : (!q_causal, !k_causal, !v_causal, !p_causal, !o_causal, !row_causal, !row_causal) -> !q_causal
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35
      : (!q_causal, !k_causal, !v_causal, !p_causal, !o_causal, !row_causal, !row_causal) -> (!k_causal, !v_causal)
  return %dq, %dk, %dv : !q_causal, !k_causal, !v_causal
}

!q_windowed = tensor<1x70x2x1x12xbf16>
!k_windowed = tensor<1x70x2x12xbf16>
!v_windowed = tensor<1x70x2x16xbf16>
!o_windowed = tensor<1x70x2x1x16xbf16>
!row_windowed = tensor<1x70x2x1xf32>
!p_windowed = tensor<1x70xi32>
func.func @windowed(%q: !q_windowed {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_windowed {graph.kind = #graph.kind<input>, graph.name = "k"}, %v: !v_windowed {graph.kind = #graph.kind<input>, graph.name = "v"},
    %g: !o_windowed {graph.kind = #graph.kind<input>, graph.name = "g"}, %delta: !row_windowed {graph.kind = #graph.kind<input>, graph.name = "delta"})
    -> (!q_windowed {graph.kind = #graph.kind<output>, graph.name = "dq"}, !k_windowed {graph.kind = #graph.kind<output>, graph.name = "dk"}, !v_windowed {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %p = graph.constant dense<[[0, 29, 58, 17, 46, 5, 34, 63, 22, 51, 10, 39, 68, 27, 56, 15, 44, 3, 32, 61, 20, 49, 8, 37, 66, 25, 54, 13, 42, 1, 30, 59, 18, 47, 6, 35, 64, 23, 52, 11, 40, 69, 28, 57, 16, 45, 4, 33, 62, 21, 50, 9, 38, 67, 26, 55, 14, 43, 2, 31, 60, 19, 48, 7, 36, 65, 24, 53, 12, 41]]> : !p_windowed : !p_windowed
  %o, %lse = graph.attention %q, %k, %v, %p scale = 0.35 {window = 9 : i64} : (!q_windowed, !k_windowed, !v_windowed, !p_windowed) -> (!o_windowed, !row_windowed)
  %dq = graph.attention_query_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 {window = 9 : i64}
      : (!q_windowed, !k_windowed, !v_windowed, !p_windowed, !o_windowed, !row_windowed, !row_windowed) -> !q_windowed
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 {window = 9 : i64}
      : (!q_windowed, !k_windowed, !v_windowed, !p_windowed, !o_windowed, !row_windowed, !row_windowed) -> (!k_windowed, !v_windowed)
  return %dq, %dk, %dv : !q_windowed, !k_windowed, !v_windowed
}

!q_capped = tensor<1x20x1x2x8xbf16>
!k_capped = tensor<1x40x1x8xbf16>
!v_capped = tensor<1x40x1x8xbf16>
!o_capped = tensor<1x20x1x2x8xbf16>
!row_capped = tensor<1x20x1x2xf32>
!p_capped = tensor<1x20xi32>
func.func @capped(%q: !q_capped {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_capped {graph.kind = #graph.kind<input>, graph.name = "k"}, %v: !v_capped {graph.kind = #graph.kind<input>, graph.name = "v"},
    %g: !o_capped {graph.kind = #graph.kind<input>, graph.name = "g"}, %delta: !row_capped {graph.kind = #graph.kind<input>, graph.name = "delta"})
    -> (!q_capped {graph.kind = #graph.kind<output>, graph.name = "dq"}, !k_capped {graph.kind = #graph.kind<output>, graph.name = "dk"}, !v_capped {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %p = graph.constant dense<[[15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34]]> : !p_capped : !p_capped
  %o, %lse = graph.attention %q, %k, %v, %p scale = 0.35 {softcap = 1.5 : f64} : (!q_capped, !k_capped, !v_capped, !p_capped) -> (!o_capped, !row_capped)
  %dq = graph.attention_query_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 {softcap = 1.5 : f64}
      : (!q_capped, !k_capped, !v_capped, !p_capped, !o_capped, !row_capped, !row_capped) -> !q_capped
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 {softcap = 1.5 : f64}
      : (!q_capped, !k_capped, !v_capped, !p_capped, !o_capped, !row_capped, !row_capped) -> (!k_capped, !v_capped)
  return %dq, %dk, %dv : !q_capped, !k_capped, !v_capped
}

!q_capped_window = tensor<1x5x1x1x6xbf16>
!k_capped_window = tensor<1x70x1x6xbf16>
!v_capped_window = tensor<1x70x1x8xbf16>
!o_capped_window = tensor<1x5x1x1x8xbf16>
!row_capped_window = tensor<1x5x1x1xf32>
!p_capped_window = tensor<1x5xi32>
func.func @capped_window(%q: !q_capped_window {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_capped_window {graph.kind = #graph.kind<input>, graph.name = "k"}, %v: !v_capped_window {graph.kind = #graph.kind<input>, graph.name = "v"},
    %g: !o_capped_window {graph.kind = #graph.kind<input>, graph.name = "g"}, %delta: !row_capped_window {graph.kind = #graph.kind<input>, graph.name = "delta"})
    -> (!q_capped_window {graph.kind = #graph.kind<output>, graph.name = "dq"}, !k_capped_window {graph.kind = #graph.kind<output>, graph.name = "dk"}, !v_capped_window {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %p = graph.constant dense<[[60, -1, 2, 33, 90]]> : !p_capped_window : !p_capped_window
  %o, %lse = graph.attention %q, %k, %v, %p scale = 0.35 {softcap = 1.5 : f64, window = 20 : i64} : (!q_capped_window, !k_capped_window, !v_capped_window, !p_capped_window) -> (!o_capped_window, !row_capped_window)
  %dq = graph.attention_query_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 {softcap = 1.5 : f64, window = 20 : i64}
      : (!q_capped_window, !k_capped_window, !v_capped_window, !p_capped_window, !o_capped_window, !row_capped_window, !row_capped_window) -> !q_capped_window
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35 {softcap = 1.5 : f64, window = 20 : i64}
      : (!q_capped_window, !k_capped_window, !v_capped_window, !p_capped_window, !o_capped_window, !row_capped_window, !row_capped_window) -> (!k_capped_window, !v_capped_window)
  return %dq, %dk, %dv : !q_capped_window, !k_capped_window, !v_capped_window
}

// Gradients of keys and values as sums that are rounded later: a rank's terms.
!q_sums = tensor<1x37x2x1x8xbf16>
!k_sums = tensor<1x45x2x8xbf16>
!w_sums = tensor<1x45x2x8xf32>
!row_sums = tensor<1x37x2x1xf32>
!p_sums = tensor<1x37xi32>
func.func @sums(%q: !q_sums {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_sums {graph.kind = #graph.kind<input>, graph.name = "k"}, %v: !k_sums {graph.kind = #graph.kind<input>, graph.name = "v"},
    %p: !p_sums {graph.kind = #graph.kind<input>, graph.name = "p", graph.fill = #graph.fill<positions>}, %g: !q_sums {graph.kind = #graph.kind<input>, graph.name = "g"}, %delta: !row_sums {graph.kind = #graph.kind<input>, graph.name = "delta"})
    -> (!k_sums {graph.kind = #graph.kind<output>, graph.name = "dk"}, !k_sums {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %o, %lse = graph.attention %q, %k, %v, %p scale = 0.35 : (!q_sums, !k_sums, !k_sums, !p_sums) -> (!q_sums, !row_sums)
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %p, %g, %lse, %delta scale = 0.35
      : (!q_sums, !k_sums, !k_sums, !p_sums, !q_sums, !row_sums, !row_sums) -> (!w_sums, !w_sums)
  %rounded_dk = graph.cast %dk : (!w_sums) -> !k_sums
  %rounded_dv = graph.cast %dv : (!w_sums) -> !k_sums
  return %rounded_dk, %rounded_dv : !k_sums, !k_sums
}
