// A private function with a body is no entry, and nothing could call it.
// RUN: llm-opt %s --spmd-to-kernels=target-options=cpu=x86-64-v3 --verify-diagnostics

// expected-error @+1 {{is private, and nothing of rung spmd calls a function; entries are public}}
func.func private @helper(%a: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "a"}) -> (tensor<4xf32> {graph.kind = #graph.kind<output>, graph.name = "o"}) {
  %0 = graph.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
