// A rank runs all layers: what holds some of them only has no form on rung kernels. On rung spmd it may stand.
// RUN: llm-opt %s --split-input-file --verify-rung=rung=spmd -o %t
// RUN: llm-opt %s --split-input-file --spmd-to-kernels --verify-diagnostics -o %t

dist.mesh @mesh = <["pp"=2]>
graph.parameter @w : tensor<4x8xf32> stacked from [#graph.source<"w.{}", file = [8]>]
// expected-error @+1 {{has parameter 'w' whose dimension 'layer' is sharded over pp: every rank of a program runs all its layers; call the axis pp, along which layers are cut into stages, or shard another dimension over it (--shard=batch=pp)}}
func.func @parameter(%w: tensor<2x8xf32, #dist.sharding<@mesh, [{"pp"}, {}], global=[4, 8]>> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) {
  return
}

// -----

dist.mesh @mesh = <["a"=2, "pp"=4]>
// expected-error @+1 {{has state 'cache' whose dimension 'layer' is sharded over pp:(2)2+a}}
func.func @state(%s: tensor<1x8xf32, #dist.sharding<@mesh, [{"pp":(2)2, "a"}, {}], global=[4, 8]>>
    {graph.kind = #graph.kind<state>, graph.name = "cache", graph.dims = ["layer", "context"]})
    -> (tensor<1x8xf32, #dist.sharding<@mesh, [{"pp":(2)2, "a"}, {}], global=[4, 8]>> {graph.kind = #graph.kind<state>, graph.name = "cache"}) {
  return %s : tensor<1x8xf32, #dist.sharding<@mesh, [{"pp":(2)2, "a"}, {}], global=[4, 8]>>
}

// -----

// Not the first dimension: the name counts.
dist.mesh @mesh = <["pp"=2]>
// expected-error @+1 {{has input 'x' whose dimension 'layer' is sharded over pp}}
func.func @elsewhere(%s: tensor<8x2xf32, #dist.sharding<@mesh, [{}, {"pp"}], global=[8, 4]>>
    {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["hidden", "layer"]}) {
  return
}

// -----

// A value that no loop takes apart is split like any other.
dist.mesh @mesh = <["pp"=2]>
func.func @computed(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
    {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["layer", "hidden"]}) {
  %0 = dist.all_slice %x dim = 0 axes = {"pp"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>> -> tensor<2x8xf32, #dist.sharding<@mesh, [{"pp"}, {}], global=[4, 8]>>
  return
}

// -----

// A stack that the loop fills, in a program without names.
dist.mesh @mesh = <["pp"=2]>
func.func @stack(%x: tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>> {graph.kind = #graph.kind<input>, graph.name = "x"}) {
  // expected-error @+1 {{has a returned stack whose dimension 'layer' is sharded over pp}}
  %r:2 = graph.repeat 4 carry(%x : tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>)
      -> (tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>, tensor<2x8xf32, #dist.sharding<@mesh, [{"pp"}, {}], global=[4, 8]>>) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>):
    graph.yield %h, %h : tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>, tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>
  }
  return
}

// -----

// One piece is the whole.
dist.mesh @mesh = <["pp"=1]>
graph.parameter @w : tensor<4x8xf32> stacked from [#graph.source<"w.{}", file = [8]>]
func.func @whole(%w: tensor<4x8xf32, #dist.sharding<@mesh, [{"pp"}, {}], global=[4, 8]>> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) {
  return
}
