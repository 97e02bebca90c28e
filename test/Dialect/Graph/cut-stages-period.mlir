// Cuts in a period of two kinds of layers, of a program that is computed in 16 bits.
// RUN: llm-opt %test_dir/Semantics/Inputs/period-of-layers.mlir --graph-set-precision=compute=bf16 --graph-cut-stages=stages=1,3,1 | FileCheck %s
// Ops that may drop elements have numbers of the whole model's three.
// CHECK-LABEL: module @stage0
// CHECK: func.func @forward({{.*}}attributes {graph.stage, graph.vocab = 11 : i64}
// CHECK: graph.name %{{.*}} "embedded" {{.*}}graph.drop_site = array<i64: 0, 3>
// One layer, one body. It drops, so it asks for its number.
// CHECK: graph.repeat 1 carry
// CHECK: "product" {{.*}}graph.drop_site = array<i64: 1, 3>
// CHECK-NOT: "gate"
// Roundings of parameters are no values that travel: the stage rounds its own layers. What follows from a parameter otherwise travels, as it is computed.
// CHECK-LABEL: module @stage1
// CHECK-NOT: @table
// CHECK: func.func @forward(%{{.*}}: tensor<5x12x6xbf16> {{{[^}]*}}graph.fill = #graph.fill<received>, graph.kind = #graph.kind<input>, graph.name = "residual"}, %{{.*}}: tensor<6xbf16>
// No layer behind this stage reads the mean of the table: it goes no further.
// CHECK-SAME: -> (tensor<5x12x6xbf16> {{{[^}]*}}graph.name = "residual"}) attributes
// CHECK-DAG: graph.cast %{{.*}} {graph.gradient = f32} : (tensor<3x6x6xf32>) -> tensor<3x6x6xbf16>
// CHECK-DAG: graph.name %{{.*}} inner "computed.w" {{.*}} : tensor<3x6x6xbf16>
// It begins with the second kind.
// CHECK: graph.repeat 3 carry
// CHECK: "gate" {{.*}}graph.drop_site = array<i64: 2, 3>
// CHECK: }, {
// CHECK: "product" {{.*}}graph.drop_site = array<i64: 1, 3>
// CHECK-LABEL: module @stage2
// CHECK-NOT: tensor<6xbf16> {{{[^}]*}}received
// CHECK: graph.parameter @table {{.*}}graph.copy = 1
// CHECK: graph.cast %{{.*}} {graph.gradient = f32} : (tensor<11x6xf32>) -> tensor<11x6xbf16>
