// A window that no 32-bit position reaches hides no key: 2^32 + 2 is not 2.
// RUN: llm-judge %s --rung=binary

func.func @wide(%q: tensor<1x4x2x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<1x16x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
    %v: tensor<1x16x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v"}) -> (tensor<1x4x2x1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %p = graph.constant dense<[[10, 11, 12, 13]]> : tensor<1x4xi32> : tensor<1x4xi32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 {window = 4294967298 : i64} : (tensor<1x4x2x1x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x1x8xf32>
  return %a : tensor<1x4x2x1x8xf32>
}
