// RUN: llm-opt %s --verify-diagnostics --split-input-file

func.func @keys(%x: tensor<4x8xf32>, %keys: tensor<3x1xi64>, %columns: tensor<8xi32>, %p: tensor<f32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{operand #1}}
  %y = graph.dropout %x keys %keys columns %columns probability %p : (tensor<4x8xf32>, tensor<3x1xi64>, tensor<8xi32>, tensor<f32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @types(%x: tensor<4x8xf32>, %keys: tensor<4x1xi64>, %columns: tensor<8xi32>, %p: tensor<f32>) -> tensor<4x8xbf16> {
  // expected-error@+1 {{'graph.dropout' op}}
  %y = graph.dropout %x keys %keys columns %columns probability %p : (tensor<4x8xf32>, tensor<4x1xi64>, tensor<8xi32>, tensor<f32>) -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

func.func @rows(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x4x2x8xf32>, %positions: tensor<1x4xi32>, %keys: tensor<1x4x3x2xi64>, %p: tensor<f32>) -> tensor<1x4x2x3x8xf32> {
  // expected-error@+1 {{drop_keys}}
  %0 = graph.attention %q, %k, %k, %positions dropout %keys, %p scale = 0.125
      : (tensor<1x4x2x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4xi32>, tensor<1x4x3x2xi64>, tensor<f32>) -> tensor<1x4x2x3x8xf32>
  return %0 : tensor<1x4x2x3x8xf32>
}

// -----

func.func @half(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x4x2x8xf32>, %positions: tensor<1x4xi32>, %keys: tensor<1x4x2x3xi64>) -> tensor<1x4x2x3x8xf32> {
  // expected-error@+1 {{needs both keys of rows and a probability to drop weights, or neither}}
  %0 = "graph.attention"(%q, %k, %k, %positions, %keys) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1, 0>, scale = 0.125 : f64}>
      : (tensor<1x4x2x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4xi32>, tensor<1x4x2x3xi64>) -> tensor<1x4x2x3x8xf32>
  return %0 : tensor<1x4x2x3x8xf32>
}

// -----

func.func @pages(%q: tensor<2x1x4x2x16xf32>, %k: tensor<2x256x4x16xf32>, %positions: tensor<2x1xi32>, %table: tensor<2x2xi32>, %keys: tensor<2x1x4x2xi64>, %p: tensor<f32>) -> tensor<2x1x4x2x16xf32> {
  // expected-error@+1 {{drops weights of keys that a table finds: what has pages is not trained}}
  %o = graph.attention %q, %k, %k, %positions pages %table of 128 dropout %keys, %p scale = 0.25
      : (tensor<2x1x4x2x16xf32>, tensor<2x256x4x16xf32>, tensor<2x256x4x16xf32>, tensor<2x1xi32>, tensor<2x2xi32>, tensor<2x1x4x2xi64>, tensor<f32>) -> tensor<2x1x4x2x16xf32>
  return %o : tensor<2x1x4x2x16xf32>
}
