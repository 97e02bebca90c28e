// What graph.held may say of caches, and of what writes them.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{argument #0 has graph.held = "Q8_0" and the type 'tensor<2x1x12x3x40xf32>'; it is "Q8_0", of rows of f32 that are whole blocks of 32}}
func.func private @rows(tensor<2x1x12x3x40xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"})

// -----

// expected-error @below {{argument #0 has graph.held = "Q8_0" and the type 'tensor<2x1x12x3x32xbf16>'}}
func.func private @types(tensor<2x1x12x3x32xbf16> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"})

// -----

// expected-error @below {{argument #0 has graph.held = "Q4_0" and the type}}
func.func private @blocks(tensor<2x1x12x3x32xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q4_0"})

// -----

// expected-error @below {{result #0 has graph.held = 8 : i64 and the type}}
func.func private @text() -> (tensor<2x1x12x3x32xf32> {graph.held = 8 : i64})

// -----

func.func @update(%c: tensor<1x1x2x1x40xf32>, %u: tensor<1x1x1x40xf32>, %i: tensor<i32>, %p: tensor<1x1xi32>) -> tensor<1x1x2x1x40xf32> {
  // expected-error @below {{has graph.held = "Q8_0" and writes rows of 'tensor<1x1x1x40xf32>'; it is "Q8_0", of rows of f32 that are whole blocks of 32}}
  %r = graph.cache_update %c[%i], %u, %p {graph.held = "Q8_0"} : (tensor<1x1x2x1x40xf32>, tensor<1x1x1x40xf32>, tensor<i32>, tensor<1x1xi32>) -> tensor<1x1x2x1x40xf32>
  return %r : tensor<1x1x2x1x40xf32>
}

// -----

func.func @name(%c: tensor<1x1x2x1x32xf32>, %u: tensor<1x1x1x32xf32>, %i: tensor<i32>, %p: tensor<1x1xi32>) -> tensor<1x1x2x1x32xf32> {
  // expected-error @below {{has graph.held = "Q4_0" and writes rows of 'tensor<1x1x1x32xf32>'}}
  %r = graph.cache_update %c[%i], %u, %p {graph.held = "Q4_0"} : (tensor<1x1x2x1x32xf32>, tensor<1x1x1x32xf32>, tensor<i32>, tensor<1x1xi32>) -> tensor<1x1x2x1x32xf32>
  return %r : tensor<1x1x2x1x32xf32>
}
