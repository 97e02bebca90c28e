// A product of many rows, which oneDNN computes where it has code for it: where the CPU has bfloat16 and oneDNN is not allowed to use it, our own kernels do.
// RUN: llm-judge %s --rung=binary
// RUN: env ONEDNN_MAX_CPU_ISA=AVX2 llm-judge %s --rung=binary
// RUN: env ONEDNN_MAX_CPU_ISA=SSE41 llm-judge %s --rung=binary
func.func @short(%x: tensor<70x33xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<20x33xbf16> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> tensor<70x20xbf16> {
  %0 = graph.linear %x, %w contract = 1 : (tensor<70x33xbf16>, tensor<20x33xbf16>) -> tensor<70x20xbf16>
  return %0 : tensor<70x20xbf16>
}
func.func @long(%x: tensor<70x33xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<20x33xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v"}) -> tensor<70x20xf32> {
  %0 = graph.linear %x, %w contract = 1 : (tensor<70x33xf32>, tensor<20x33xf32>) -> tensor<70x20xf32>
  return %0 : tensor<70x20xf32>
}
