// The step of a pipeline's stage: what it receives and sends, and their gradients, are stacks of the loop over micro-batches; what stages add up are ports.
// RUN: llm-opt %test_dir/Semantics/Inputs/period-of-layers.mlir --pass-pipeline="builtin.module(graph-cut-stages{stages=2,2,1},builtin.module(graph-build-train-step{batch=5 micro-batches=2 optimizer=sgd loss-scale=64}))" | FileCheck %s
// RUN: llm-opt %test_dir/Semantics/Inputs/period-of-layers.mlir --pass-pipeline="builtin.module(graph-cut-stages{stages=2,0,3},builtin.module(graph-build-train-step))" | FileCheck %s --check-prefix=EMPTY
// The loop over micro-batches is still known on rung spmd.
// RUN: llm-opt %test_dir/Semantics/Inputs/period-of-layers.mlir --pass-pipeline="builtin.module(graph-cut-stages{stages=2,3},builtin.module(graph-build-train-step{micro-batches=2},tessera-shard{mesh=dp=2,fsdp=2}))" | FileCheck %s --check-prefix=SPMD
// RUN: llm-opt %test_dir/Semantics/Inputs/period-of-layers.mlir --pass-pipeline="builtin.module(graph-cut-stages{stages=2,3},builtin.module(graph-build-train-step,tessera-shard{mesh=tp=2 shard=residual:seq=tp}))" | FileCheck %s --check-prefix=PIN
// PIN: tensor<1x5x6x6xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}, {}], global=[1, 5, 12, 6]>> {graph.dims = {{[^}]*}}#graph.fill<received_gradient>, {{[^}]*}}graph.name = "grad.residual"}

// The first stage sends, and begins backward with gradients that come back. Of the table it has copy 0.
// CHECK-LABEL: module @stage0 attributes {graph.train = #graph.train<batch = 5, seq = 12, micro_batches = 2, vocab = 11,
// CHECK: graph.parameter @table : tensor<11x6xf32> variable from {{.*}} {graph.copy = 0 : i64}
// CHECK: graph.parameter @w : tensor<2x6x6xf32> stacked variable
// CHECK-LABEL: func.func @train_dropout(
// CHECK-NOT: targets
// CHECK-SAME: tensor<2x3x12x6xf32> {graph.dims = ["micro", "batch", "seq", "hidden"], graph.fill = #graph.fill<received_gradient>, graph.kind = #graph.kind<input>, graph.name = "grad.residual"}
// CHECK-SAME: tensor<2x6xf32> {graph.dims = ["micro", "hidden"], graph.fill = #graph.fill<received_gradient>, graph.kind = #graph.kind<input>, graph.name = "grad.carried{{[0-9]+}}"}
// CHECK-SAME: %[[LAYER:[a-z0-9]+]]: tensor<i32> {graph.fill = #graph.fill<first_layer>,
// CHECK-SAME: %[[LOSS:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<stage_sum>, graph.kind = #graph.kind<input>, graph.name = "sum.loss"}
// CHECK-SAME: %[[SQUARES:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<stage_sum>, graph.kind = #graph.kind<input>, graph.name = "sum.norm_squared"}
// CHECK-SAME: %[[OTHER:[a-z0-9]+]]: tensor<11x6xf32> {graph.dims = ["vocab", "hidden"], graph.fill = #graph.fill<shared_gradient>, graph.kind = #graph.kind<input>, graph.name = "shared.table"}
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<loss_scale>,
// CHECK-SAME: -> (tensor<f32> {graph.gives = #graph.gives<loss>, {{[^}]*}}}, tensor<f32> {graph.gives = #graph.gives<grad_norm>, {{[^}]*}}},
// CHECK-SAME: tensor<2x3x12x6xf32> {graph.dims = ["micro", "batch", "seq", "hidden"], graph.gives = #graph.gives<sent>, graph.kind = #graph.kind<output>, graph.name = "residual"}
// CHECK-SAME: tensor<11x6xf32> {graph.dims = ["vocab", "hidden"], graph.gives = #graph.gives<shared_gradient>, graph.kind = #graph.kind<output>, graph.name = "shared.table"}
// CHECK-NOT: "sum.loss"
// CHECK-SAME: tensor<f32> {graph.gives = #graph.gives<stage_sum>, graph.kind = #graph.kind<output>, graph.name = "sum.norm_squared"}
// CHECK: %[[LOOP:.*]]:5 = graph.repeat 2 carry(%{{.*}}) stack(%{{.*}}) -> {{.*}} attributes {graph.micro_batches} {
// Layers are counted from the stage's first one for what they drop, too: the product of layer l has number 1 of 3 in all.
// CHECK: graph.repeat 2 carry
// CHECK: graph.add %{{.*}}, %[[LAYER]] : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NOT: graph.cross_entropy
// CHECK: graph.yield
// Both copies count, once in the norm: the scale is taken back behind the sum of both gradients.
// CHECK: %[[BOTH:.*]] = graph.add %[[LOOP]]#0, %[[OTHER]]
// CHECK: %[[INVERSE:.*]] = graph.div %{{.*}}, %[[SCALE]]
// CHECK: %[[TABLE:.*]] = graph.mul %[[BOTH]], %[[INVERSE]]
// CHECK: graph.mul %[[TABLE]], %[[TABLE]]
// CHECK: %[[NORM:.*]] = graph.sqrt %[[SQUARES]]
// CHECK: graph.add %[[NORM]], %[[LOSS]]
// CHECK: return %[[LOSS]], %[[NORM]], %[[LOOP]]#3, %[[LOOP]]#4, %[[LOOP]]#0,
// Evaluation sends values and no gradients.
// CHECK-LABEL: func.func @evaluate(
// CHECK-NOT: grad.
// CHECK: attributes {graph.micro_batches}
// CHECK-NOT: graph.dropout
// CHECK: return

