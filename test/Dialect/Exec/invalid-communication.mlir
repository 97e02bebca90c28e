// Collectives say what they combine and fit their group; what was started is waited for once, and left alone until then.
// RUN: llm-opt %s -split-input-file -verify-diagnostics

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{all_reduce must say how to combine}}
  %0 = exec.collective all_reduce none over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// What no rank could add up: the manifest would be refused when the program starts.
dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{combines elements of type 'f64'; ranks can combine f32, f16, bf16, i64, i32}}
  %0 = exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf64>) outs(%x : tensor<4xf64>) -> tensor<4xf64>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{all_gather does not say how to combine}}
  %0 = exec.collective all_gather max over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'broadcast' is no kind of collective}}
  %0 = exec.collective broadcast none over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{all_slice does not communicate}}
  %0 = exec.collective all_slice none over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%y : tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{elements differ}}
  %0 = exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%y : tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{communicates, but the module has no dist.mesh}}
  %0 = exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{which is no axis of the mesh}}
  %0 = exec.collective all_reduce sum over [#dist.axis_ref<"dp">] ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<8x64xf32>, %y: tensor<3x5xf32>) {
  // expected-error @+1 {{all_gather of 'tensor<8x64xf32>' in a group of 2 gives 1024 elements, not 'tensor<3x5xf32>'}}
  %0 = exec.collective all_gather none over [#dist.axis_ref<"tp">] ins(%x : tensor<8x64xf32>) outs(%y : tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<8x64xf32>, %y: tensor<64x8xf32>) {
  // expected-error @+1 {{gives 512 elements in the same shape, not 'tensor<64x8xf32>'}}
  %0 = exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : tensor<8x64xf32>) outs(%y : tensor<64x8xf32>) -> tensor<64x8xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=3]>
