// RUN: llm-opt %s --split-input-file --kernels-to-exec --verify-diagnostics

// expected-error @+1 {{argument 0 needs the attributes graph.kind and graph.name}}
func.func @nameless(%x: tensor<4xf32>) attributes {exec.entry} {
  return
}

// -----

func.func @one(%s: tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) -> (tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  return %s : tensor<4xf32>
}
// expected-error @+1 {{has state s as 'tensor<5xf32>', another entry as 'tensor<4xf32>'}}
func.func @two(%s: tensor<5xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) -> (tensor<5xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  return %s : tensor<5xf32>
}

// -----

// expected-error @+1 {{returns state s that it does not take with the same type}}
func.func @new(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  return %x : tensor<4xf32>
}

// -----

// Both would lie in one place.
// expected-error @+1 {{has two of output 'y'; rename one}}
func.func @twice(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
