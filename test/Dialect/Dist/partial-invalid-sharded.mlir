// What would count a partial value twice or drop a part of it does not verify on rung sharded: one diagnostic, naming op, operand and axis.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

// sharded: a whole value added to a sum would count once per rank
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{add' op operand #0 is a partial sum over {x} and must be reduced before: the op is not linear in this operand alone}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: a sum subtracted from a whole value
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{sub' op operand #1 is a partial sum over {x} and must be reduced before}}
  %0 = graph.sub %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: sums over different axes
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>) {
  // expected-error @+1 {{add' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "y"}>>
  return
}

// -----

// sharded: the product of sums is not the sum of products
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{mul' op operand #0 is a partial sum over {x} and must be reduced before: the op is not linear in these operands}}
  %0 = graph.mul %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: a sum that is dropped
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{add' op result #0 must be partial over {x}}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// sharded: an open sum out of whole values
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{add' op result #0 must be partial over {}}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: a maximum of sums is no sum of maxima
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{maximum' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.maximum %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: the sum of maxima is no maximum of sums
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>) {
  // expected-error @+1 {{add' op operand #0 is a partial max over {x} and must be reduced before: the op is not monotone in these operands}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>
  return
}

// -----

// sharded: a maximum turned around is a minimum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>) {
  // expected-error @+1 {{neg' op operand #0 is a partial max over {x} and must be reduced before}}
  %0 = graph.neg %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>
  return
}

// -----

// sharded: a sum and a maximum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>) {
  // expected-error @+1 {{add' op mixes a partial sum and a partial maximum over {x}}}
  %0 = graph.add %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: the exponential of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{exp' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.exp %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: a reshape does not close a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{reshape' op result #0 must be partial over {x}}}
  %0 = graph.reshape %a : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<32xf32, #dist.sharding<@mesh, [{}]>>
  return
}

// -----

// sharded: a maximum within rows is not one of their sums
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{reduce' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.reduce max %a dims = [1] : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>
  return
}

// -----

// sharded: the maximum over pieces of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}], partial=sum{"y"}>>) {
  // expected-error @+1 {{reduce' op operand #0 is a partial sum over {y} and must be reduced before}}
  %0 = graph.reduce max %a dims = [1] : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}], partial=sum{"y"}>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x", "y"}>>
  return
}

// -----

// sharded: a choice by who is the maximum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %c: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{select' op operand #0 is a partial max over {x} and must be reduced before}}
  %0 = graph.select %a, %b, %c : (tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>
  return
}

// -----

// sharded: one branch of a choice
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}]>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %c: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{select' op operand #1 is a partial sum over {x} and must be reduced before: the op is not linear in this operand alone}}
  %0 = graph.select %a, %b, %c : (tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: half of what is joined
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{concat' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.concat %a, %b dim = 0 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: the rows of a table by indices that are not complete
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %b: tensor<5xi32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>) {
  // expected-error @+1 {{embedding' op operand #1 is a partial sum over {x} and must be reduced before}}
  %0 = graph.embedding %a, %b : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<5xi32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>) -> tensor<5x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: both operands of a product
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<6x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{linear' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.linear %a, %b contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<6x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: softmax of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{softmax' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.softmax %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: a norm of a sum
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<8xf32, #dist.sharding<@mesh, [{}]>>) {
  // expected-error @+1 {{rms_norm' op operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.rms_norm %a, %b eps = 1.0e-5 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<8xf32, #dist.sharding<@mesh, [{}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sharded: a sum written into a cache that is whole
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<2x4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>>, %b: tensor<4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}], partial=sum{"x"}>>, %c: tensor<i32, #dist.sharding<@mesh, []>>, %d: tensor<4x8xi32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{cache_update' op operand #1 is a partial sum over {x} and must be reduced before}}
  %0 = graph.cache_update %a[%c], %b, %d : (tensor<2x4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>>, tensor<4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}], partial=sum{"x"}>>, tensor<i32, #dist.sharding<@mesh, []>>, tensor<4x8xi32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<2x4x8x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>>
  return
}

// -----

// sharded: what a loop carries is open in one place only
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{results have other types than the carried values}}
  %0 = graph.repeat 2 carry(%a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>):
    graph.yield %h : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>
  }
  return
}

// -----

// sharded: what an iteration leaves open the next one takes for whole
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %b: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  %0 = graph.repeat 2 carry(%b : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>):
    // expected-error @+1 {{of body #0 gives other types than the carried values}}
    graph.yield %a : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  }
  return
}
