// Sinks in both forms of the CPU's kernel: rows in the lanes, with more keys than a block has, a window, queries that see nothing, a log-sum-exp that counts
// them, and few rows; in bfloat16, whose products may go in pairs; of minus infinity, where there is none. The constants are far above and below the scores.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --target-options=cpu=x86-64-v3

!q_rows = tensor<2x37x2x3x8xf32>
!k_rows = tensor<2x70x2x8xf32>
!o_rows = tensor<2x37x2x3x8xf32>
!lse_rows = tensor<2x37x2x3xf32>
func.func @rows(%q: !q_rows {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_rows {graph.kind = #graph.kind<input>, graph.name = "k"})
    -> (!o_rows {graph.kind = #graph.kind<output>, graph.name = "o"}, !lse_rows {graph.kind = #graph.kind<output>, graph.name = "lse"}) {
  %p = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, -1, -1, -1, -1, -1, -1], [33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69]]> : tensor<2x37xi32> : tensor<2x37xi32>
  %s = graph.constant dense<[[2.5, -1.0, 0.0], [30.0, -40.0, 0xFF800000]]> : tensor<2x3xf32> : tensor<2x3xf32>
  %o, %lse = graph.attention %q, %k, %k, %p sinks %s scale = 0.35 : (!q_rows, !k_rows, !k_rows, tensor<2x37xi32>, tensor<2x3xf32>) -> (!o_rows, !lse_rows)
  return %o, %lse : !o_rows, !lse_rows
}

!q_windowed = tensor<1x20x2x1x12xf32>
!k_windowed = tensor<1x90x2x12xf32>
func.func @windowed(%q: !q_windowed {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_windowed {graph.kind = #graph.kind<input>, graph.name = "k"})
    -> (!q_windowed {graph.kind = #graph.kind<output>, graph.name = "o"}) {
  %p = graph.constant dense<[[0, 29, 58, 17, 46, 5, 34, 63, 22, 51, 10, 39, 68, 27, 56, 15, 44, 3, -1, 89]]> : tensor<1x20xi32> : tensor<1x20xi32>
  %s = graph.constant dense<[[1.5], [4.0]]> : tensor<2x1xf32> : tensor<2x1xf32>
  %o = graph.attention %q, %k, %k, %p sinks %s scale = 0.35 {softcap = 1.5 : f64, window = 9 : i64} : (!q_windowed, !k_windowed, !k_windowed, tensor<1x20xi32>, tensor<2x1xf32>) -> !q_windowed
  return %o : !q_windowed
}

!q_one = tensor<3x1x2x2x20xf32>
!k_one = tensor<3x300x2x20xf32>
!lse_one = tensor<3x1x2x2xf32>
func.func @one(%q: !q_one {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_one {graph.kind = #graph.kind<input>, graph.name = "k"})
    -> (!q_one {graph.kind = #graph.kind<output>, graph.name = "o"}, !lse_one {graph.kind = #graph.kind<output>, graph.name = "lse"}) {
  %p = graph.constant dense<[[299], [-1], [4]]> : tensor<3x1xi32> : tensor<3x1xi32>
  %s = graph.constant dense<[[5.5, -3.0], [30.0, 0xFF800000]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %o, %lse = graph.attention %q, %k, %k, %p sinks %s scale = 0.35 : (!q_one, !k_one, !k_one, tensor<3x1xi32>, tensor<2x2xf32>) -> (!q_one, !lse_one)
  return %o, %lse : !q_one, !lse_one
}

!q_pairs = tensor<1x33x1x2x16xbf16>
!k_pairs = tensor<1x33x1x16xbf16>
func.func @pairs(%q: !q_pairs {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: !k_pairs {graph.kind = #graph.kind<input>, graph.name = "k"})
    -> (!q_pairs {graph.kind = #graph.kind<output>, graph.name = "o"}) {
  %p = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32]]> : tensor<1x33xi32> : tensor<1x33xi32>
  %s = graph.constant dense<[[2.0, 3.5]]> : tensor<1x2xbf16> : tensor<1x2xbf16>
  %o = graph.attention %q, %k, %k, %p sinks %s scale = 0.25 : (!q_pairs, !k_pairs, !k_pairs, tensor<1x33xi32>, tensor<1x2xbf16>) -> !q_pairs
  return %o : !q_pairs
}
