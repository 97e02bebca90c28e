// The logarithm of float32 numbers below 2^-126, of the smallest normal one, and where there is none.
// RUN: llm-judge %s --rung=binary
func.func @f(%x: tensor<9xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> tensor<9xf32> {
  %numbers = graph.constant dense<[1.17549435e-38, 1.17549421e-38, 1.0e-39, 1.0e-41, 1.4e-45, 0.0, -1.0e-39, 1.0, 3.0e38]> : tensor<9xf32> : tensor<9xf32>
  %zero = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
  %none = graph.mul %x, %zero : (tensor<9xf32>, tensor<f32>) -> tensor<9xf32>
  %v = graph.add %numbers, %none : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>
  %o = graph.log %v : tensor<9xf32>
  return %o : tensor<9xf32>
}
