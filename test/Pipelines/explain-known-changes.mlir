// Two collectives that go together get one advice: what removes the first is remembered for the second, over whose
// axes no item lies.
// RUN: %python %S/check_explain.py %s - x0:d0=-,x0:d1=y:(2)2,x0:d2=x,x0:d3=- -- llm-opt | FileCheck %s

// CHECK: all_reduce over {x, y:(2)2}: --shard=x0:d0=-,x0:d1=y:(2)2,x0:d2=-,x0:d3=- (new: x0:d2=-) removes it
// CHECK: all_gather over {y:(1)2}: --shard=x0:d0=-,x0:d1=y:(2)2,x0:d2=-,x0:d3=- (new: x0:d2=-) removes it
dist.mesh @mesh = <["x"=3, "y"=4, "z"=1]>
func.func @f(%x: tensor<8x6x4x7xf32> {graph.dims = ["d0", "d1", "d2", "d3"], graph.kind = #graph.kind<parameter>, graph.name = "x0"},
             %w: tensor<16xf32> {graph.dims = ["d0"], graph.kind = #graph.kind<parameter>, graph.name = "w1"}) -> (tensor<16xf32>, tensor<8xf32>) {
  %0 = graph.reduce sum %x dims = [1, 2, 3] : (tensor<8x6x4x7xf32>) -> tensor<8xf32>
  %1 = graph.gelu_tanh %0 : tensor<8xf32>
  %2 = graph.concat %0, %0 dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %3 = graph.add %2, %w : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %3, %1 : tensor<16xf32>, tensor<8xf32>
}
