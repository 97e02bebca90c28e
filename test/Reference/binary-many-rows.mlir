// Arrays that are too large for one tile, which random programs do not have: kernels run over their rows, and every row knows its place in
// the shard and the shard its own.
// RUN: llm-judge %s --rung=binary
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @f(%x: tensor<131x97xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>, graph.kind = #graph.kind<input>, graph.name = "x"},
    %y: tensor<131x97xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>, graph.kind = #graph.kind<input>, graph.name = "y"},
    %w: tensor<7x40x50xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}, {}]>, graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<131x97xf32>, tensor<97x131xf32>, tensor<131x129xf32>, tensor<131xf32>, tensor<50x7x40xf32>, tensor<7x40x50xi32>) {
  // Places along rows and columns, sharded and whole.
  %i = graph.iota dim = 0 : tensor<131x97xi32>
  %j = graph.iota dim = 1 : tensor<131x97xi32>
  %ij = graph.sub %i, %j : (tensor<131x97xi32>, tensor<131x97xi32>) -> tensor<131x97xi32>
  %f = graph.cast %ij : (tensor<131x97xi32>) -> tensor<131x97xf32>
  %s = graph.sin %f : tensor<131x97xf32>
  %a = graph.add %x, %s : (tensor<131x97xf32>, tensor<131x97xf32>) -> tensor<131x97xf32>
  %b = graph.add %a, %y : (tensor<131x97xf32>, tensor<131x97xf32>) -> tensor<131x97xf32>
  // Rows that are summed up come back to each of their elements.
  %p = graph.softmax %b : tensor<131x97xf32>
  %sum = graph.reduce sum %a dims = [1] : (tensor<131x97xf32>) -> tensor<131xf32>
  %max = graph.reduce max %b dims = [0] : (tensor<131x97xf32>) -> tensor<97xf32>
  %all = graph.broadcast %sum dims = [0] : (tensor<131xf32>) -> tensor<131x97xf32>
  %c = graph.mul %all, %p : (tensor<131x97xf32>, tensor<131x97xf32>) -> tensor<131x97xf32>
  %d = graph.sub %c, %max : (tensor<131x97xf32>, tensor<97xf32>) -> tensor<131x97xf32>
  // Columns become rows, and the other way round.
  %t = graph.transpose %d [1, 0] : (tensor<131x97xf32>) -> tensor<97x131xf32>
  %r = graph.reverse %t dim = 0 : tensor<97x131xf32>
  %cut = graph.slice %d at [0, 13] : (tensor<131x97xf32>) -> tensor<131x32xf32>
  %both = graph.concat %cut, %b dim = 1 : (tensor<131x32xf32>, tensor<131x97xf32>) -> tensor<131x129xf32>
  // Three dimensions, two of them rows.
  %wide = graph.cast %w : (tensor<7x40x50xbf16>) -> tensor<7x40x50xf32>
  %turned = graph.transpose %wide [2, 0, 1] : (tensor<7x40x50xf32>) -> tensor<50x7x40xf32>
  %soft = graph.softmax %turned : tensor<50x7x40xf32>
  %k = graph.iota dim = 1 : tensor<7x40x50xi32>
  return %d, %r, %both, %sum, %soft, %k : tensor<131x97xf32>, tensor<97x131xf32>, tensor<131x129xf32>, tensor<131xf32>, tensor<50x7x40xf32>, tensor<7x40x50xi32>
}
