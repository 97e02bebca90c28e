// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{names @nobody, which is no graph.parameter}}
  %0 = exec.param @nobody : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has offset 100, which is not a multiple of 64}}
  %0 = exec.buffer at 100 : memref<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @+1 {{takes one layer of 'tensor<4x8xf32>', which is not 'tensor<4xf32>'}}
  %0 = exec.layer %x[%i] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// A view shows no element that is not there.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{cannot see 'tensor<4x8xf32>' as 'tensor<33xf32>'}}
  %0 = exec.reshape %x : tensor<4x8xf32> -> tensor<33xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{launches @k, which is no function}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) count = 1 grain = 1 -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>, index, index)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{writes nothing}}
  "exec.launch"(%x) <{count = 1 : i64, grain = 1 : i64, kernel = @k, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<4xf32>) -> ()
  return
}

// -----

func.func private @k(tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{has count 0 and grain 1; both must be positive}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) count = 0 grain = 1 -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>, %i: index) {
  // expected-error @+1 {{passes 1 arrays and 1 scalars to @k, which takes 3 arguments with its range}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) scalars(%i) count = 1 grain = 1 -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<5xf32>, index, index) -> tensor<5xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{passes 'tensor<4xf32>' as argument 0 of @k, which takes 'tensor<5xf32>'}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) count = 1 grain = 1 -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xbf16>, tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf16>, %y: tensor<4xf32>) {
  // expected-error @+1 {{passes 'tensor<4xf16>' as argument 0 of @k, which takes 'tensor<4xbf16>'}}
  %0 = exec.launch @k ins(%x : tensor<4xf16>) outs(%y : tensor<4xf32>) count = 1 grain = 1 -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>, tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>, %b: memref<4xf32>) {
  // expected-error @+1 {{mixes tensors (rung kernels) and memrefs (rung exec)}}
  %0 = exec.launch @k ins(%b : memref<4xf32>) outs(%x : tensor<4xf32>) count = 1 grain = 1 -> tensor<4xf32>
  return
}

// -----

// Destination style: a tensor output is a result of the same type.
func.func private @k(tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  exec.launch @k outs(%x : tensor<4xf32>) count = 1 grain = 1
  return
}

// -----

graph.parameter @e : tensor<32x8xf32> from [#graph.source<"e", file = [32, 8]>]
func.func @f(%ids: tensor<2xi64>, %y: tensor<2x8xf32>) {
  // expected-error @+1 {{ids have type 'tensor<2xi64>', not i32}}
  %0 = exec.gather_packed @e ins(%ids : tensor<2xi64>) outs(%y : tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

graph.parameter @e : tensor<32x8xf32> from [#graph.source<"e", file = [32, 8]>]
func.func @f(%ids: tensor<2xi32>, %y: tensor<3x8xf32>) {
  // expected-error @+1 {{output 'tensor<3x8xf32>' does not lead with the dimensions of 'tensor<2xi32>'}}
  %0 = exec.gather_packed @e ins(%ids : tensor<2xi32>) outs(%y : tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error @+1 {{copies 'memref<4xf32>' to 'memref<5xf32>'}}
  exec.copy %x to %y : memref<4xf32>, memref<5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{has count 0 and step 1; both must be positive}}
  %0 = exec.for %i = 0 step 1 carry(%c = %x : tensor<4xf32>) {
    exec.yield %c : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{yielded values have types ('tensor<5xf32>'), the initial values ('tensor<4xf32>')}}
  %0 = exec.for %i = 2 step 1 carry(%c = %x : tensor<4xf32>) {
    exec.yield %y : tensor<5xf32>
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{runs for 4 to 3, which is no range}}
  exec.for %i = call[0] in 4 to 3 step 1 {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{runs as often as a number says that is no flag}}
  exec.for %i = number(%n) in 0 to 1 step 1 {
  }
  return
}

// -----

func.func @f(%c: tensor<i1>) {
  %n = exec.read_flag %c : tensor<i1>
  // expected-error @+1 {{runs as often as a number says that is no flag}}
  exec.for %i = number(%n) in 0 to 3 step 1 {
  }
  return
}

// -----

func.func @f(%c: tensor<i1>) {
  %n = exec.read_flag %c : tensor<i1>
  %m = exec.index_offset %n, 1
  // expected-error @+1 {{runs as often as a number says that is no flag}}
  exec.for %i = number(%m) in 0 to 1 step 1 {
  }
  return
}

// -----

func.func @f(%c: tensor<2xi1>) {
  // expected-error @+1 {{reads 'tensor<2xi1>', expected one i1}}
  %n = exec.read_flag %c : tensor<2xi1>
  return
}

// -----

module attributes {exec.streams = ["compute", "communication"]} {
func.func @f(%c: memref<i1>) {
  // expected-error @+1 {{is given to stream 1, but the host waits for stream 0}}
  %n = exec.read_flag %c stream 1 : memref<i1>
  return
}
}

// -----

func.func @f() {
  // expected-error @+1 {{takes count -1 of the call; they begin at 0}}
  exec.for %i = call[-1] in 0 to 3 step 1 {
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{expected 'in'}}
  exec.for %i = call[0] to 3 step 1 {
  }
  return
}

// -----

graph.parameter @w : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>]
func.func @f() {
  // expected-error @+1 {{packs @w, which is no variable: nothing can have changed it}}
  exec.pack @w
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %i = arith.constant 4 : index
  // expected-error @+1 {{takes layer 4 of 'tensor<4x8xf32>'}}
  %0 = exec.layer %x[%i] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{has 2 modes for 1 outputs}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) count = 1 grain = 1 modes(write, update) -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{writes a layer of output 0, but no scalar says which}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) count = 1 grain = 1 modes(layer) -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<f32>, index, index, index) -> tensor<f32>
func.func @f(%x: tensor<f32>, %i: index) {
  // expected-error @+1 {{writes a layer of output 0, but that is no stack}}
  %0 = exec.launch @k outs(%x : tensor<f32>) scalars(%i) count = 1 grain = 1 modes(layer) -> tensor<f32>
  return
}

// -----

func.func private @k(tensor<4xf32>, index, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{unknown mode 'fill': an output is written (write), updated (update) or gets one layer (layer)}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) count = 1 grain = 1 modes(fill) -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>, i64, index) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{passes an index to @k, which takes 'i64'}}
  %0 = exec.launch @k outs(%x : tensor<4xf32>) count = 1 grain = 1 -> tensor<4xf32>
  return
}

