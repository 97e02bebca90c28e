// What rung spmd may hold, and no kernel or block of a collective can do.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels --verify-diagnostics -o %t

// 10 rows over x and y are pieces of 3, over x alone pieces of 5: row 5 lies with the other x, so that gathering over y does not bring it.
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @gather(%x: tensor<3x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[10, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<5x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[10, 4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  // expected-error @+1 {{moves 2 pieces of 3 along dimension 0, which is sharded over other axes in shards of 5: they do not nest}}
  %0 = dist.all_gather %x dim = 0 axes = {"y"} : tensor<3x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[10, 4]>> -> tensor<5x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[10, 4]>>
  return %0 : tensor<5x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[10, 4]>>
}

// -----

// Nor does a slice leave a rank what it has to hold.
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @slice(%x: tensor<5x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[10, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<3x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[10, 4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  // expected-error @+1 {{moves 2 pieces of 3 along dimension 0, which is sharded over other axes in shards of 5: they do not nest}}
  %0 = dist.all_slice %x dim = 0 axes = {"y"} : tensor<5x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[10, 4]>> -> tensor<3x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[10, 4]>>
  return %0 : tensor<3x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[10, 4]>>
}

// -----

// A rank holds a parameter once: all functions see the same shard of it.
dist.mesh @mesh = <["x"=2]>
graph.parameter @w : tensor<8x4xf32> from [#graph.source<"w", file = [8, 4]>]
func.func @whole(%w: tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 4]>> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) {
  return
}
// expected-error @+1 {{takes parameter "w" as 'tensor<4x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 4]>>', another function as 'tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 4]>>'}}
func.func @half(%w: tensor<4x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 4]>> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 is a parameter, but no graph.parameter w says where it comes from}}
func.func @unknown(%w: tensor<8x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) {
  return
}

// -----

// expected-error @+1 {{is private, and nothing of rung spmd calls a function; entries are public}}
func.func private @helper(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) {
  return
}

// -----

// Weights come from files of floats.
// expected-error @+1 {{is of 'i32': weights are held as f32, bf16 or f16}}
graph.parameter @n : tensor<4xi32> from [#graph.source<"n", file = [4]>]
func.func @integers(%x: tensor<4xi32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %n: tensor<4xi32> {graph.kind = #graph.kind<parameter>, graph.name = "n"}) -> (tensor<4xi32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.add %x, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
