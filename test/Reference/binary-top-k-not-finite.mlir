// Of scores that are no numbers, or infinite, the executable chooses what the interpreter does: NaN, of either sign, above all, and of equals the lowest.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --target-options=cpu=x86-64
func.func @f(%x: tensor<6x9xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["row", "expert"]}) -> (tensor<6x4xi32>, tensor<6x4xi32>, tensor<6x4xi32>) {
  %nan = graph.log %x : tensor<6x9xf32>
  %v0, %some = graph.top_k %nan : (tensor<6x9xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>)
  // The square root of a negative number is a NaN with a sign on x86.
  %root = graph.sqrt %x : tensor<6x9xf32>
  %low = graph.neg %root : tensor<6x9xf32>
  %v1, %signed = graph.top_k %low : (tensor<6x9xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>)
  %big = graph.constant dense<3.0e38> : tensor<f32> : tensor<f32>
  %huge = graph.mul %x, %big : (tensor<6x9xf32>, tensor<f32>) -> tensor<6x9xf32>
  %inf = graph.mul %huge, %big : (tensor<6x9xf32>, tensor<f32>) -> tensor<6x9xf32>
  %v2, %infinite = graph.top_k %inf : (tensor<6x9xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>)
  return %some, %signed, %infinite : tensor<6x4xi32>, tensor<6x4xi32>, tensor<6x4xi32>
}
