// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @unsupported(%x: tensor<4xf8E4M3FN>) {
  // expected-error @+1 {{operand #0 has element type 'f8E4M3FN'; supported are f64, f32, f16, bf16, i64, i32 and i1}}
  %0 = graph.neg %x : tensor<4xf8E4M3FN>
  return
}

// -----

func.func @dynamic(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{operand #0 has no static size in dimension 1}}
  %0 = graph.silu %x : tensor<4x?xf32>
  return
}

// -----

func.func @empty(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{operand #0 has size 0 in dimension 1}}
  %0 = graph.silu %x : tensor<4x0xf32>
  return
}

// -----

func.func @unary_on_integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of floating-point values}}
  %0 = graph.exp %x : tensor<4xi32>
  return
}

// -----

func.func @mixed_types(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error @+1 {{rhs has element type 'bf16', result has 'f32'}}
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return
}

// -----

func.func @booleans(%x: tensor<4xi1>) {
  // expected-error @+1 {{does not compute on i1}}
  %0 = graph.mul %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @no_broadcast(%x: tensor<2x4xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{dimension 0 of operand #1 has size 3 and does not broadcast to size 4 of the result}}
  %0 = graph.sub %x, %y : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @too_many_dimensions(%x: tensor<2x4xf32>, %y: tensor<1x2x4xf32>) {
  // expected-error @+1 {{operand #1 has 3 dimensions, the result only 2}}
  %0 = graph.div %x, %y : (tensor<2x4xf32>, tensor<1x2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @longer_than_all(%x: tensor<1x4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{dimension 0 of the result has size 2, the operands' longest is 1}}
  %0 = graph.maximum %x, %y : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @cast_changes_shape(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{dimension 1 of input has size 4, dimension 1 of result has size 5}}
  %0 = graph.cast %x : (tensor<2x4xf32>) -> tensor<2x5xbf16>
  return
}

// -----

func.func @cast_to_i1(%x: tensor<2xf32>) {
  // expected-error @+1 {{to i1 would lose numbers; use graph.compare ne}}
  %0 = graph.cast %x : (tensor<2xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @compare_types(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @+1 {{lhs has element type 'f32', rhs has 'i32'}}
  %0 = graph.compare lt %x, %y : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @select_types(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @+1 {{rhs has element type 'i32', result has 'f32'}}
  %0 = graph.select %c, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}
