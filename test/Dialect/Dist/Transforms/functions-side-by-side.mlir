// Functions are laid out side by side, on as many cores as there are: remarks and what comes out are the same on one. No function's search knows of another's:
// for one that is like the first as much is searched, and it runs in the same way.
// RUN: echo '{"flops": 2e10}' > %t.json
// RUN: llm-opt %s --tessera-shard=machine=%t.json --remarks-filter=dist --remark-format=emitRemark -o %t.all 2> %t.said
// RUN: bash -c 'taskset -c $(taskset -cp $$ | sed "s/.*: //; s/[,-].*//") llm-opt %s --tessera-shard=machine=%t.json --remarks-filter=dist --remark-format=emitRemark -o %t.one 2> %t.saidbyone'
// RUN: cmp %t.all %t.one
// RUN: cmp %t.said %t.saidbyone
// RUN: FileCheck %s < %t.said

// CHECK: remark: {{.*}}"block of func.func (3 ops): time [[TIME:.*]] us, bound {{.*}}, searched [[WORK:[1-9].* steps of [1-9].* reshards and [1-9].* table entries]]
// CHECK: remark: {{.*}}"block of func.func (3 ops): time [[TIME]] us, bound {{.*}}, searched [[WORK]]
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @one(%a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, graph.kind = #graph.kind<input>, graph.name = "a"},
               %v: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>, graph.kind = #graph.kind<input>, graph.name = "v"},
               %w: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>, graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>, graph.kind = #graph.kind<output>, graph.name = "r"}) {
  %h = graph.linear %a, %v contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = graph.relu %h : tensor<16x16xf32>
  %c = graph.linear %e, %w contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %c : tensor<16x16xf32>
}
func.func @other(%a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, graph.kind = #graph.kind<input>, graph.name = "a2"},
                 %v: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>, graph.kind = #graph.kind<input>, graph.name = "v2"},
                 %w: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>, graph.kind = #graph.kind<input>, graph.name = "w2"})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>, graph.kind = #graph.kind<output>, graph.name = "r2"}) {
  %h = graph.linear %a, %v contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = graph.relu %h : tensor<16x16xf32>
  %c = graph.linear %e, %w contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %c : tensor<16x16xf32>
}
