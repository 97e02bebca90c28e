// What is no number is neither less than, equal to nor greater than anything: it differs, also from itself.
// RUN: llm-judge %s --rung=binary
func.func @f(%x: tensor<5x9xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<5x9xi1>, tensor<5x9xi1>, tensor<5x9xi1>, tensor<5x9xi1>, tensor<5x9xi1>) {
  %nan = graph.log %x : tensor<5x9xf32>
  %differs = graph.compare ne %nan, %nan : (tensor<5x9xf32>, tensor<5x9xf32>) -> tensor<5x9xi1>
  %equal = graph.compare eq %nan, %nan : (tensor<5x9xf32>, tensor<5x9xf32>) -> tensor<5x9xi1>
  %less = graph.compare lt %nan, %x : (tensor<5x9xf32>, tensor<5x9xf32>) -> tensor<5x9xi1>
  %most = graph.compare le %nan, %x : (tensor<5x9xf32>, tensor<5x9xf32>) -> tensor<5x9xi1>
  %greater = graph.compare gt %nan, %x : (tensor<5x9xf32>, tensor<5x9xf32>) -> tensor<5x9xi1>
  return %differs, %equal, %less, %most, %greater : tensor<5x9xi1>, tensor<5x9xi1>, tensor<5x9xi1>, tensor<5x9xi1>, tensor<5x9xi1>
}
