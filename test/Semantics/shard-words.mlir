// What is said to propagation changes no number: barriers, a group over two functions and one whose annotations clash, in loops and out of them.
// RUN: llm-judge %s --runs=2 --entry='*' --pipeline="tessera-shard{}"
// RUN: llm-judge %s --rung=binary
// What passes warn of is said here, too; of the member that lies as its group there is nothing to say.
// RUN: llm-judge %s --entry=f --pipeline="tessera-shard{}" 2>&1 | FileCheck %s --implicit-check-not=warning
// CHECK: warning ({{.*}}): group 'clash' has members that are annotated differently
dist.mesh @mesh = <["x"=2, "y"=3]>
func.func @f(%x: tensor<5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {?}]>},
             %w: tensor<7x7xf32> {graph.kind = #graph.kind<input>, graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{?}, {"y"}]>})
    -> (tensor<5x7xf32>, tensor<5x7xf32>) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<5x7xf32>, tensor<7x7xf32>) -> tensor<5x7xf32>
  %1 = dist.sharding_group %0 "h" : tensor<5x7xf32>
  %2 = dist.propagation_barrier %1 backward : tensor<5x7xf32>
  %3 = graph.repeat 3 carry(%2 : tensor<5x7xf32>) -> (tensor<5x7xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<5x7xf32>):
    %4 = graph.linear %h, %w contract = 1 : (tensor<5x7xf32>, tensor<7x7xf32>) -> tensor<5x7xf32>
    %5 = dist.propagation_barrier %4 : tensor<5x7xf32>
    %6 = graph.add %5, %h : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
    %7 = graph.tanh %6 : tensor<5x7xf32>
    %8 = dist.sharding_group %7 "carried" : tensor<5x7xf32>
    graph.yield %8 : tensor<5x7xf32>
  }
  %a = dist.constraint %3 <@mesh, [{"y", ?}, {?}]> : tensor<5x7xf32>
  %b = dist.sharding_group %a "clash" : tensor<5x7xf32>
  %c = dist.sharding_group %x "clash" : tensor<5x7xf32>
  %d = graph.sin %c : tensor<5x7xf32>
  return %b, %d : tensor<5x7xf32>, tensor<5x7xf32>
}
func.func @g(%x: tensor<5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "z", dist.sharding = #dist.sharding<@mesh, [{?}, {"x", ?}]>}) -> tensor<5x7xf32> {
  %0 = graph.tanh %x : tensor<5x7xf32>
  %1 = dist.sharding_group %0 "h" : tensor<5x7xf32>
  return %1 : tensor<5x7xf32>
}
