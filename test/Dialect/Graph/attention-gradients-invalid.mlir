// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @log_sum_exp_heads(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{dimension 3 of log_sum_exp has size 2, dimension 3 of query has size 3}}
  %0, %1 = graph.attention %q, %k, %k, %p scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>) -> (tensor<1x4x2x3x8xf32>, tensor<1x4x2x2xf32>)
  return
}

// -----

func.func @log_sum_exp_rank(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{log_sum_exp has 3 dimensions, expected 4}}
  %0, %1 = graph.attention %q, %k, %k, %p scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>) -> (tensor<1x4x2x3x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

func.func @narrow_log_sum_exp(%q: tensor<1x4x2x3x8xbf16>, %k: tensor<1x6x2x8xbf16>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{result #1 must be}}
  %0, %1 = graph.attention %q, %k, %k, %p scale = 1.0 : (tensor<1x4x2x3x8xbf16>, tensor<1x6x2x8xbf16>, tensor<1x6x2x8xbf16>, tensor<1x4xi32>) -> (tensor<1x4x2x3x8xbf16>, tensor<1x4x2x3xbf16>)
  return
}

// -----

func.func @query_gradient_shape(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>, %r: tensor<1x4x2x3xf32>) {
  // expected-error @+1 {{dimension 4 of result has size 7, dimension 4 of query has size 8}}
  %0 = graph.attention_query_gradient %q, %k, %k, %p, %q, %r, %r scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>, tensor<1x4x2x3x8xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) -> tensor<1x4x2x3x7xf32>
  return
}

// -----

func.func @gradient_of_another_result(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x5xf32>, %p: tensor<1x4xi32>, %r: tensor<1x4x2x3xf32>) {
  // expected-error @+1 {{dimension 4 of gradient has size 8, dimension 3 of value has size 5}}
  %0 = graph.attention_query_gradient %q, %k, %v, %p, %q, %r, %r scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x5xf32>, tensor<1x4xi32>, tensor<1x4x2x3x8xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @delta_of_another_batch(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>, %r: tensor<1x4x2x3xf32>, %d: tensor<2x4x2x3xf32>) {
  // expected-error @+1 {{dimension 0 of delta has size 2, dimension 0 of query has size 1}}
  %0, %1 = graph.attention_key_value_gradient %q, %k, %k, %p, %q, %r, %d scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>, tensor<1x4x2x3x8xf32>, tensor<1x4x2x3xf32>, tensor<2x4x2x3xf32>) -> (tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @key_gradient_elements(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xbf16>, %p: tensor<1x4xi32>, %r: tensor<1x4x2x3xf32>) {
  // expected-error @+1 {{key_gradient has element type 'f16', key has 'bf16'}}
  %0, %1 = graph.attention_key_value_gradient %q, %k, %k, %p, %q, %r, %r scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xbf16>, tensor<1x6x2x8xbf16>, tensor<1x4xi32>, tensor<1x4x2x3x8xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) -> (tensor<1x6x2x8xf16>, tensor<1x6x2x8xbf16>)
  return
}

// -----

func.func @rounded_value_gradient(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>, %r: tensor<1x4x2x3xf32>) {
  // expected-error @+1 {{value_gradient has element type 'bf16', value has 'f32'}}
  %0, %1 = graph.attention_key_value_gradient %q, %k, %k, %p, %q, %r, %r scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>, tensor<1x4x2x3x8xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) -> (tensor<1x6x2x8xf32>, tensor<1x6x2x8xbf16>)
  return
}

// -----

func.func @wide_query_gradient(%q: tensor<1x4x2x3x8xbf16>, %k: tensor<1x6x2x8xbf16>, %p: tensor<1x4xi32>, %r: tensor<1x4x2x3xf32>) {
  // expected-error @+1 {{result has element type 'f32', query has 'bf16'}}
  %0 = graph.attention_query_gradient %q, %k, %k, %p, %q, %r, %r scale = 1.0 : (tensor<1x4x2x3x8xbf16>, tensor<1x6x2x8xbf16>, tensor<1x6x2x8xbf16>, tensor<1x4xi32>, tensor<1x4x2x3x8xbf16>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @gradient_window(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>, %r: tensor<1x4x2x3xf32>) {
  // expected-error @+1 {{window is 0, expected 1 or more}}
  %0 = graph.attention_query_gradient %q, %k, %k, %p, %q, %r, %r scale = 1.0 {window = 0 : i64} : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>, tensor<1x4x2x3x8xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) -> tensor<1x4x2x3x8xf32>
  return
}
