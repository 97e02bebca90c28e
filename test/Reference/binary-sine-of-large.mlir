// A bound that float32 cannot keep: the judge says that rounding alone may be it.
// RUN: not llm-judge %s --rung=binary --runs=2 2>&1 | FileCheck %s
// RUN: not llm-judge %s --rung=binary --entry=f 2>&1 | FileCheck %s --check-prefix=ENTRY
// CHECK: seed 1 call 1 of f, output o: relative error 0.0{{.*}}TOO LARGE
// CHECK: rounding alone carries a result of this program by 0.{{.*}}need not be a fault
// CHECK: seed 2 call 1 of f
// ENTRY: error: entry (f): on the machine all entries of a program run; leave it out
func.func @f(%x: tensor<9xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<9xf32> {graph.kind = #graph.kind<output>, graph.name = "o"}) {
  %c = graph.constant dense<1.0e6> : tensor<f32> : tensor<f32>
  %a = graph.mul %x, %c : (tensor<9xf32>, tensor<f32>) -> tensor<9xf32>
  %o = graph.sin %a : tensor<9xf32>
  return %o : tensor<9xf32>
}
