// Attributes that a person got wrong are errors, never crashes.
// RUN: llm-opt %s --dist-insert-reshards --split-input-file --verify-diagnostics

// expected-error @+1 {{has no dist.mesh: run dist-annotate before}}
module {
  func.func @f(%x: tensor<4xf32>) { return }
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a list of 1 shardings, not []}}
  %0 = graph.relu %x {dist.shardings = []} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a #dist.sharding for 'tensor<4xf32>', not 1 : i64}}
  %0 = graph.relu %x {dist.shardings = [1]} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis "z" is not in the mesh}}
  %0 = graph.relu %x {dist.shardings = [#dist.sharding<@mesh, [{"z"}]>]} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{neither partial axes nor global sizes can be asked for}}
func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], partial=sum{"x"}>}) { return }

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{refers to mesh @other, but there is no such dist.mesh}}
func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@other, [{"x"}]>}) { return }

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a list of shardings for each of 1 regions, not []}}
  %r = graph.repeat 2 carry(%x : tensor<4xf32>) -> (tensor<4xf32>) attributes {dist.block_shardings = []} {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    graph.yield %h : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a list of 2 shardings, not}}
  %r = graph.repeat 2 carry(%x : tensor<4xf32>) -> (tensor<4xf32>) attributes {dist.block_shardings = [[]]} {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    graph.yield %h : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{argument #0 has an encoding}}
func.func @f(%x: tensor<4xf32, #dist.sharding<@mesh, [{"x"}]>>) { return }
