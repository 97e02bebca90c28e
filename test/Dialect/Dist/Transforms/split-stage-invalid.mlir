// RUN: llm-opt %s --dist-split-stage -split-input-file -verify-diagnostics

// What is sent is changed behind the loop: there it would take all micro-batches.
// expected-error @below {{result #0 goes to another stage, but is no stack that the loop over micro-batches returns}}
func.func @evaluate(%x: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>})
    -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>} {
  %0 = graph.repeat 2 carry() stack(%x : tensor<2x4xf32>) -> (tensor<2x4xf32>) attributes {graph.micro_batches} {
  ^bb0(%i: tensor<i32>, %slice: tensor<4xf32>):
    graph.yield %slice : tensor<4xf32>
  }
  %1 = graph.add %0, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

func.func @train(%x: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>})
    -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}, tensor<4xf32>) attributes {graph.role = #graph.role<train>} {
  %0 = graph.repeat 2 carry() stack(%x : tensor<2x4xf32>) -> (tensor<2x4xf32>) attributes {graph.micro_batches} {
  ^bb0(%i: tensor<i32>, %slice: tensor<4xf32>):
    graph.yield %slice : tensor<4xf32>
  }
  // expected-error @below {{reads values of all micro-batches: it cannot be a part of a stage's step}}
  %1 = graph.reduce sum %0 dims = [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<4xf32>
}

// -----

// What is sent waits for the gradient of what was sent.
func.func @train(%x: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>},
                 %g: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "grad.x", graph.fill = #graph.fill<received_gradient>})
    -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>} {
  %0 = graph.repeat 2 carry() stack(%x, %g : tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>) attributes {graph.micro_batches} {
  ^bb0(%i: tensor<i32>, %xi: tensor<4xf32>, %gi: tensor<4xf32>):
    // expected-error @below {{is needed by what a stage sends on, and waits for a gradient that it receives}}
    %1 = graph.add %xi, %gi : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @evaluate(%x: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>})
    -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>} {
  // expected-error @below {{runs over micro-batches: expected one body, and the first one first}}
  %0 = graph.repeat 2 reverse carry() stack(%x : tensor<2x4xf32>) -> (tensor<2x4xf32>) attributes {graph.micro_batches} {
  ^bb0(%i: tensor<i32>, %slice: tensor<4xf32>):
    graph.yield %slice : tensor<4xf32>
  }
  return %0 : tensor<2x4xf32>
}
