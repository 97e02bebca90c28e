// RUN: llm-opt %s --graph-differentiate="of=w" --split-input-file --verify-diagnostics

// expected-error @+1 {{has no function @forward with a body to differentiate}}
module {
}

// -----

// expected-error @+1 {{has no result with graph.name = "loss"}}
func.func @forward(%w: tensor<4xf32> {graph.name = "w"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @+1 {{gives loss as 'tensor<4xf32>'; a loss is one float: reduce it to a scalar, or name its gradient with seed}}
func.func @forward(%w: tensor<4xf32> {graph.name = "w"}) -> (tensor<4xf32> {graph.name = "loss"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @+1 {{has no argument with graph.name = "w"}}
func.func @forward(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{has w as 'tensor<4xi32>'; only floats have gradients}}
func.func @forward(%w: tensor<4xi32> {graph.name = "w"}, %x: tensor<f32>) -> (tensor<f32> {graph.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{has shardings; differentiate it on rung graph or step, before}}
func.func @forward(%w: tensor<4xf32, #dist.sharding<@mesh, [{"x"}]>> {graph.name = "w"}, %x: tensor<f32>) -> (tensor<f32> {graph.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// A cache has no derivative: nothing is trained through one.
func.func @forward(%w: tensor<1x2x3x1x4xf32> {graph.name = "w"}, %cache: tensor<2x2x5x1x4xf32>, %i: tensor<i32>, %p: tensor<2x3xi32>) -> (tensor<f32> {graph.name = "loss"}) {
  %u = graph.reshape %w : (tensor<1x2x3x1x4xf32>) -> tensor<2x3x1x4xf32>
  // expected-error @+1 {{has no derivative, and a gradient that is asked for would flow through it}}
  %c = graph.cache_update %cache[%i], %u, %p : (tensor<2x2x5x1x4xf32>, tensor<2x3x1x4xf32>, tensor<i32>, tensor<2x3xi32>) -> tensor<2x2x5x1x4xf32>
  %l = graph.reduce sum %c dims = [0, 1, 2, 3, 4] : (tensor<2x2x5x1x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Nor through keys that a table of pages finds.
func.func @forward(%q: tensor<1x2x1x1x4xf32> {graph.name = "w"}, %k: tensor<1x4x1x4xf32>, %p: tensor<1x2xi32>, %t: tensor<1x2xi32>) -> (tensor<f32> {graph.name = "loss"}) {
  // expected-error @+1 {{has no derivative where a table says where keys stand, and a gradient that is asked for would flow through it}}
  %y = graph.attention %q, %k, %k, %p pages %t of 2 scale = 1.0 : (tensor<1x2x1x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2x1x1x4xf32>
  %l = graph.reduce sum %y dims = [0, 1, 2, 3, 4] : (tensor<1x2x1x1x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Where no gradient would flow through it anybody may use one.
func.func @forward(%w: tensor<f32> {graph.name = "w"}, %cache: tensor<2x2x5x1x4xf32>, %u: tensor<2x3x1x4xf32>, %i: tensor<i32>, %p: tensor<2x3xi32>) -> (tensor<f32> {graph.name = "loss"}) {
  %c = graph.cache_update %cache[%i], %u, %p : (tensor<2x2x5x1x4xf32>, tensor<2x3x1x4xf32>, tensor<i32>, tensor<2x3xi32>) -> tensor<2x2x5x1x4xf32>
  %s = graph.reduce sum %c dims = [0, 1, 2, 3, 4] : (tensor<2x2x5x1x4xf32>) -> tensor<f32>
  %l = graph.mul %w, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Nor through a branch, whose operand is the condition alone: what it reads counts.
func.func @forward(%w: tensor<f32> {graph.name = "w"}, %c: tensor<i1>) -> (tensor<f32> {graph.name = "loss"}) {
  // expected-error @+1 {{has no derivative, and a gradient that is asked for would flow through it}}
  %l = graph.if %c : tensor<i1> -> (tensor<f32>) {
    %t = graph.tanh %w : tensor<f32>
    graph.branch_yield %t : tensor<f32>
  } else {
    graph.branch_yield %w : tensor<f32>
  }
  return %l : tensor<f32>
}
