// What would count a partial value twice or drop a part of it does not verify on rung spmd: one diagnostic, naming op, operand and axis.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

// spmd: a whole value added to a sum would count once per rank
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{add' op operand #0 is a partial sum over {x} and must be reduced before: the op is not linear in this operand alone}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a sum subtracted from a whole value
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{sub' op operand #1 is a partial sum over {x} and must be reduced before}}
  %0 = graph.sub %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: sums over different axes
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>>) {
  // expected-error @+1 {{add' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "y"}, global=[4, 8]>>
  return
}

// -----

// spmd: the product of sums is not the sum of products
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{mul' op operand #0 is a partial sum over {x} and must be reduced before: the op is not linear in these operands}}
  %0 = graph.mul %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a sum that is dropped
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{add' op result #0 must be partial over {x}}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// spmd: an open sum out of whole values
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{add' op result #0 must be partial over {}}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a maximum of sums is no sum of maxima
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{maximum' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.maximum %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: the sum of maxima is no maximum of sums
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{add' op operand #0 is a partial max over {x} and must be reduced before: the op is not monotone in these operands}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a maximum turned around is a minimum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{neg' op operand #0 is a partial max over {x} and must be reduced before}}
  %0 = graph.neg %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a sum and a maximum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{add' op mixes a partial sum and a partial maximum over {x}}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: the exponential of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{exp' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.exp %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a reshape does not close a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{reshape' op result #0 must be partial over {x}}}
  %0 = graph.reshape %a : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) -> tensor<32xf32, #dist.sharding<@mesh, [{}], global=[32]>>
  return
}

// -----

// spmd: a maximum within rows is not one of their sums
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{reduce' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.reduce max %a dims = [1] : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[4]>>
  return
}

// -----

// spmd: the maximum over pieces of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"x"}], partial=sum{"y"}, global=[4, 8]>>) {
  // expected-error @+1 {{reduce' op operand #0 is a partial sum over {y} and must be reduced before}}
  %0 = graph.reduce max %a dims = [1] : (tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"x"}], partial=sum{"y"}, global=[4, 8]>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x", "y"}, global=[4]>>
  return
}

// -----

// spmd: a choice by who is the maximum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, %c: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{select' op operand #0 is a partial max over {x} and must be reduced before}}
  %0 = graph.select %a, %b, %c : (tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: one branch of a choice
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %c: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{select' op operand #1 is a partial sum over {x} and must be reduced before: the op is not linear in this operand alone}}
  %0 = graph.select %a, %b, %c : (tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: half of what is joined
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{concat' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.concat %a, %b dim = 0 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[8, 8]>>
  return
}

// -----

// spmd: the rows of a table by indices that are not complete
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, %b: tensor<5xi32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[5]>>) {
  // expected-error @+1 {{embedding' op operand #1 is a partial sum over {x} and must be reduced before}}
  %0 = graph.embedding %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>, tensor<5xi32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[5]>>) -> tensor<5x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[5, 8]>>
  return
}

// -----

// spmd: both operands of a product
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<6x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[6, 8]>>) {
  // expected-error @+1 {{linear' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.linear %a, %b contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<6x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[6, 8]>>) -> tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 6]>>
  return
}

// -----

// spmd: softmax of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{softmax' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.softmax %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a norm of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>) {
  // expected-error @+1 {{rms_norm' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.rms_norm %a, %b eps = 1.0e-5 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// spmd: a sum written into a cache that is whole
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<2x4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {}], global=[2, 4, 8, 2, 4]>>, %b: tensor<4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}], partial=sum{"x"}, global=[4, 8, 2, 4]>>, %c: tensor<i32, #dist.sharding<@mesh, []>>, %d: tensor<4x8xi32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{cache_update' op operand #1 is a partial sum over {x} and must be reduced before}}
  %0 = graph.cache_update %a[%c], %b, %d : (tensor<2x4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {}], global=[2, 4, 8, 2, 4]>>, tensor<4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}], partial=sum{"x"}, global=[4, 8, 2, 4]>>, tensor<i32, #dist.sharding<@mesh, []>>, tensor<4x8xi32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> tensor<2x4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {}], global=[2, 4, 8, 2, 4]>>
  return
}

// -----

// spmd: what a loop carries is open in one place only
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{results have other types than the carried values}}
  %0 = graph.repeat 2 carry(%a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>):
    graph.yield %h : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  }
  return
}

// -----

// spmd: what an iteration leaves open the next one takes for whole
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  %0 = graph.repeat 2 carry(%b : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) -> (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>):
    // expected-error @+1 {{of body #0 gives other types than the carried values}}
    graph.yield %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  }
  return
}
