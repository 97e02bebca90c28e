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

// -----

// The next call would take pieces over y for pieces over x.
dist.mesh @mesh = <["x"=2, "y"=2]>
// expected-error @+1 {{returns state s that it does not take with the same type and sharding}}
func.func @moved(%s: tensor<2xf32> {graph.kind = #graph.kind<state>, graph.name = "s", exec.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<2xf32> {graph.kind = #graph.kind<state>, graph.name = "s", exec.sharding = #dist.sharding<@mesh, [{"y"}]>}) attributes {exec.entry} {
  return %s : tensor<2xf32>
}

// -----

func.func @cleared(%s: tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s", graph.clear = #graph.clear<before_prompts>}) -> (tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  return %s : tensor<4xf32>
}
// expected-error @+1 {{and another entry say differently when state s is cleared; give both the same graph.clear}}
func.func @kept(%s: tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s", graph.clear = #graph.clear<at_start>}) -> (tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  return %s : tensor<4xf32>
}

// -----

func.func @filled(%s: tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s", graph.fill = #graph.fill<token_ids>}) -> (tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  return %s : tensor<4xf32>
}
// expected-error @+1 {{and another entry say differently what fills state s; give both the same graph.fill}}
func.func @other(%s: tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) -> (tensor<4xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  return %s : tensor<4xf32>
}
