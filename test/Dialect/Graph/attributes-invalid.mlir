// Attributes of arguments and results that say what a function takes and gives.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{argument #0 has graph.kind = "input"; it is #graph.kind<input>, <parameter>, <state> or <output>}}
func.func @kind(%x: tensor<4xf32> {graph.kind = "input"}) {
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

// expected-error @+1 {{result #0 has graph.kind = "output"; it is #graph.kind<input>, <parameter>, <state> or <output>}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.kind = "output"}) {
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

// -----

// expected-error @+2 {{expected ::tessera::graph::Kind to be one of: input, parameter, state, output}}
// expected-error @+1 {{failed to parse}}
func.func @unknown(%x: tensor<4xf32> {graph.kind = #graph.kind<weight>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has graph.fill = "token_ids", which is no #graph.fill}}
func.func @fill(%x: tensor<4xi32> {graph.fill = "token_ids"}) {
  return
}

// -----

// expected-error @+1 {{#graph.fill<output> must name an output and its entry}}
func.func @fill(%x: tensor<4xi32> {graph.fill = #graph.fill<output>}) {
  return
}

// -----

// expected-error @+1 {{#graph.fill<positions> names no output}}
func.func @fill(%x: tensor<4xi32> {graph.fill = #graph.fill<positions "hidden" of @prefill>}) {
  return
}

// -----

// expected-error @+1 {{has graph.role = "prompt"; it is a #graph.role of a function}}
func.func @role() attributes {graph.role = "prompt"} {
  return
}

// -----

// expected-error @+1 {{#graph.generate needs positive sizes and a chunk within the context}}
module attributes {graph.generate = #graph.generate<batch = 1, chunk = 9, max_seq_len = 8, vocab = 5>} {
}

// -----

// expected-error @+1 {{#graph.train needs positive sizes and at most as many micro-batches as rows}}
module attributes {graph.train = #graph.train<batch = 2, seq = 8, micro_batches = 3, vocab = 5>} {
}

// -----

// expected-error @+1 {{has graph.train = 3 : i64; it is a #graph.train of a module}}
module attributes {graph.train = 3 : i64} {
}

// -----

// expected-error @+1 {{#graph.state_of names the state "exp/avg"; expected letters, digits and underscores}}
graph.parameter @s : tensor<4xf32> variable from [#graph.source<"w", file = [4]>] {graph.state_of = #graph.state_of<"exp/avg" of @w>}

// -----

// expected-error @+1 {{has graph.state_of = "exp_avg"; it is a #graph.state_of of a graph.parameter}}
graph.parameter @s : tensor<4xf32> variable from [#graph.source<"w", file = [4]>] {graph.state_of = "exp_avg"}

// -----

// A weight that nothing updates needs no state.
graph.parameter @w : tensor<4xf32> from [#graph.source<"w", file = [4]>]
// expected-error @+1 {{is a state of @w, which is no variable of the model}}
graph.parameter @s : tensor<4xf32> variable from [#graph.source<"w", file = [4]>] {graph.state_of = #graph.state_of<"exp_avg" of @w>}

// -----

graph.parameter @w : tensor<4xf32> variable from [#graph.source<"w", file = [4]>]
// expected-error @+1 {{is a state of @w and must be a variable of the weight's shape and sources}}
graph.parameter @s : tensor<4xf32> variable from [#graph.source<"v", file = [4]>] {graph.state_of = #graph.state_of<"exp_avg" of @w>}

// -----

// expected-error @+1 {{has graph.copy = "first"; it is an i64, which copy of a graph.parameter this is}}
graph.parameter @w : tensor<4xf32> from [#graph.source<"w", file = [4]>] {graph.copy = "first"}

// -----

// expected-error @+1 {{has graph.vocab = 0 : i64; it is an i64 above 0}}
func.func @forward() attributes {graph.vocab = 0 : i64} {
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{has graph.drop_site = array<i64: 3, 3>; it is array<i64: N, M>, number N of M ops that may drop elements}}
  %0 = graph.name %x "x" drops {graph.drop_site = array<i64: 3, 3>} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{has graph.micro_batches = unit; it is a unit, of a graph.repeat}}
  %0 = graph.exp %x {graph.micro_batches} : tensor<4xf32>
  return
}
