// In a manual region its axes are not the compiler's, though nothing lies over them; others are.
// RUN: echo '{"flops": 2e10}' > %t.json
// RUN: llm-opt %s --split-input-file --tessera-shard=machine=%t.json | FileCheck %s
// RUN: llm-opt %s --split-input-file --tessera-shard=machine=%t.json --remarks-filter=dist --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK: block of dist.manual_computation (3 ops): time 1.229 us
// REMARK: block of dist.manual_computation (3 ops): time 0.846 us

// Neither the ops use x nor the reshards, which x could share a sum for.
// CHECK-LABEL: func.func @region(%arg0
// CHECK: graph.relu {{.*}}, #dist.sharding<@mesh, [{}, {"y"}], global=[16, 16]>
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @region(%a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, %v: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
                  %w: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = dist.manual_computation over {"x"} (%a, %v, %w : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>)
      in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {"y"}]>, #dist.sharding<@mesh, [{"y"}, {}]>] out [#dist.sharding<@mesh, [{}, {"y"}]>] {
  ^bb0(%b: tensor<16x16xf32>, %p: tensor<16x16xf32>, %q: tensor<16x16xf32>):
    %h = graph.linear %b, %p contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %e = graph.relu %h : tensor<16x16xf32>
    %c = graph.linear %e, %q contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    dist.manual_yield %c : tensor<16x16xf32>
  }
  return %0 : tensor<16x16xf32>
}

// The sum is taken at once: in halves over x, which are put together again, less would be sent.
// CHECK-LABEL: func.func @sum(%arg0
// CHECK: graph.linear
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"y"}
// CHECK-NEXT: dist.manual_yield
func.func @sum(%a: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, %v: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.manual_computation over {"x"} (%a, %v : tensor<8x64xf32>, tensor<16x64xf32>) -> (tensor<8x16xf32>)
      in [#dist.sharding<@mesh, [{}, {"y"}]>, #dist.sharding<@mesh, [{}, {"y"}]>] out [#dist.sharding<@mesh, [{}, {}]>] {
  ^bb0(%b: tensor<8x64xf32>, %p: tensor<16x64xf32>):
    %h = graph.linear %b, %p contract = 1 : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
    dist.manual_yield %h : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}

// In a loop of the region, too, where an annotation keeps the carried value whole.
// CHECK-LABEL: func.func @loop(%arg0
// CHECK: graph.linear
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"y"}
// CHECK-NEXT: graph.yield
func.func @loop(%a: tensor<8x128xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, %v: tensor<128x128xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x128xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.manual_computation over {"x"} (%a, %v : tensor<8x128xf32>, tensor<128x128xf32>) -> (tensor<8x128xf32>)
      in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {"y"}]>] out [#dist.sharding<@mesh, [{}, {}]>] {
  ^bb0(%b: tensor<8x128xf32>, %p: tensor<128x128xf32>):
    %r = graph.repeat 2 carry(%b : tensor<8x128xf32>) -> (tensor<8x128xf32>) {
    ^bb0(%i: tensor<i32>, %c: tensor<8x128xf32>):
      %w = dist.constraint %c <@mesh, [{}, {}]> : tensor<8x128xf32>
      %h = graph.linear %w, %p contract = 1 : (tensor<8x128xf32>, tensor<128x128xf32>) -> tensor<8x128xf32>
      graph.yield %h : tensor<8x128xf32>
    }
    dist.manual_yield %r : tensor<8x128xf32>
  }
  return %0 : tensor<8x128xf32>
}

// -----

// As outside (place-over-idle-axes.mlir): x is used, z is not.
// CHECK-LABEL: func.func @region(%arg0
// CHECK: graph.relu {{.*}}, #dist.sharding<@mesh, [{"x"}, {"y"}], global=[16, 16]>
dist.mesh @mesh = <["z"=2, "x"=2, "y"=4]>
func.func @region(%a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, %v: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
                  %w: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = dist.manual_computation over {"z"} (%a, %v, %w : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>)
      in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {"y"}]>, #dist.sharding<@mesh, [{"y"}, {}]>] out [#dist.sharding<@mesh, [{}, {"y"}]>] {
  ^bb0(%b: tensor<16x16xf32>, %p: tensor<16x16xf32>, %q: tensor<16x16xf32>):
    %h = graph.linear %b, %p contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %e = graph.relu %h : tensor<16x16xf32>
    %c = graph.linear %e, %q contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    dist.manual_yield %c : tensor<16x16xf32>
  }
  return %0 : tensor<16x16xf32>
}

// Two manual axes: the sum over y uses neither.
// CHECK-LABEL: func.func @two_axes(%arg0
// CHECK: graph.linear
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"y"}
// CHECK-NEXT: dist.manual_yield
func.func @two_axes(%a: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, %v: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.manual_computation over {"z", "x"} (%a, %v : tensor<8x64xf32>, tensor<16x64xf32>) -> (tensor<8x16xf32>)
      in [#dist.sharding<@mesh, [{}, {"y"}]>, #dist.sharding<@mesh, [{}, {"y"}]>] out [#dist.sharding<@mesh, [{}, {}]>] {
  ^bb0(%b: tensor<8x64xf32>, %p: tensor<16x64xf32>):
    %h = graph.linear %b, %p contract = 1 : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
    dist.manual_yield %h : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}
