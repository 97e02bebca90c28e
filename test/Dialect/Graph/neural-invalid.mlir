// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @embedding_width(%t: tensor<32x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{dimension 1 of table has size 8, dimension 1 of result has size 9}}
  %0 = graph.embedding %t, %i : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @linear_inner(%x: tensor<4x8xf32>, %w: tensor<3x9xf32>) {
  // expected-error @+1 {{dimension 1 of input has size 8, dimension 1 of weight has size 9}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32>, tensor<3x9xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @linear_contract(%x: tensor<4x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{contracts 3 dimensions of an input with 2 and a weight with 2}}
  %0 = graph.linear %x, %w contract = 3 : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @einsum_form(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{subscripts "aB,B->a" are not of the form "ab,bc->ac", small letters only}}
  %0 = graph.einsum "aB,B->a" %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @einsum_rank(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{rhs has 1 dimensions, expected 2}}
  %0 = graph.einsum "ab,bc->ac" %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @einsum_size(%x: tensor<4x8xf32>, %y: tensor<7xf32>) {
  // expected-error @+1 {{dimension 0 of rhs has size 7, dimension 1 of lhs has size 8}}
  %0 = graph.einsum "ab,b->a" %x, %y : (tensor<4x8xf32>, tensor<7xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @einsum_twice(%x: tensor<8x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{has 'a' twice in lhs}}
  %0 = graph.einsum "aa,a->a" %x, %y : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @einsum_alone(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{has 'a' in lhs alone; a letter stands in two tensors or three}}
  %0 = graph.einsum "ab,b->" %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @norm_weight(%x: tensor<4x8xf32>, %w: tensor<7xf32>) {
  // expected-error @+1 {{dimension 0 of weight has size 7, dimension 1 of input has size 8}}
  %0 = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<4x8xf32>, tensor<7xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @norm_weight_of_two_dimensions(%x: tensor<4x3x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{dimension 0 of weight has size 4, dimension 1 of input has size 3}}
  %0 = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<4x3x8xf32>, tensor<4x8xf32>) -> tensor<4x3x8xf32>
  return
}

// -----

func.func @norm_weight_of_too_many_dimensions(%x: tensor<8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{weight has 2 dimensions, expected 1 to 1: the last ones of input}}
  %0 = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @norm_eps(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{eps must be finite and not negative}}
  %0 = graph.layer_norm %x, %w, %w eps = -1.0 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @softmax_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{input has no dimension to normalise over}}
  %0 = graph.softmax %x : tensor<f32>
  return
}

// -----

