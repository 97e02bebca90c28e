// Attributes of arguments and results that say what a function takes and gives.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{argument #0 has graph.kind = "weight"; it is "input", "parameter", "state" or "output"}}
func.func @kind(%x: tensor<4xf32> {graph.kind = "weight"}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has graph.name = 3 : i64, which is no name}}
func.func @name(%x: tensor<4xf32> {graph.name = 3}) {
  return
}

// -----

// expected-error @+1 {{argument #1 has 1 names in graph.dims, its type is 'tensor<4x8xf32>'}}
func.func @dims(%x: tensor<4xf32>, %y: tensor<4x8xf32> {graph.dims = ["batch"]}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has graph.dims = [1], which is no list of names}}
func.func @dim_numbers(%x: tensor<4xf32> {graph.dims = [1]}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has an unknown attribute "graph.layout"}}
func.func @unknown(%x: tensor<4xf32> {graph.layout = "row"}) {
  return
}

// -----

// expected-error @+1 {{result #0 has graph.kind = "result"; it is "input", "parameter", "state" or "output"}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.kind = "result"}) {
  return %x : tensor<4xf32>
}

// -----

func.func @too_large(%x: tensor<4611686018427387904x4xf32>) {
  // expected-error @+1 {{operand #0 has more than 2^48 elements}}
  %0 = graph.neg %x : tensor<4611686018427387904x4xf32>
  return
}

// -----

// expected-error @+1 {{source #0 has file = [4611686018427387904, 4]; sizes are 1 or more, at most 2^48 elements together}}
graph.parameter @large : tensor<8xf32> from [#graph.source<"w", file = [4611686018427387904, 4], reshape = [8]>]
