// float64 is computed as such, with the functions of libm.
// RUN: llm-judge %s --rung=binary --tolerance=1e-12
func.func @f(%x: tensor<3x7xf64> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<3x7xf64>, tensor<3x7xf64>, tensor<3x7xf64>, tensor<3x7xf64>) {
  %0 = graph.gelu_erf %x : tensor<3x7xf64>
  %1 = graph.gelu_tanh %x : tensor<3x7xf64>
  %2 = graph.softmax %x : tensor<3x7xf64>
  %3 = graph.silu %x : tensor<3x7xf64>
  return %0, %1, %2, %3 : tensor<3x7xf64>, tensor<3x7xf64>, tensor<3x7xf64>, tensor<3x7xf64>
}