// -----

graph.parameter @w : tensor<4x8xf32> from [#graph.source<"w", file = [4, 8]>] {exec.local = tensor<2x8xf32>}
func.func @f() {
  // expected-error @+1 {{is 'tensor<4x8xf32>', but a rank holds 'tensor<2x8xf32>' of @w}}
  %0 = exec.param @w : tensor<4x8xf32>
  return
}

// -----

graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>]
func.func @f(%i: index) {
  // expected-error @+1 {{packs a layer of @w, which is not stacked}}
  exec.pack @w[%i]
  return
}

// -----

graph.parameter @e : tensor<32x8xf32> from [#graph.source<"e", file = [32, 8]>]
func.func @f(%ids: tensor<2xi32>, %y: tensor<2x9xf32>) {
  // expected-error @+1 {{makes rows of 9 elements; those of @e have 8}}
  %0 = exec.gather_packed @e ins(%ids : tensor<2xi32>) outs(%y : tensor<2x9xf32>) -> tensor<2x9xf32>
  return
}

// -----

graph.parameter @w : tensor<16x8xbf16> from [#graph.source<"w", file = [16, 8]>]
func.func @gather_into_another_type(%ids: tensor<2xi32>, %y: tensor<2x8xf32>) {
  // expected-error @below {{writes rows of @w, stored as 'bf16', to 'tensor<2x8xf32>'}}
  %0 = exec.gather_packed @w ins(%ids : tensor<2xi32>) outs(%y : tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

graph.parameter @w : tensor<8xbf16> from [#graph.source<"w", file = [8]>]
func.func @parameter_read_as_another_type() {
  // expected-error @below {{reads @w, stored as 'bf16', as 'tensor<8xf32>'}}
  %0 = exec.param @w : tensor<8xf32>
  return
}

// -----

// Rows of a table of rank 3 that is held with one row dimension: all that follows is one row.
graph.parameter @e : tensor<32x4x2xf32> from [#graph.source<"e", file = [32, 4, 2]>] {exec.pack = 1 : i64}
func.func @rows_of_rank_three(%ids: tensor<2xi32>, %y: tensor<2x8xf32>, %short: tensor<2x2xf32>) {
  %0 = exec.gather_packed @e ins(%ids : tensor<2xi32>) outs(%y : tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-error @+1 {{makes rows of 2 elements; those of @e have 8}}
  %1 = exec.gather_packed @e ins(%ids : tensor<2xi32>) outs(%short : tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

// expected-error @+1 {{has 2048 threads; a block has 1 to 1024}}
exec.device_kernel @k threads = 2048 shared = 0 per_block = 1

// -----

// expected-error @+1 {{does 0 iterations in a block}}
exec.device_kernel @k threads = 32 shared = 0 per_block = 0

// -----

exec.device_kernel @k threads = 32 shared = 0 per_block = 1
// expected-error @+1 {{has 2048 threads; a block has 1 to 1024}}
exec.device_sibling @k$wide of @k count = 8 blocks = 4 threads = 2048 shared = 0 trial "k" rows = 8 from = 0 in = 1

// -----

exec.device_kernel @k threads = 32 shared = 0 per_block = 1
// expected-error @+1 {{does 8 iterations in 0 blocks; both must be positive}}
exec.device_sibling @k$wide of @k count = 8 blocks = 0 threads = 64 shared = 0 trial "k" rows = 8 from = 0 in = 1

// -----

exec.device_kernel @k threads = 32 shared = 0 per_block = 1
// expected-error @+1 {{is tried on rows of 0 numbers from 0 on in buffer 1}}
exec.device_sibling @k$wide of @k count = 8 blocks = 4 threads = 64 shared = 0 trial "k" rows = 0 from = 0 in = 1

// -----

// expected-error @+1 {{stands for @k, which is no exec.device_kernel}}
exec.device_sibling @k$wide of @k count = 8 blocks = 4 threads = 64 shared = 0 trial "k" rows = 8 from = 0 in = 1
