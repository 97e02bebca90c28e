// RUN: llm-opt %s --split-input-file --verify-diagnostics

// an axis that is not there
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{axis "z" is not in the mesh}}
  %0 = dist.manual_computation over {"z"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{"x"}, {?}]>] out [#dist.sharding<@mesh, [{"x"}, {?}]>] {
  ^bb0(%p: tensor<4x6xf32>):
    dist.manual_yield %p : tensor<4x6xf32>
  }
  return
}

// -----

// a part of an axis
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{has the manual axis y:(1)2, which is a part of one}}
  %0 = dist.manual_computation over {"y":(1)2} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{"x"}, {?}]>] out [#dist.sharding<@mesh, [{"x"}, {?}]>] {
  ^bb0(%p: tensor<4x6xf32>):
    dist.manual_yield %p : tensor<4x6xf32>
  }
  return
}

// -----

// no annotation
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{needs 'in' with 1 shardings}}
  %0 = dist.manual_computation over {"x"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>) {
  ^bb0(%p: tensor<4x6xf32>):
    dist.manual_yield %p : tensor<4x6xf32>
  }
  return
}

// -----

// pieces of another size
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{operand #0 has pieces [4, 6] of 'f32', the body has 'tensor<8x6xf32>'}}
  %0 = dist.manual_computation over {"x"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{"x"}, {?}]>] out [#dist.sharding<@mesh, [{"x"}, {?}]>] {
  ^bb0(%p: tensor<8x6xf32>):
    dist.manual_yield %p : tensor<8x6xf32>
  }
  return
}

// -----

// pieces that are not equal
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{operand #0 has size 6 in dimension 1, which 4 pieces do not divide}}
  %0 = dist.manual_computation over {"y"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{}, {"y"}]>] out [#dist.sharding<@mesh, [{}, {"y"}]>] {
  ^bb0(%p: tensor<8x2xf32>):
    dist.manual_yield %p : tensor<8x2xf32>
  }
  return
}

// -----

// a manual axis behind another
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{operand #0 has the manual axis x in parts or behind others in dimension 0; whole manual axes come first}}
  %0 = dist.manual_computation over {"x"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{"y", "x"}, {}]>] out [#dist.sharding<@mesh, [{"x"}, {?}]>] {
  ^bb0(%p: tensor<4x6xf32>):
    dist.manual_yield %p : tensor<4x6xf32>
  }
  return
}

// -----

// an operand that is a sum over a manual axis
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{operand #0 is partial over x; only results may be, over manual axes}}
  %0 = dist.manual_computation over {"x"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>] out [#dist.sharding<@mesh, [{"x"}, {?}]>] {
  ^bb0(%p: tensor<8x6xf32>):
    dist.manual_yield %p : tensor<8x6xf32>
  }
  return
}

// -----

// a result that is a sum over another axis
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  // expected-error @+1 {{result #0 is partial over y; only results may be, over manual axes}}
  %0 = dist.manual_computation over {"x"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{"x"}, {?}]>] out [#dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}>] {
  ^bb0(%p: tensor<4x6xf32>):
    dist.manual_yield %p : tensor<4x6xf32>
  }
  return
}

// -----

// something in the body over a manual axis
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%x: tensor<8x6xf32>) {
  %0 = dist.manual_computation over {"x"} (%x : tensor<8x6xf32>) -> (tensor<8x6xf32>)
      in [#dist.sharding<@mesh, [{"x"}, {?}]>] out [#dist.sharding<@mesh, [{"x"}, {?}]>] {
  ^bb0(%p: tensor<4x6xf32>):
    // expected-error @+1 {{lies over an axis that is manual here: along it, it is a program of one rank}}
    %c = dist.constraint %p <@mesh, [{"x"}, {}]> : tensor<4x6xf32>
    dist.manual_yield %c : tensor<4x6xf32>
  }
  return
}