func.func @f(%x: tensor<8xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{splits 'tensor<8xf32>' into 3 equal blocks, which it does not have}}
  %0 = exec.collective reduce_scatter sum over [#dist.axis_ref<"tp">] ins(%x : tensor<8xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<8xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{all_to_all of 'tensor<8xf32>' in a group of 2 gives 8 elements, not 'tensor<4xf32>'}}
  %0 = exec.collective all_to_all none over [#dist.axis_ref<"tp">] ins(%x : tensor<8xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{mirrored axes, or from and to, belong to collective_permute, one of the two}}
  %0 = exec.collective collective_permute none over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["a"=2, "b"=3]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{moves whole pieces, but dimension 0 has 2 before and 3 after}}
  %0 = exec.collective collective_permute none over [#dist.axis_ref<"a">, #dist.axis_ref<"b">] ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
      {from = #dist.sharding<@mesh, [{"a"}], global=[8]>, to = #dist.sharding<@mesh, [{"b"}], global=[8]>} -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<3xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{from and to belong to grouped_send and collective_permute, both and only there}}
  %0 = exec.collective grouped_send none over [#dist.axis_ref<"x">] ins(%x : tensor<3xf32>) outs(%y : tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<3xf32>, %y: tensor<6xf32>) {
  // expected-error @+1 {{from and to belong to grouped_send and collective_permute, both and only there}}
  %0 = exec.collective all_gather none over [#dist.axis_ref<"x">] ins(%x : tensor<3xf32>) outs(%y : tensor<6xf32>)
      {from = #dist.sharding<@mesh, [{"x"}], global=[6]>, to = #dist.sharding<@mesh, [{}], global=[6]>} -> tensor<6xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2, "y"=3]>
func.func @f(%x: tensor<3xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{between layouts of another rank, or of other global sizes}}
  %0 = exec.collective grouped_send none over [#dist.axis_ref<"x">] ins(%x : tensor<3xf32>) outs(%y : tensor<2xf32>)
      {from = #dist.sharding<@mesh, [{"x"}], global=[6]>, to = #dist.sharding<@mesh, [{"y"}], global=[5]>} -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2, "y"=3]>
func.func @f(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{has 'tensor<4xf32>' for a piece of}}
  %0 = exec.collective grouped_send none over [#dist.axis_ref<"x">] ins(%x : tensor<3xf32>) outs(%y : tensor<4xf32>)
      {from = #dist.sharding<@mesh, [{"x"}], global=[6]>, to = #dist.sharding<@mesh, [{"y"}], global=[6]>} -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2, "y"=3]>
func.func @f(%x: tensor<3xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{sends the part [4] at [3] of a tensor of [6]}}
  %0 = exec.collective grouped_send none over [#dist.axis_ref<"x">] ins(%x : tensor<3xf32>) outs(%y : tensor<2xf32>)
      {at = array<i64: 3>, from = #dist.sharding<@mesh, [{"x"}], global=[6]>, to = #dist.sharding<@mesh, [{"x"}], global=[4]>} -> tensor<2xf32>
  return
}

// -----

// A wait taken out is found.
dist.mesh @mesh = <["tp"=2]>
func.func @f() {
  %x = exec.buffer at 0 : memref<4xf32>
  %y = exec.buffer at 64 : memref<8xf32>
  // expected-error @+1 {{is waited for 0 times, not once}}
  %t = exec.collective_start all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<4xf32>) outs(%y : memref<8xf32>)
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f() {
  %x = exec.buffer at 0 : memref<4xf32>
  %s = exec.group_index [#dist.axis_ref<"tp">]
  // expected-error @+1 {{is waited for 2 times, not once}}
  %t = exec.send %x to %s over [#dist.axis_ref<"tp">] tag 0 : memref<4xf32>
  exec.wait %t
  exec.wait %t
  return
}

// -----

// In a loop it would be waited for in every iteration.
dist.mesh @mesh = <["tp"=2]>
func.func @f() {
  %x = exec.buffer at 0 : memref<4xf32>
  %s = exec.group_index [#dist.axis_ref<"tp">]
  // expected-error @+1 {{must be waited for by one exec.wait in the same block}}
  %t = exec.receive %x from %s over [#dist.axis_ref<"tp">] tag 0 : memref<4xf32>
  exec.for %i = 2 step 1 {
    exec.wait %t
  }
  return
}

// -----

dist.mesh @mesh = <["tp"=2]>
func.func @f() {
  %x = exec.buffer at 0 : memref<4xf32>
  %s = exec.group_index [#dist.axis_ref<"tp">]
  // expected-error @+1 {{has tag 1048576; tags are 0 to 1048575}}
  %t = exec.receive %x from %s over [#dist.axis_ref<"tp">] tag 1048576 : memref<4xf32>
  exec.wait %t
  return
}

// -----

// The source may be read, but not written.
dist.mesh @mesh = <["tp"=2]>
func.func @f() {
  %x = exec.buffer at 0 : memref<4xf32>
  %y = exec.buffer at 64 : memref<8xf32>
  %z = exec.buffer at 128 : memref<4xf32>
  // expected-note @+1 {{started here, waited for later}}
  %t = exec.collective_start all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<4xf32>) outs(%y : memref<8xf32>)
  exec.copy %x to %z : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{writes 'memref<4xf32>', which is in flight}}
  exec.copy %z to %x : memref<4xf32>, memref<4xf32>
  exec.wait %t
  return
}

// -----

// The destination may not be read either: here by part of it, under another name, in a loop.
dist.mesh @mesh = <["tp"=2]>
func.func @f() {
  %x = exec.buffer at 0 : memref<4xf32>
  %y = exec.buffer at 64 : memref<32xf32>
  %part = exec.buffer at 128 : memref<4xf32>
  %z = exec.buffer at 256 : memref<4xf32>
  %s = exec.group_index [#dist.axis_ref<"tp">]
  // expected-note @+1 {{started here, waited for later}}
  %t = exec.receive %y from %s over [#dist.axis_ref<"tp">] tag 3 : memref<32xf32>
  exec.for %i = 2 step 1 {
    // expected-error @+1 {{reads 'memref<4xf32>', which is in flight}}
    exec.copy %part to %z : memref<4xf32>, memref<4xf32>
  }
  exec.wait %t
  return
}

// -----

// A layer in flight lies somewhere in its stack: all of that is in flight.
dist.mesh @mesh = <["tp"=2]>
func.func @f() {
  %c2 = arith.constant 2 : index
  %y = exec.buffer at 0 : memref<4x16xf32>
  %part = exec.buffer at 128 : memref<16xf32>
  %z = exec.buffer at 256 : memref<16xf32>
  %s = exec.group_index [#dist.axis_ref<"tp">]
  %layer = exec.layer %y[%c2] : memref<4x16xf32> -> memref<16xf32>
  // expected-note @+1 {{started here, waited for later}}
  %t = exec.receive %layer from %s over [#dist.axis_ref<"tp">] tag 3 : memref<16xf32>
  // expected-error @+1 {{reads 'memref<16xf32>', which is in flight}}
  exec.copy %part to %z : memref<16xf32>, memref<16xf32>
  exec.wait %t
  return
}

// -----

// A parameter is one memory by whatever name it is asked for.
dist.mesh @mesh = <["tp"=2]>
graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}
func.func @read_again() {
  %x = exec.buffer at 0 : memref<8x8xf32>
  %y = exec.buffer at 1024 : memref<16x8xf32>
  %w = exec.param @w : memref<16x8xf32>
  %again = exec.param @w : memref<16x8xf32>
  // expected-note @+1 {{started here, waited for later}}
  %t = exec.collective_start all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<8x8xf32>) outs(%w : memref<16x8xf32>)
  // expected-error @+1 {{reads 'memref<16x8xf32>', which is in flight}}
  exec.copy %again to %y : memref<16x8xf32>, memref<16x8xf32>
  exec.wait %t
  return
}

// -----

// What is packed is not there yet. Packed before it is the form of products, which nothing in flight touches.
dist.mesh @mesh = <["tp"=2]>
graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}
func.func @packed_too_early() {
  %x = exec.buffer at 0 : memref<8x8xf32>
  %y = exec.buffer at 1024 : memref<2x16xf32>
  %z = exec.buffer at 2048 : memref<2x8xf32>
  %w = exec.param @w : memref<16x8xf32>
  // expected-note @+1 {{started here, waited for later}}
  %t = exec.collective_start all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<8x8xf32>) outs(%w : memref<16x8xf32>)
  exec.matmul m = 2 n = 16 k = 8 ins(%z : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
  // expected-error @+1 {{reads @w, which is in flight}}
  exec.pack @w
  exec.wait %t
  return
}

// -----

// Pieces are mirrored over axes that the mesh has.
dist.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{communicates over #dist.axis_ref<"dp">, which is no axis of the mesh}}
  %0 = exec.collective collective_permute none over [#dist.axis_ref<"tp">] ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {mirrored = [#dist.axis_ref<"dp">]} -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{rows and cut belong to all_gather and reduce_scatter}}
  %0 = exec.collective all_reduce sum over [#dist.axis_ref<"x">] ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) {rows = 2 : i64} -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<3x5xf32>, %y: tensor<30xf32>) {
  // expected-error @+1 {{2 rows, of which 0 elements are cut off, are not those of equal blocks, of which the first stays whole}}
  %0 = exec.collective all_gather none over [#dist.axis_ref<"x">] ins(%x : tensor<3x5xf32>) outs(%y : tensor<30xf32>) {rows = 2 : i64} -> tensor<30xf32>
  return
}

// -----

// The first rank's own piece would be cut.
dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{1 rows, of which 5 elements are cut off}}
  %0 = exec.collective all_gather none over [#dist.axis_ref<"x">] ins(%x : tensor<4xf32>) outs(%y : tensor<3xf32>) {cut = 5 : i64} -> tensor<3xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{in a group of 2 gives 7 elements, not 'tensor<8xf32>'}}
  %0 = exec.collective all_gather none over [#dist.axis_ref<"x">] ins(%x : tensor<4xf32>) outs(%y : tensor<8xf32>) {cut = 1 : i64} -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<7xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{2 rows, of which 1 elements are cut off}}
  %0 = exec.collective reduce_scatter sum over [#dist.axis_ref<"x">] ins(%x : tensor<7xf32>) outs(%y : tensor<4xf32>) {cut = 1 : i64, rows = 2 : i64} -> tensor<4xf32>
  return
}