func.func @rope_pairs(%x: tensor<1x4x6xf32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{has 4 frequencies for 6 elements; a frequency turns two}}
  %0 = graph.rope half %x, %p frequencies = [1.0, 0.5, 0.25, 0.125] : (tensor<1x4x6xf32>, tensor<1x4xi32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @rope_positions(%x: tensor<1x4x6xf32>, %p: tensor<1x5xi32>) {
  // expected-error @+1 {{dimension 1 of positions has size 5, dimension 1 of input has size 4}}
  %0 = graph.rope half %x, %p frequencies = [1.0] : (tensor<1x4x6xf32>, tensor<1x5xi32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x3x8xf32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{dimension 2 of key has size 3, dimension 2 of query has size 2}}
  %0 = graph.attention %q, %k, %k, %p scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x3x8xf32>, tensor<1x6x3x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @attention_window(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{window is 0, expected 1 or more}}
  %0 = graph.attention %q, %k, %k, %p scale = 1.0 {window = 0 : i64} : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @sinks_of_keys(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>, %s: tensor<2x2xf32>) {
  // expected-error @+1 {{dimension 1 of sinks has size 2, dimension 3 of query has size 3}}
  %0 = graph.attention %q, %k, %k, %p sinks %s scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>, tensor<2x2xf32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @sinks_of_all_heads(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x6x2x8xf32>, %p: tensor<1x4xi32>, %s: tensor<6xf32>) {
  // expected-error @+1 {{sinks has 1 dimensions, expected 2}}
  %0 = graph.attention %q, %k, %k, %p sinks %s scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4xi32>, tensor<6xf32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @cache_heads(%c: tensor<3x1x16x2x8xf32>, %u: tensor<1x4x3x8xf32>, %i: tensor<i32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{dimension 2 of update has size 3, dimension 3 of cache has size 2}}
  %0 = graph.cache_update %c[%i], %u, %p : (tensor<3x1x16x2x8xf32>, tensor<1x4x3x8xf32>, tensor<i32>, tensor<1x4xi32>) -> tensor<3x1x16x2x8xf32>
  return
}

// -----

func.func @cache_result(%c: tensor<3x1x16x2x8xf32>, %u: tensor<1x4x2x8xf32>, %i: tensor<i32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{result has another type than the cache: 'tensor<3x1x8x2x8xf32>'}}
  %0 = graph.cache_update %c[%i], %u, %p : (tensor<3x1x16x2x8xf32>, tensor<1x4x2x8xf32>, tensor<i32>, tensor<1x4xi32>) -> tensor<3x1x8x2x8xf32>
  return
}

// -----

func.func @arg_max_rows(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{dimension 0 of input has size 2, dimension 0 of result has size 3}}
  %0 = graph.arg_max_key %x : (tensor<2x8xf32>) -> tensor<3xi64>
  return
}

// -----

func.func @arg_max_index_rows(%k: tensor<2xi64>) {
  // expected-error @+1 {{result has 2 dimensions, expected 1}}
  %0 = graph.arg_max_index %k : (tensor<2xi64>) -> tensor<2x1xi32>
  return
}

// -----

func.func @cross_entropy_labels(%x: tensor<2x4x8xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{dimension 1 of labels has size 3, dimension 1 of logits has size 4}}
  %0, %1 = graph.cross_entropy %x, %l : (tensor<2x4x8xf32>, tensor<2x3xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @cross_entropy_precision(%x: tensor<2x8xbf16>, %l: tensor<2xi32>) {
  // expected-error @+1 {{loss has element type 'bf16', expected 'f32' for logits of 'bf16'}}
  %0, %1 = graph.cross_entropy %x, %l : (tensor<2x8xbf16>, tensor<2xi32>) -> (tensor<2xbf16>, tensor<2xf32>)
  return
}

// -----

func.func @scatter_add_rows(%x: tensor<2x4x8xf32>, %i: tensor<2x4xi32>) {
  // expected-error @+1 {{dimension 1 of result has size 9, dimension 2 of rows has size 8}}
  %0 = graph.scatter_add %x, %i : (tensor<2x4x8xf32>, tensor<2x4xi32>) -> tensor<5x9xf32>
  return
}

// -----

func.func @scatter_add_precision(%x: tensor<2x8xf16>, %i: tensor<2xi32>) {
  // expected-error @+1 {{result has element type 'f16', expected 'f32' for rows of 'f16'}}
  %0 = graph.scatter_add %x, %i : (tensor<2x8xf16>, tensor<2xi32>) -> tensor<5x8xf16>
  return
}

// -----

func.func @arg_max_of_f64(%x: tensor<2x3xf64>) -> tensor<2xi64> {
  // expected-error@+1 {{input is f64: keys hold float32; cast it before}}
  %0 = graph.arg_max_key %x : (tensor<2x3xf64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

func.func @rope_of_f64(%x: tensor<1x5x2x8xf64>, %p: tensor<1x5xi32>) -> tensor<1x5x2x8xf64> {
  // expected-error@+1 {{input is f64, and this op computes in float32; cast it before}}
  %0 = graph.rope half %x, %p frequencies = [1.0, 0.5] : (tensor<1x5x2x8xf64>, tensor<1x5xi32>) -> tensor<1x5x2x8xf64>
  return %0 : tensor<1x5x2x8xf64>
}

// -----

func.func @attention_of_f64(%q: tensor<1x5x2x3x4xf32>, %k: tensor<1x5x2x4xf64>, %p: tensor<1x5xi32>) -> tensor<1x5x2x3x4xf32> {
  // expected-error@+1 {{key is f64, and this op computes in float32; cast it before}}
  %0 = graph.attention %q, %k, %k, %p scale = 0.5 : (tensor<1x5x2x3x4xf32>, tensor<1x5x2x4xf64>, tensor<1x5x2x4xf64>, tensor<1x5xi32>) -> tensor<1x5x2x3x4xf32>
  return %0 : tensor<1x5x2x3x4xf32>
}

// -----

func.func @norm_with_f64(%x: tensor<5x7xf32>, %w: tensor<7xf64>) -> tensor<5x7xf32> {
  // expected-error@+1 {{input has element type 'f32', weight has 'f64'}}
  %0 = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<5x7xf32>, tensor<7xf64>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// -----

func.func @einsum_with_f64(%x: tensor<5x7xf64>, %w: tensor<7xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{lhs has element type 'f64', rhs has 'f32'}}
  %0 = graph.einsum "ab,b->a" %x, %w : (tensor<5x7xf64>, tensor<7xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @draw_scalar(%x: tensor<f32>, %r: tensor<i32>, %c: tensor<i32>, %s: tensor<i64>, %k: tensor<i32>, %t: tensor<f64>) {
  // expected-error@+1 {{logits have no dimension to draw from}}
  %0 = graph.draw %x, %r, %c seed = %s temperature = %t top_k = %k top_p = %t min_p = %t : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<i32>
  return
}

// -----

func.func @draw_of_f64(%x: tensor<2x8xf64>, %r: tensor<2xi32>, %c: tensor<2xi32>, %s: tensor<i64>, %k: tensor<i32>, %t: tensor<f64>) {
  // expected-error@+1 {{logits are f64: they are drawn from as float32; cast them before}}
  %0 = graph.draw %x, %r, %c seed = %s temperature = %t top_k = %k top_p = %t min_p = %t : (tensor<2x8xf64>, tensor<2xi32>, tensor<2xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<2xi32>
  return
}

// -----

func.func @draw_rows(%x: tensor<2x8xf32>, %r: tensor<2xi32>, %c: tensor<3xi32>, %s: tensor<i64>, %k: tensor<i32>, %t: tensor<f64>) {
  // expected-error@+1 {{dimension 0 of logits has size 2, dimension 0 of count has size 3}}
  %0 = graph.draw %x, %r, %c seed = %s temperature = %t top_k = %k top_p = %t min_p = %t : (tensor<2x8xf32>, tensor<2xi32>, tensor<3xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<2xi32>
  return
}

// -----

func.func @draw_rank(%x: tensor<2x8xf32>, %r: tensor<2xi32>, %c: tensor<2xi32>, %s: tensor<i64>, %k: tensor<i32>, %t: tensor<f64>) {
  // expected-error@+1 {{result has 2 dimensions, expected 1}}
  %0 = graph.draw %x, %r, %c seed = %s temperature = %t top_k = %k top_p = %t min_p = %t : (tensor<2x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<2x1xi32>
  return
}

// -----

func.func @draw_seeds(%x: tensor<2x8xf32>, %r: tensor<2xi32>, %c: tensor<2xi32>, %s: tensor<1xi64>, %k: tensor<i32>, %t: tensor<f64>) {
  // expected-error@+1 {{seed has 1 dimensions, expected 0}}
  %0 = graph.draw %x, %r, %c seed = %s temperature = %t top_k = %k top_p = %t min_p = %t : (tensor<2x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<1xi64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<2xi32>
  return
}

// -----

func.func @draw_min_p(%x: tensor<2x8xf32>, %r: tensor<2xi32>, %s: tensor<i64>, %k: tensor<i32>, %t: tensor<f64>, %m: tensor<2xf64>) {
  // expected-error@+1 {{min_p has 1 dimensions, expected 0}}
  %0 = graph.draw %x, %r, %r seed = %s temperature = %t top_k = %k top_p = %t min_p = %m : (tensor<2x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<2xf64>) -> tensor<2xi32>
  return
}

// -----

func.func @pages_of_a_row_more(%c: tensor<3x2x16x2x8xf32>, %u: tensor<2x4x2x8xf32>, %i: tensor<i32>, %p: tensor<2x4xi32>, %t: tensor<3x4xi32>) {
  // expected-error @+1 {{dimension 0 of pages has size 3, dimension 0 of update has size 2}}
  %0 = graph.cache_update %c[%i], %u, %p pages %t of 4 : (tensor<3x2x16x2x8xf32>, tensor<2x4x2x8xf32>, tensor<i32>, tensor<2x4xi32>, tensor<3x4xi32>) -> tensor<3x2x16x2x8xf32>
  return
}

// -----

func.func @pages_of_another_context(%c: tensor<3x2x16x2x8xf32>, %u: tensor<2x4x2x8xf32>, %i: tensor<i32>, %p: tensor<2x4xi32>, %t: tensor<2x5xi32>) {
  // expected-error @+1 {{has 5 pages of 4 positions for a context of 16}}
  %0 = graph.cache_update %c[%i], %u, %p pages %t of 4 : (tensor<3x2x16x2x8xf32>, tensor<2x4x2x8xf32>, tensor<i32>, tensor<2x4xi32>, tensor<2x5xi32>) -> tensor<3x2x16x2x8xf32>
  return
}

// -----

func.func @pages_of_none(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x16x2x8xf32>, %p: tensor<1x4xi32>, %t: tensor<1x4xi32>) {
  // expected-error @+1 {{has 4 pages of 0 positions for a context of 16}}
  %0 = graph.attention %q, %k, %k, %p pages %t of 0 scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @pages_without_a_size(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x16x2x8xf32>, %p: tensor<1x4xi32>, %t: tensor<1x4xi32>) {
  // expected-error @+1 {{needs both a table of pages and how many positions a page has, or neither}}
  %0 = "graph.attention"(%q, %k, %k, %p, %t) {scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<1x4x2x3x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @pages_of_three_dimensions(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x16x2x8xf32>, %p: tensor<1x4xi32>, %t: tensor<1x4x1xi32>) {
  // expected-error @+1 {{pages has 3 dimensions, expected 2}}
  %0 = graph.attention %q, %k, %k, %p pages %t of 4 scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4xi32>, tensor<1x4x1xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @ring_without_window(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x16x2x8xf32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{has keys in a ring of 16 positions and needs a window of so many at most}}
  %0 = graph.attention %q, %k, %k, %p ring scale = 1.0 : (tensor<1x4x2x3x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @ring_shorter_than_window(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x16x2x8xf32>, %p: tensor<1x4xi32>) {
  // expected-error @+1 {{has keys in a ring of 16 positions and needs a window of so many at most}}
  %0 = graph.attention %q, %k, %k, %p ring scale = 1.0 {window = 17 : i64} : (tensor<1x4x2x3x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @ring_in_pages(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x16x2x8xf32>, %p: tensor<1x4xi32>, %t: tensor<1x4xi32>) {
  // expected-error @+1 {{has keys in a ring: it takes positions [batch, seq], no pages, and drops nothing}}
  %0 = graph.attention %q, %k, %k, %p pages %t of 4 ring scale = 1.0 {window = 3 : i64} : (tensor<1x4x2x3x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @ring_of_documents(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x16x2x8xf32>, %p: tensor<1x4x2xi32>) {
  // expected-error @+1 {{has keys in a ring: it takes positions [batch, seq], no pages, and drops nothing}}
  %0 = graph.attention %q, %k, %k, %p ring scale = 1.0 {window = 3 : i64} : (tensor<1x4x2x3x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x4x2xi32>) -> tensor<1x4x2x3x8xf32>
  return
}

// -----

func.func @ring_shorter_than_its_update(%c: tensor<3x2x3x2x8xf32>, %u: tensor<2x4x2x8xf32>, %i: tensor<i32>, %p: tensor<2x4xi32>) {
  // expected-error @+1 {{writes 4 positions into a ring of 3: expected as many at most, and no pages}}
  %0 = graph.cache_update %c[%i], %u, %p ring : (tensor<3x2x3x2x8xf32>, tensor<2x4x2x8xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<3x2x3x2x8xf32>
  return
}
