// Rows are added up where their ids say: ids that come again, that no row has, outside of the table; one id and many; a table in shards.
// REQUIRES: standin, slow
// DEFINE: %{cuda} = env TESSERA_PTXAS= TESSERA_STANDIN_GPUS=3 TESSERA_STANDIN_RACES=1 %standin llm-judge %s --rung=binary --target=cuda
// RUN: %{cuda} --seed=%seed
// RUN: %{cuda} --mesh=x=3 --shard=vocab=x
// RUN: %{cuda} --mesh=x=2 --shard=seq=x
func.func @many(%x: tensor<3x70x10xf32> {graph.kind = #graph.kind<input>, graph.name = "x0", graph.dims = ["batch", "seq", "hidden"]}, %ids: tensor<3x70xi32> {graph.kind = #graph.kind<input>, graph.name = "a0", graph.dims = ["batch", "seq"]}) -> (tensor<11x10xf32>) {
  %y = graph.scatter_add %x, %ids : (tensor<3x70x10xf32>, tensor<3x70xi32>) -> tensor<11x10xf32>
  %t = graph.name %y "table" ["vocab", "hidden"] : tensor<11x10xf32>
  return %t : tensor<11x10xf32>
}
func.func @few(%x: tensor<7x10xbf16> {graph.kind = #graph.kind<input>, graph.name = "x1", graph.dims = ["seq", "hidden"]}, %ids: tensor<7xi32> {graph.kind = #graph.kind<input>, graph.name = "a1", graph.dims = ["seq"]}) -> (tensor<5x10xf32>) {
  %y = graph.scatter_add %x, %ids : (tensor<7x10xbf16>, tensor<7xi32>) -> tensor<5x10xf32>
  %t = graph.name %y "table" ["vocab", "hidden"] : tensor<5x10xf32>
  return %t : tensor<5x10xf32>
}
