// The largest of logits that are not all finite has no index: -1 from the executable as from the interpreter, whichever rank holds them.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=x=2 --shard=vocab=x
func.func @f(%x: tensor<5x9xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["row", "vocab"]}) -> (tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>) {
  %nan = graph.log %x : tensor<5x9xf32>
  %k0 = graph.arg_max_key %nan : (tensor<5x9xf32>) -> tensor<5xi64>
  %r0 = graph.arg_max_index %k0 : (tensor<5xi64>) -> tensor<5xi32>
  %big = graph.constant dense<3.0e38> : tensor<f32> : tensor<f32>
  %y = graph.abs %x : tensor<5x9xf32>
  %one = graph.constant dense<2.0> : tensor<f32> : tensor<f32>
  %z = graph.add %y, %one : (tensor<5x9xf32>, tensor<f32>) -> tensor<5x9xf32>
  %inf = graph.mul %z, %big : (tensor<5x9xf32>, tensor<f32>) -> tensor<5x9xf32>
  %k1 = graph.arg_max_key %inf : (tensor<5x9xf32>) -> tensor<5xi64>
  %r1 = graph.arg_max_index %k1 : (tensor<5xi64>) -> tensor<5xi32>
  %k2 = graph.arg_max_key %x : (tensor<5x9xf32>) -> tensor<5xi64>
  %r2 = graph.arg_max_index %k2 : (tensor<5xi64>) -> tensor<5xi32>
  // The square root of a negative number is a NaN with a sign on x86.
  %low = graph.neg %y : tensor<5x9xf32>
  %signed = graph.sqrt %low : tensor<5x9xf32>
  %k3 = graph.arg_max_key %signed : (tensor<5x9xf32>) -> tensor<5xi64>
  %r3 = graph.arg_max_index %k3 : (tensor<5xi64>) -> tensor<5xi32>
  // Minus infinity alone: all are masked.
  %masked = graph.neg %inf : tensor<5x9xf32>
  %k4 = graph.arg_max_key %masked : (tensor<5x9xf32>) -> tensor<5xi64>
  %r4 = graph.arg_max_index %k4 : (tensor<5xi64>) -> tensor<5xi32>
  return %r0, %r1, %r2, %r3, %r4 : tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>
}
