// RUN: llm-opt %s --verify-diagnostics --split-input-file

func.func @too_many(%x: tensor<4x3xf32>) -> (tensor<4x5xf32>, tensor<4x5xi32>) {
  // expected-error@+1 {{chooses 5 of 3 elements}}
  %v, %i = graph.top_k %x : (tensor<4x3xf32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return %v, %i : tensor<4x5xf32>, tensor<4x5xi32>
}

// -----

func.func @not_alike(%x: tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x1xi32>) {
  // expected-error@+1 {{dimension 1 of indices has size 1, dimension 1 of values has size 2}}
  %v, %i = graph.top_k %x : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x1xi32>)
  return %v, %i : tensor<4x2xf32>, tensor<4x1xi32>
}

// -----

func.func @wide(%x: tensor<4x3xf64>) -> (tensor<4x2xf64>, tensor<4x2xi32>) {
  // expected-error@+1 {{elements count as float32}}
  %v, %i = graph.top_k %x : (tensor<4x3xf64>) -> (tensor<4x2xf64>, tensor<4x2xi32>)
  return %v, %i : tensor<4x2xf64>, tensor<4x2xi32>
}

// -----

func.func @tokens(%x: tensor<4x8xf32>, %ids: tensor<3x2xi32>) -> tensor<4x5x8xf32> {
  // expected-error@+1 {{dimension 0 of ids has size 3, dimension 0 of result has size 4}}
  %0 = graph.dispatch %x, %ids : (tensor<4x8xf32>, tensor<3x2xi32>) -> tensor<4x5x8xf32>
  return %0 : tensor<4x5x8xf32>
}

// -----

func.func @no_tokens(%x: tensor<8xf32>, %ids: tensor<2xi32>) -> tensor<5x8xf32> {
  // expected-error@+1 {{result has 2 dimensions, expected 3 or more (tokens..., expert, elements)}}
  %0 = graph.dispatch %x, %ids : (tensor<8xf32>, tensor<2xi32>) -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// -----

func.func @row(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>) -> tensor<4x5x7xf32> {
  // expected-error@+1 {{dimension 1 of input has size 8, dimension 2 of result has size 7}}
  %0 = graph.dispatch %x, %ids : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x5x7xf32>
  return %0 : tensor<4x5x7xf32>
}

// -----

func.func @experts(%rows: tensor<4x5x8xf32>, %w: tensor<6x7x8xf32>, %ids: tensor<4x2xi32>) -> tensor<4x5x7xf32> {
  // expected-error@+1 {{dimension 0 of weight has size 6, dimension 1 of rows has size 5}}
  %0 = graph.expert_linear %rows, %w, %ids : (tensor<4x5x8xf32>, tensor<6x7x8xf32>, tensor<4x2xi32>) -> tensor<4x5x7xf32>
  return %0 : tensor<4x5x7xf32>
}

// -----

func.func @product(%rows: tensor<4x5x8xf32>, %w: tensor<5x8x7xf32>, %ids: tensor<4x2xi32>) -> tensor<4x5x7xf32> {
  // expected-error@+1 {{dimension 2 of weight has size 7, dimension 2 of rows has size 8}}
  %0 = graph.expert_linear %rows, %w, %ids : (tensor<4x5x8xf32>, tensor<5x8x7xf32>, tensor<4x2xi32>) -> tensor<4x5x7xf32>
  return %0 : tensor<4x5x7xf32>
}

// -----

func.func @double(%rows: tensor<4x5x8xf64>, %w: tensor<5x7x8xf64>, %ids: tensor<4x2xi32>) -> tensor<4x5x7xf64> {
  // expected-error@+1 {{rows is f64, and this op computes in float32; cast it before}}
  %0 = graph.expert_linear %rows, %w, %ids : (tensor<4x5x8xf64>, tensor<5x7x8xf64>, tensor<4x2xi32>) -> tensor<4x5x7xf64>
  return %0 : tensor<4x5x7xf64>
}

// -----

func.func @weights(%rows: tensor<4x5x8xf32>, %ids: tensor<4x2xi32>, %weights: tensor<4x3xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{dimension 1 of weights has size 3, dimension 1 of ids has size 2}}
  %0 = graph.combine %rows, %ids, %weights : (tensor<4x5x8xf32>, tensor<4x2xi32>, tensor<4x3xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @weights_of_rows(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>, %weights: tensor<3x2xf32>) -> tensor<4x5x8xf32> {
  // expected-error@+1 {{dimension 0 of weights has size 3, dimension 0 of ids has size 4}}
  %0 = graph.dispatch %x, %ids weights %weights : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<3x2xf32>) -> tensor<4x5x8xf32>
  return %0 : tensor<4x5x8xf32>
}

// -----

func.func @double_weights(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>, %weights: tensor<4x2xf64>) -> tensor<4x5x8xf32> {
  // expected-error@+1 {{weights is f64, and this op computes in float32; cast it before}}
  %0 = graph.dispatch %x, %ids weights %weights : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4x2xf64>) -> tensor<4x5x8xf32>
  return %0 : tensor<4x5x8xf32>
}

