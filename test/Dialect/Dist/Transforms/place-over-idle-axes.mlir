// An axis that nothing lies over is used where less is sent with it, and not for work alone.
// RUN: echo '{"flops": 2e10}' > %t.json
// RUN: llm-opt %s --tessera-shard=machine=%t.json --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %s

// Over y alone 896 bytes are sent: y moves in both weights, and the sum is taken. Over x, too, the hidden values are cut
// eightfold, and gathered for the second product.
// CHECK-DAG: block of func.func (3 ops): time 0.846 us{{.*}} gap 0.00 % to all assignments of axes that something lies over
// Much work that nobody asks to be split: whoever wants the product whole would have to gather it.
// CHECK-DAG: block of func.func (1 ops): {{.*}} gap 0.00 %
dist.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @less_is_sent(%arg0
// CHECK: graph.relu {{.*}}, #dist.sharding<@mesh, [{"x"}, {"y"}], global=[16, 16]>
func.func @less_is_sent(%a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, graph.kind = #graph.kind<input>, graph.name = "a"},
                        %v: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>, graph.kind = #graph.kind<input>, graph.name = "v"},
                        %w: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>, graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>, graph.kind = #graph.kind<output>, graph.name = "r"}) {
  %h = graph.linear %a, %v contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = graph.relu %h : tensor<16x16xf32>
  %c = graph.linear %e, %w contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %c : tensor<16x16xf32>
}

// CHECK-LABEL: func.func @work_alone(%arg0
// CHECK-NEXT: graph.linear
// CHECK-NEXT: return
func.func @work_alone(%a: tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, graph.kind = #graph.kind<input>, graph.name = "a2"},
                      %v: tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, graph.kind = #graph.kind<input>, graph.name = "v2"})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, graph.kind = #graph.kind<output>, graph.name = "r2"}) {
  %h = graph.linear %a, %v contract = 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %h : tensor<512x512xf32>
}