// What is in the middle gives gradients of what it receives.
// CHECK-LABEL: module @stage1
// CHECK-LABEL: func.func @train_dropout(
// CHECK-SAME: graph.fill = #graph.fill<received>, graph.kind = #graph.kind<input>, graph.name = "residual"
// CHECK-SAME: graph.gives = #graph.gives<sent>, graph.kind = #graph.kind<output>, graph.name = "residual"
// CHECK-SAME: tensor<2x3x12x6xf32> {graph.dims = ["micro", "batch", "seq", "hidden"], graph.gives = #graph.gives<sent_gradient>, graph.kind = #graph.kind<output>, graph.name = "grad.residual"}
// CHECK-SAME: tensor<2x6xf32> {graph.dims = ["micro", "hidden"], graph.gives = #graph.gives<sent_gradient>
// CHECK-LABEL: func.func @evaluate(

// The last one has the loss, whose scale enters there alone, and copy 1 of the table, which counts in the norm of the first stage.
// CHECK-LABEL: module @stage2
// CHECK: graph.parameter @table : tensor<11x6xf32> variable from {{.*}} {graph.copy = 1 : i64}
// CHECK-LABEL: func.func @train_dropout(
// CHECK-SAME: graph.fill = #graph.fill<targets>
// CHECK-NOT: received_gradient
// CHECK-SAME: %[[WEIGHT:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<token_weight>
// CHECK-SAME: graph.gives = #graph.gives<sent_gradient>, graph.kind = #graph.kind<output>, graph.name = "grad.residual"
// CHECK-SAME: tensor<f32> {graph.gives = #graph.gives<stage_sum>, graph.kind = #graph.kind<output>, graph.name = "sum.loss"}
// CHECK: graph.cross_entropy
// CHECK-LABEL: func.func @evaluate(
// CHECK: return %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>

// A stage without layers has no weights: it hands on, adds nothing to the norm, and has no variables.
// EMPTY-LABEL: module @stage1
// EMPTY-NOT: graph.parameter
// EMPTY-LABEL: func.func @train(
// EMPTY: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<f32>
// EMPTY: return %{{.*}}, %{{.*}}, %{{.*}}#0, %{{.*}}#1, %{{.*}}#2, %{{.*}}#3, %[[ZERO]]

// What is exchanged lies at both ends as its name says, and a gradient as what it is of.
// SPMD-LABEL: module @stage0
// SPMD: func.func @train_dropout(
// SPMD-SAME: %{{[a-z0-9]+}}: tensor<2x[[ROWS:[0-9]+]]x12x6xf32, [[LIES:#dist.sharding<@mesh, \[\{\}, \{"dp", "fsdp"\}, \{\}, \{\}\], global=\[2, 3, 12, 6\]>]]> {{[^}]*}}graph.name = "grad.residual"}
// SPMD-SAME: tensor<2x[[ROWS]]x12x6xf32, [[LIES]]> {{[^}]*}}graph.gives = #graph.gives<sent>, {{[^}]*}}graph.name = "residual"}
// SPMD: attributes {graph.micro_batches}
// SPMD: func.func @evaluate(
// SPMD: attributes {graph.micro_batches}
// SPMD-LABEL: module @stage1
// SPMD: func.func @train_dropout(
// SPMD-SAME: tensor<2x[[ROWS]]x12x6xf32, [[LIES]]> {{[^}]*}}graph.name = "residual"}
// SPMD-SAME: tensor<2x[[ROWS]]x12x6xf32, [[LIES]]> {{[^}]*}}graph.gives = #graph.gives<sent_gradient>, {{[^}]*}}graph.name = "grad.residual"}
// SPMD: attributes {graph.micro_batches}
