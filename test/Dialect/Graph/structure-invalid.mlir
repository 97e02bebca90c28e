// RUN: llm-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{reshapes [48, 48] to [2, 3, 8, 47], which has another number of elements}}
graph.parameter @q : tensor<2x3x8x48xf32> from [#graph.source<"q", file = [48, 48], reshape = [2, 3, 8, 47]>]

// -----

// expected-error @+1 {{source #0 takes [40, 50) of dimension 0, which has size 48}}
graph.parameter @q : tensor<10xf32> from [#graph.source<"q", file = [48], slice = [40, 50]>]

// -----

// expected-error @+1 {{source #0 permute [1, 1] is no permutation of 2 dimensions}}
graph.parameter @q : tensor<48x4xf32> from [#graph.source<"q", file = [4, 48], permute = [1, 1]>]

// -----

// expected-error @+1 {{sources give [4, 48], the parameter is [4, 47]}}
graph.parameter @q : tensor<4x47xf32> from [#graph.source<"q", file = [4, 48]>]

// -----

// expected-error @+1 {{source #1 gives [2, 9] and cannot be joined to [2, 8]}}
graph.parameter @q : tensor<4x8xf32> from [#graph.source<"a", file = [2, 8]>, #graph.source<"b", file = [2, 9]>]

// -----

// expected-error @+1 {{source #0 'layers.weight' has no layer number ({}), but the parameter is stacked}}
graph.parameter @q : tensor<3x8xf32> stacked from [#graph.source<"layers.weight", file = [8]>]

// -----

// A number is written in one way.
// expected-error @+1 {{source #0 'layers.{1i+2}.weight' has no layer number ({}), but the parameter is stacked}}
graph.parameter @q : tensor<3x8xf32> stacked from [#graph.source<"layers.{1i+2}.weight", file = [8]>]

// -----

// expected-error @+1 {{source #0 'layers.{2i+1}.weight' has a layer number, but the parameter is not stacked}}
graph.parameter @q : tensor<8xf32> from [#graph.source<"layers.{2i+1}.weight", file = [8]>]

// -----

// expected-error @+1 {{expected 'reshape', 'slice' or 'permute', each once and in this order}}
graph.parameter @q : tensor<8xf32> from [#graph.source<"q", file = [8], permute = [0], reshape = [8]>]

// -----

// expected-error @+1 {{expected 'file'}}
graph.parameter @q : tensor<8xf32> from [#graph.source<"q", reshape = [8]>]

// -----

func.func @bodies(%x: tensor<8xf32>) {
  // expected-error @+1 {{has 2 bodies for 1 iterations}}
  %r = graph.repeat 1 carry(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    graph.yield %h : tensor<8xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    graph.yield %h : tensor<8xf32>
  }
  return
}

// -----

func.func @stack_depth(%x: tensor<8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{stack #0 has type 'tensor<3x8xf32>', expected 4 layers in front}}
  %r = graph.repeat 4 carry(%x : tensor<8xf32>) stack(%w : tensor<3x8xf32>) -> (tensor<8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>, %s: tensor<8xf32>):
    graph.yield %h : tensor<8xf32>
  }
  return
}

// -----

func.func @index(%x: tensor<8xf32>) {
  // expected-error @+1 {{body #0 takes its index as 'tensor<1xi32>', expected tensor<i32>}}
  %r = graph.repeat 4 carry(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%i: tensor<1xi32>, %h: tensor<8xf32>):
    graph.yield %h : tensor<8xf32>
  }
  return
}

// -----

func.func @slice(%x: tensor<8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{body #0 takes slice #0 as 'tensor<4x8xf32>', which is no layer of 'tensor<4x8xf32>'}}
  %r = graph.repeat 4 carry(%x : tensor<8xf32>) stack(%w : tensor<4x8xf32>) -> (tensor<8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>, %s: tensor<4x8xf32>):
    graph.yield %h : tensor<8xf32>
  }
  return
}

// -----

func.func @yields(%x: tensor<8xf32>) {
  %r = graph.repeat 4 carry(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    // expected-error @+1 {{of body #0 gives other types than the carried values}}
    graph.yield %i : tensor<i32>
  }
  return
}

// -----

// A body whose slice lies otherwise than its stack: the reshard it would need is missing.
dist.mesh @mesh = <["x"=2]>
!h = tensor<8xf32, #dist.sharding<@mesh, [{}]>>
!w = tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
func.func @slice_sharding(%x: !h, %w: !w) {
  // expected-error @+1 {{which is no layer of}}
  %r = graph.repeat 4 carry(%x : !h) stack(%w : !w) -> (!h) {
  ^bb0(%i: tensor<i32>, %h: !h, %s: !h):
    graph.yield %h : !h
  }
  return
}

// -----

func.func @returned_depth(%x: tensor<8xf32>) {
  // expected-error @+1 {{returns stack #0 as 'tensor<3x8xf32>', expected 4 layers in front}}
  %r, %all = graph.repeat 4 carry(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<3x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    graph.yield %h, %h : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

func.func @returned_slices(%x: tensor<8xf32>) {
  %r, %all = graph.repeat 4 carry(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    // expected-error @+1 {{of body #0 gives 0 slices, the loop returns 1 stacks}}
    graph.yield %h : tensor<8xf32>
  }
  return
}

// -----

func.func @returned_slice(%x: tensor<8xf32>) {
  %r, %all = graph.repeat 4 carry(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    // expected-error @+1 {{of body #0 gives slice #0 as 'tensor<i32>', which is no layer of 'tensor<4x8xf32>'}}
    graph.yield %h, %i : tensor<8xf32>, tensor<i32>
  }
  return
}

// -----

// A gradient that is still a partial sum may not be kept as if it were reduced.
dist.mesh @mesh = <["x"=2]>
!h = tensor<8xf32, #dist.sharding<@mesh, [{}]>>
!p = tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>
!w = tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>
func.func @returned_sum(%x: !h, %g: !p) {
  %r, %all = graph.repeat 4 carry(%x : !h) -> (!h, !w) {
  ^bb0(%i: tensor<i32>, %h: !h):
    // expected-error @+1 {{which is no layer of}}
    graph.yield %h, %g : !h, !p
  }
  return
}

// -----
// expected-error@+1 {{has graph.held = ["Q8_0", "Q8_0", "Q8_0"], which is no type, and none for each layer}}
graph.parameter @blocks : tensor<2x8x32xf32> stacked from [#graph.source<"s.{}", file = [8, 32]>] {graph.held = ["Q8_0", "Q8_0", "Q8_0"]}

// -----

// expected-error@+1 {{has graph.mean = "one", which is no finite f64}}
graph.parameter @scale : tensor<8xf32> from [#graph.source<"s", file = [8]>] {graph.mean = "one"}

// -----
// expected-error@+1 {{has graph.deviation = -1.000000e+00 : f64, which is no f64 of 0 or more that float32 can hold}}
graph.parameter @scale : tensor<8xf32> from [#graph.source<"s", file = [8]>] {graph.deviation = -1.0}