// -----

// Rows that are weighed are rounded; those that are not are copies.
func.func @rounds(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>) -> tensor<4x5x8xbf16> {
  // expected-error@+1 {{input has element type 'f32', result has 'bf16'}}
  %0 = graph.dispatch %x, %ids : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x5x8xbf16>
  return %0 : tensor<4x5x8xbf16>
}

// -----

func.func @not_transposed(%rows: tensor<4x5x8xf32>, %w: tensor<5x7x8xf32>, %ids: tensor<4x2xi32>) -> tensor<4x5x7xf32> {
  // expected-error@+1 {{dimension 1 of weight has size 7, dimension 2 of rows has size 8}}
  %0 = graph.expert_linear %rows, %w transposed, %ids : (tensor<4x5x8xf32>, tensor<5x7x8xf32>, tensor<4x2xi32>) -> tensor<4x5x7xf32>
  return %0 : tensor<4x5x7xf32>
}

// -----

func.func @outer_of_others(%lhs: tensor<4x5x8xf32>, %rhs: tensor<4x6x7xf32>, %ids: tensor<4x2xi32>) -> tensor<5x8x7xf32> {
  // expected-error@+1 {{dimension 1 of rhs has size 6, dimension 1 of lhs has size 5}}
  %0 = graph.expert_outer %lhs, %rhs, %ids : (tensor<4x5x8xf32>, tensor<4x6x7xf32>, tensor<4x2xi32>) -> tensor<5x8x7xf32>
  return %0 : tensor<5x8x7xf32>
}

// -----

func.func @outer_crossed(%lhs: tensor<4x5x8xf32>, %rhs: tensor<4x5x7xf32>, %ids: tensor<4x2xi32>) -> tensor<5x7x8xf32> {
  // expected-error@+1 {{dimension 1 of result has size 7, dimension 2 of lhs has size 8}}
  %0 = graph.expert_outer %lhs, %rhs, %ids : (tensor<4x5x8xf32>, tensor<4x5x7xf32>, tensor<4x2xi32>) -> tensor<5x7x8xf32>
  return %0 : tensor<5x7x8xf32>
}

// -----

func.func @dot_of_others(%x: tensor<4x8xf32>, %rows: tensor<4x5x7xf32>, %ids: tensor<4x2xi32>) -> tensor<4x2xf32> {
  // expected-error@+1 {{dimension 1 of input has size 8, dimension 2 of rows has size 7}}
  %0 = graph.chosen_dot %x, %rows, %ids : (tensor<4x8xf32>, tensor<4x5x7xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

func.func @dot_of_some(%x: tensor<4x8xf32>, %rows: tensor<4x5x8xf32>, %ids: tensor<4x2xi32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{dimension 1 of result has size 3, dimension 1 of ids has size 2}}
  %0 = graph.chosen_dot %x, %rows, %ids : (tensor<4x8xf32>, tensor<4x5x8xf32>, tensor<4x2xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
