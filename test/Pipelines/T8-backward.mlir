// T8, T14, forward and backward of the programs that bench/bytes compares with XLA.
// RUN: llm-opt %S/../../bench/bytes/backward.mlir --tessera-shard="mesh=fsdp=2,tp=4" | FileCheck %s
// RUN: llm-opt %S/../../bench/bytes/backward.mlir --tessera-shard="mesh=fsdp=2,tp=4" --remarks-filter=dist --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: llm-opt %S/../../bench/bytes/backward.mlir --tessera-explain="mesh=fsdp=2,tp=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT

// Which of the two it is, and what is held, is said.
// POLICY: weight {{.*}}"up in @linear: gathered over {fsdp} once: the whole, 16384 bytes, is held until its last use"
// POLICY: weight {{.*}}"up in @layers: gathered over {fsdp} twice, in loops of 3 iterations: one layer is held at a time, 16384 bytes; all layers, kept from one loop to the next, would be 49152"
// REPORT: parameter up [ffn, hidden]
// REPORT-NOT: in @layers
// REPORT: in @linear gathered over {fsdp} once: the whole, 16384 bytes, is held until its last use
// REPORT-NOT: in @layers
// REPORT: parameter up [layer, ffn, hidden]
// REPORT-NOT: in @linear
// REPORT: in @layers gathered over {fsdp} twice, in loops of 3 iterations

// One linear layer: its weight is gathered just before use, once, and kept for backward; its gradient is reduced and scattered.
// CHECK-LABEL: func.func @linear
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %arg2 dim = 1 axes = {"fsdp"} {{.*}} -> tensor<64x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"fsdp"} {{.*}} -> tensor<64x32xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}

// A stack of layers: stacks keep their sharding on the way into both loops, and the gradients' on the way out; inside, slices are gathered for each pass, as
// the weights of all layers would not fit. Nothing is moved between the loops.
// CHECK-LABEL: func.func @layers
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.repeat 3 carry(%arg0 : {{.*}}) stack(%arg2, %arg3 :
// CHECK-SAME: -> (tensor<2x16x64xf32, {{.*}}>, tensor<3x2x16x64xf32, #dist.sharding<@mesh, [{}, {"fsdp"}, {}, {}], global=[3, 4, 16, 64]>>)
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"fsdp"} {{.*}} -> tensor<64x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"fsdp"} {{.*}} -> tensor<64x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.repeat 3 reverse carry(%arg1 : {{.*}}) stack(%arg2, %arg3,
// CHECK-SAME: -> (tensor<2x16x64xf32, {{.*}}>, tensor<3x64x32xf32, #dist.sharding<@mesh, [{}, {"tp"}, {"fsdp"}], global=[3, 256, 64]>>, tensor<3x32x64xf32, #dist.sharding<@mesh, [{}, {"fsdp"}, {"tp"}], global=[3, 64, 256]>>)
// CHECK-COUNT-2: dist.all_gather %{{.*}} axes = {"fsdp"} {{.*}} -> tensor<64x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"fsdp"} {{.*}} -> tensor<64x32xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 0 axes = {"fsdp"} {{.*}} -> tensor<32x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.yield
// CHECK-NOT: dist.{{all|reduce|coll}}
