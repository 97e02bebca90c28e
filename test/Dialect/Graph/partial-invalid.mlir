// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @two_ops(%x: tensor<2x4096xf32>) {
  // expected-error @+1 {{body is not one op with one result and a sharding rule that takes the block's arguments in order}}
  %0 = graph.partial 8 of 1 (%x) : (tensor<2x4096xf32>) -> tensor<8x2xf32> {
  ^bb0(%a: tensor<2x4096xf32>):
    %b = graph.neg %a : tensor<2x4096xf32>
    %c = graph.reduce sum %b dims = [1] : (tensor<2x4096xf32>) -> tensor<2xf32>
    graph.part %c : tensor<2xf32>
  }
  return
}

// -----

func.func @from_outside(%x: tensor<2x4096xf32>) {
  // expected-error @+1 {{body is not one op}}
  %0 = graph.partial 8 of 1 (%x) : (tensor<2x4096xf32>) -> tensor<8x2xf32> {
  ^bb0(%a: tensor<2x4096xf32>):
    %c = graph.reduce sum %x dims = [1] : (tensor<2x4096xf32>) -> tensor<2xf32>
    graph.part %c : tensor<2xf32>
  }
  return
}

// -----

func.func @other_types(%x: tensor<2x4096xf32>) {
  // expected-error @+1 {{body takes other types than the inputs have}}
  %0 = graph.partial 8 of 1 (%x) : (tensor<2x4096xf32>) -> tensor<8x2xf32> {
  ^bb0(%a: tensor<2x8192xf32>):
    %c = graph.reduce sum %a dims = [1] : (tensor<2x8192xf32>) -> tensor<2xf32>
    graph.part %c : tensor<2xf32>
  }
  return
}

// -----

// Rows pass through: each has a result of its own.
func.func @not_reduced(%x: tensor<2x4096xf32>) {
  // expected-error @+1 {{factor 0 is none that the body's op reduces: ([i, j]) -> ([i]) reduction={j}}}
  %0 = graph.partial 2 of 0 (%x) : (tensor<2x4096xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x4096xf32>):
    %c = graph.reduce sum %a dims = [1] : (tensor<2x4096xf32>) -> tensor<2xf32>
    graph.part %c : tensor<2xf32>
  }
  return
}

// -----

// All parts would look all indices up.
func.func @looked_up(%x: tensor<64x8xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{factor 0 is none that the body's op reduces}}
  %0 = graph.partial 2 of 0 (%x, %i) : (tensor<64x8xf32>, tensor<2xi32>) -> tensor<2x2x8xf32> {
  ^bb0(%a: tensor<64x8xf32>, %b: tensor<2xi32>):
    %c = graph.embedding %a, %b : (tensor<64x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
    graph.part %c : tensor<2x8xf32>
  }
  return
}

// -----

func.func @uneven(%x: tensor<2x4096xf32>) {
  // expected-error @+1 {{cuts factor 1 into 3 parts, which no dimension of 'tensor<2x4096xf32>' has}}
  %0 = graph.partial 3 of 1 (%x) : (tensor<2x4096xf32>) -> tensor<3x2xf32> {
  ^bb0(%a: tensor<2x4096xf32>):
    %c = graph.reduce sum %a dims = [1] : (tensor<2x4096xf32>) -> tensor<2xf32>
    graph.part %c : tensor<2xf32>
  }
  return
}

// -----

func.func @result(%x: tensor<2x4096xf32>) {
  // expected-error @+1 {{gives 'tensor<2x8xf32>', expected 8 times 'tensor<2xf32>'}}
  %0 = graph.partial 8 of 1 (%x) : (tensor<2x4096xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x4096xf32>):
    %c = graph.reduce sum %a dims = [1] : (tensor<2x4096xf32>) -> tensor<2xf32>
    graph.part %c : tensor<2xf32>
  }
  return
}
