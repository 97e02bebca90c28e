// What is wrong with products of a library.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{needs either a packed parameter or a plain weight}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x9xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{weight 'tensor<16x9xf32>' is no 16 x 8 matrix}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x9xf32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x7xf32>, %w: tensor<16x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{input 'tensor<2x7xf32>' is no 2 x 8 matrix}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x7xf32>, tensor<16x8xf32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %b: tensor<2xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{bias 'tensor<2xf32>' does not have 16 elements}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) bias(%b : tensor<2xf32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %r: tensor<16xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{addend 'tensor<16xf32>' is no 2 x 16 matrix}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) addend(%r : tensor<16xf32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xbf16>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{bias holds 'bf16', the output 'f32'}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) bias(%b : tensor<16xbf16>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{'gelu' is no function of a product}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) function gelu outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %y: tensor<2x15xf32>) {
  // expected-error @+1 {{output 'tensor<2x15xf32>' is no 2 x 16 matrix}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) outs(%y : tensor<2x15xf32>) -> tensor<2x15xf32>
  return
}

// -----

graph.parameter @w : tensor<4x16x8xf32> stacked from [#graph.source<"w.{}", file = [16, 8]>]
func.func @f(%x: tensor<2x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{needs the number of a layer of @w, which is stacked}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) packed @w outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

graph.parameter @w : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>]
func.func @f(%x: tensor<2x8xf32>, %y: tensor<2x16xf32>, %i: index) {
  // expected-error @+1 {{takes a layer of @w, which is not stacked}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) packed @w[%i] outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @matmul_of_integers(%x: tensor<2x8xf32>, %w: tensor<16x8xi32>, %y: tensor<2x16xf32>) {
  // expected-error @below {{weight holds 'i32'; products take f32, bf16 and f16}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xi32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

graph.parameter @w : tensor<4x16x9xf32> stacked from [#graph.source<"w.{}", file = [16, 9]>]
func.func @f(%x: tensor<2x8xf32>, %y: tensor<2x16xf32>, %i: index) {
  // expected-error @+1 {{takes 128 elements of @w, which has 144 a layer: 'tensor<4x16x9xf32>'}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) packed @w[%i] outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

graph.parameter @w : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>]
func.func @packed_the_other_way(%x: tensor<2x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{reads a packed parameter transposed; those have one orientation}}
  %0 = "exec.matmul"(%x, %y) <{m = 2 : i64, n = 16 : i64, k = 8 : i64, param = @w, weight_transposed, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 1>}>
    : (tensor<2x8xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @matmul_of_doubles(%x: tensor<2x8xf64>, %w: tensor<16x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @below {{input holds 'f64'; products take f32, bf16 and f16}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf64>, tensor<16x8xf32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

graph.parameter @w : tensor<16x8xf64> from [#graph.source<"w", file = [16, 8]>]
func.func @matmul_of_a_parameter_of_doubles(%x: tensor<2x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @below {{parameter holds 'f64'; products take f32, bf16 and f16}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) packed @w outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

graph.parameter @w : tensor<16x4x2xf32> from [#graph.source<"w", file = [16, 4, 2]>] {exec.pack = 2 : i64}
func.func @held_as_another_matrix(%x: tensor<2x8xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{takes 16 rows of @w, which is held as 64 x 2}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) packed @w outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %s: tensor<4xi32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{weight 'tensor<16x8xf32>' is no 48 x 8 matrix}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) starts(%s : tensor<4xi32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %s: tensor<2xi64>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{has starts 'tensor<2xi64>'; they are i32, one more than groups}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) starts(%s : tensor<2xi64>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<16x8xf32>, %s: tensor<2xi32>, %b: tensor<16xf32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{is by group, and transposes or adds something}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) starts(%s : tensor<2xi32>) bias(%b : tensor<16xf32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

// A packed parameter has the rows of all groups.
graph.parameter @w : tensor<32x8xf32> from [#graph.source<"w", file = [32, 8]>]
func.func @f(%x: tensor<2x8xf32>, %s: tensor<4xi32>, %y: tensor<2x16xf32>) {
  // expected-error @+1 {{takes 384 elements of @w, which has 256}}
  %0 = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) packed @w starts(%s : tensor<4xi32>) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

// Pieces of what is held in blocks are words, counted along each dimension of a layer.
graph.parameter @w : tensor<32x64xf32> from [#graph.source<"w", file = [32, 64]>] {exec.held = ["Q8_0"], exec.layer_bytes = 1152 : i64, exec.local = tensor<16x64xf32>, exec.pack = 1 : i64}
func.func @f(%x: tensor<2x64xf32>, %p: tensor<2x1x144xi32>, %y: tensor<2x32xf32>) {
  // expected-error @+1 {{takes 'tensor<2x1x144xi32>' for pieces of @w: they are counted along its 2 dimensions, several along one at most, and have 288 words each}}
  %0 = exec.matmul m = 2 n = 32 k = 64 ins(%x, %p : tensor<2x64xf32>, tensor<2x1x144xi32>) packed @w outs(%y : tensor<2x32xf32>) -> tensor<2x32xf32>
  return
}

// -----

graph.parameter @w : tensor<32x64xf32> from [#graph.source<"w", file = [32, 64]>] {exec.held = ["Q8_0"], exec.layer_bytes = 1152 : i64, exec.local = tensor<16x64xf32>, exec.pack = 1 : i64}
func.func @g(%x: tensor<2x64xf32>, %p: tensor<1x2x288xi32>, %y: tensor<2x32xf32>) {
  // expected-error @+1 {{takes 32 x 64 numbers of @w, whose pieces are 16x64 together}}
  %0 = exec.matmul m = 2 n = 32 k = 64 ins(%x, %p : tensor<2x64xf32>, tensor<1x2x288xi32>) packed @w outs(%y : tensor<2x32xf32>) -> tensor<2x32xf32>
  return
}

// -----

graph.parameter @w : tensor<32x64xf32> from [#graph.source<"w", file = [32, 64]>] {exec.held = ["Q8_0"], exec.layer_bytes = 1152 : i64, exec.local = tensor<16x64xf32>, exec.pack = 1 : i64}
func.func @h() {
  // expected-error @+1 {{is 'tensor<16x64xf32>', but @w is held in blocks, as 'tensor<288xi32>'}}
  %0 = exec.param @w : tensor<16x64xf32>
  return
}

// -----

graph.parameter @w : tensor<32x64xf32> from [#graph.source<"w", file = [32, 64]>] {exec.pack = 1 : i64}
func.func @f(%x: tensor<2x64xf32>, %p: tensor<2x1x288xi32>, %y: tensor<2x32xf32>) {
  // expected-error @+1 {{takes pieces of @w, which does not say how many bytes of blocks a layer has}}
  %0 = exec.matmul m = 2 n = 32 k = 64 ins(%x, %p : tensor<2x64xf32>, tensor<2x1x288xi32>) packed @w outs(%y : tensor<2x32xf32>) -> tensor<2x32xf32>
  return
}

// -----

graph.parameter @w : tensor<32x64xf32> from [#graph.source<"w", file = [32, 64]>] {exec.pack = 1 : i64}
func.func @f(%x: tensor<2x64xf32>, %p: tensor<32x64xf32>, %y: tensor<2x32xf32>) {
  // expected-error @+1 {{takes 'tensor<32x64xf32>' for pieces of @w; those are gathered words, i32, of one layer}}
  %0 = exec.matmul m = 2 n = 32 k = 64 ins(%x, %p : tensor<2x64xf32>, tensor<32x64xf32>) packed @w outs(%y : tensor<2x32xf32>) -> tensor<2x32xf32>
  return
}
