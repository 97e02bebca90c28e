// Numbers at the upper end of f16: some of the runs that round at random overflow. What is allowed is finite all the same, and a sign is found.
// RUN: llm-judge %s --rung=binary | FileCheck %s
// RUN: not llm-judge %s --rung=binary --break=neg:graph.add | FileCheck %s --check-prefix=FOUND
// CHECK: relative error {{[0-9.e-]+}}, allowed is {{[0-9.e-]+$}}
// FOUND: TOO LARGE, allowed is {{[0-9.e-]+$}}
func.func @f(%x: tensor<64xf16> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> tensor<64xf16> {
  %c = graph.constant dense<65472.0> : tensor<f16> : tensor<f16>
  %k = graph.constant dense<46.0> : tensor<f16> : tensor<f16>
  %t = graph.tanh %x : tensor<64xf16>
  %a = graph.abs %t : tensor<64xf16>
  %m = graph.mul %a, %k : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %y = graph.add %m, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  return %y : tensor<64xf16>
}
