// What a program says of its arguments is kept, or refused: nothing is dropped on the way to rung step.
// RUN: llm-opt %s --verify-rung=rung=graph --split-input-file --verify-diagnostics

// expected-error @+1 {{argument #1 has dist.sharding, which a program to be compiled has no place for: leave it out and write --shard=b:DIM=AXIS}}
func.func @f(%a: tensor<4xf32> {graph.name = "a"}, %b: tensor<4xf32> {graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) { return }

// -----

// expected-error @+1 {{result #0 has dist.sharding, which a program to be compiled has no place for: leave it out and write --shard=NAME:DIM=AXIS}}
func.func @f(%a: tensor<4xf32>) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) { return %a : tensor<4xf32> }

// -----

// expected-error @+1 {{arguments #0 and #2 are both called 'a', and what fills and reads them knows them by their names: rename one}}
func.func @f(%a: tensor<4xf32> {graph.name = "a"}, %b: tensor<4xf32> {graph.name = "b"}, %c: tensor<4xf32> {graph.name = "a"}) { return }

// -----

// expected-error @+1 {{results #0 and #1 are both called 'a', and what fills and reads them knows them by their names: rename one}}
func.func @f(%a: tensor<4xf32>) -> (tensor<4xf32> {graph.name = "a"}, tensor<4xf32> {graph.name = "a"}) { return %a, %a : tensor<4xf32>, tensor<4xf32> }

// -----

// A state comes in and goes out under one name.
func.func @f(%a: tensor<4xf32> {graph.name = "a"}, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32> {graph.name = "a"}) { return %a : tensor<4xf32> }

// -----

// expected-error @+1 {{does not stand on rung graph: graph.generate comes with rung step; give a model, or what --compile-to=graph writes}}
module attributes {graph.generate = #graph.generate<batch = 1, chunk = 8, max_seq_len = 8, vocab = 9>} {}

// -----

// expected-error @+1 {{does not stand on rung graph: graph.train comes with rung step; give a model, or what --compile-to=graph writes}}
module attributes {graph.train = #graph.train<batch = 1, seq = 8, micro_batches = 1, vocab = 9, flops_per_token = 1>} {}
