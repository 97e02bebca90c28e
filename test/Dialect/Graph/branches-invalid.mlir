// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @many_conditions(%c: tensor<2xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has a condition 'tensor<2xi1>', expected one tensor<i1>}}
  %r = graph.if %c : tensor<2xi1> -> (tensor<4xf32>) {
    graph.branch_yield %x : tensor<4xf32>
  } else {
    graph.branch_yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @other_type(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {
  %r = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    graph.branch_yield %x : tensor<4xf32>
  } else {
    // expected-error @+1 {{of branch #1 gives other types than the results}}
    graph.branch_yield %y : tensor<5xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @arguments(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{branch #0 takes arguments; it reads values around it}}
  %r = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    graph.branch_yield %a : tensor<4xf32>
  } else {
    graph.branch_yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// Branches lie alike.
dist.mesh @mesh = <["x"=2]>
!rows = tensor<4xf32, #dist.sharding<@mesh, [{"x"}]>>
!whole = tensor<4xf32, #dist.sharding<@mesh, [{}]>>
func.func @other_sharding(%c: tensor<i1, #dist.sharding<@mesh, []>>, %x: !rows, %y: !whole) -> !rows {
  %r = graph.if %c : tensor<i1, #dist.sharding<@mesh, []>> -> (!rows) {
    graph.branch_yield %x : !rows
  } else {
    // expected-error @+1 {{of branch #1 gives other types than the results}}
    graph.branch_yield %y : !whole
  }
  return %r : !rows
}

// -----

dist.mesh @mesh = <["x"=2]>
!part = tensor<i1, #dist.sharding<@mesh, [], partial=max{"x"}>>
!whole = tensor<4xf32, #dist.sharding<@mesh, [{}]>>
func.func @partial_condition(%c: !part, %x: !whole) -> !whole {
  // expected-error @+1 {{has a condition that is partial: ranks could take different branches}}
  %r = graph.if %c : !part -> (!whole) {
    graph.branch_yield %x : !whole
  } else {
    graph.branch_yield %x : !whole
  }
  return %r : !whole
}
