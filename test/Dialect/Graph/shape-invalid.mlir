// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @constant_shape() {
  // expected-error @+1 {{value has shape [2], the result [3]}}
  %0 = graph.constant dense<[1, 2]> : tensor<2xi32> : tensor<3xi32>
  return
}

// -----

func.func @constant_type() {
  // expected-error @+1 {{value has element type 'i32', the result 'f32'}}
  %0 = graph.constant dense<1> : tensor<3xi32> : tensor<3xf32>
  return
}

// -----

func.func @iota_dim() {
  // expected-error @+1 {{counts along dimension 2 of a tensor with 1 dimensions}}
  %0 = graph.iota dim = 2 : tensor<3xi32>
  return
}

// -----

func.func @reshape_elements(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{input has 6 elements, the result 8}}
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @no_permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{[1, 1] is no permutation of 2 dimensions}}
  %0 = graph.transpose %x [1, 1] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @transposed_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{dimension 0 of result has size 2, dimension 1 of input has size 3}}
  %0 = graph.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_dims(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{dims must be strictly increasing, 0 comes after 1}}
  %0 = graph.broadcast %x dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_outside(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{takes 4 from 6 on of dimension 1, which has size 8}}
  %0 = graph.slice %x at [0, 6] : (tensor<2x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @reverse_dim(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{reverses dimension 2 of a tensor with 2 dimensions}}
  %0 = graph.reverse %x dim = 2 : tensor<2x8xf32>
  return
}

// -----

func.func @concat_total(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{inputs have 16 in dimension 1 together, the result 15}}
  %0 = graph.concat %x, %x dim = 1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x15xf32>
  return
}

// -----

func.func @concat_other_dim(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>) {
  // expected-error @+1 {{dimension 0 of input #1 has size 3, dimension 0 of result has size 2}}
  %0 = graph.concat %x, %y dim = 1 : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @reduce_out_of_range(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{dims names dimension 2 of a tensor with 2 dimensions}}
  %0 = graph.reduce sum %x dims = [2] : (tensor<2x8xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @take_length(%x: tensor<2x8x3xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{dimension 1 of result has size 2, expected 1}}
  %0 = graph.take %x, %i : (tensor<2x8x3xf32>, tensor<2xi32>) -> tensor<2x2x3xf32>
  return
}

// -----

func.func @layer_index(%x: tensor<4x8xf32>, %i: tensor<1xi32>) {
  // expected-error @+1 {{index has 1 dimensions, expected 0}}
  %0 = graph.layer_slice %x[%i] : (tensor<4x8xf32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @mask_nothing(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{masks no dimension}}
  %0 = graph.mask_padding %x dims = [] value = 0.0 : tensor<4x8xf32>
  return
}

// -----

func.func @names(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has 1 dimension names for 2 dimensions}}
  %0 = graph.name %x "x" ["batch"] : tensor<4x8xf32>
  return
}

// -----

func.func @layer_of_no_stack(%i: tensor<i32>) {
  // expected-error @+1 {{is layer 5 of 5 that a stack holds of every 6: expected one of them, and at most all}}
  %0 = graph.stack_layer %i period = 6 held = 5 before = 5 : tensor<i32>
  return
}

// -----

func.func @more_layers_than_there_are(%i: tensor<i32>) {
  // expected-error @+1 {{is layer 0 of 7 that a stack holds of every 6: expected one of them, and at most all}}
  %0 = graph.stack_layer %i period = 6 held = 7 before = 0 : tensor<i32>
  return
}

// -----

func.func @layers_of_several(%i: tensor<2xi32>) {
  // expected-error @+1 {{index has 1 dimensions, expected 0}}
  %0 = graph.stack_layer %i period = 6 held = 5 before = 0 : tensor<2xi32>
  return
}
