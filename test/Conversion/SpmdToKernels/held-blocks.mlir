// A packed weight stays in the quantized blocks of its checkpoint where its rows are rows of the file, in whole blocks. What is read in any other way, or
// lies across the file's rows, is expanded at load.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels --verify-diagnostics | FileCheck %s

// CHECK: graph.parameter @rows {{.*}}exec.held = ["Q8_0"]
// CHECK: graph.parameter @heads {{.*}}exec.held = ["Q4_1"]
// CHECK: graph.parameter @turned
// CHECK-NOT: exec.held
// CHECK: graph.parameter @part
// CHECK-NOT: exec.held
// Rows are only looked up in it, as where the head has a matrix of its own; floats would lie plain.
// CHECK: graph.parameter @table {{.*}}exec.held = ["Q8_0"], {{.*}}exec.pack = 1
// CHECK: graph.parameter @floats
// CHECK-NOT: exec.pack
// CHECK-LABEL: func.func @step
// CHECK: exec.gather_packed @table
graph.parameter @rows : tensor<32x32xf32> from [#graph.source<"a", file = [32, 32]>] {graph.held = ["Q8_0"]}
// Rows change places, and are rows all the same.
graph.parameter @heads : tensor<2x16x32xf32> from [#graph.source<"b", file = [32, 32], reshape = [2, 8, 2, 32], permute = [0, 2, 1, 3]>] {graph.held = ["Q4_1"]}
graph.parameter @turned : tensor<32x32xf32> from [#graph.source<"c", file = [32, 32], permute = [1, 0]>] {graph.held = ["Q8_0"]}
// A fraction of a block.
graph.parameter @part : tensor<32x32xf32> from [#graph.source<"d", file = [32, 32]>] {graph.held = ["Q4_K"]}
graph.parameter @table : tensor<32x32xf32> from [#graph.source<"e", file = [32, 32]>] {graph.held = ["Q8_0"]}
graph.parameter @floats : tensor<32x32xf32> from [#graph.source<"f", file = [32, 32]>]
func.func @step(%ids: tensor<1x4xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens"},
    %floats: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "floats"},
    %rows: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "rows"},
    %heads: tensor<2x16x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "heads"},
    %turned: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "turned"},
    %part: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "part"},
    %table: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table"})
    -> (tensor<1x4x2x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.embedding %table, %ids : (tensor<32x32xf32>, tensor<1x4xi32>) -> tensor<1x4x32xf32>
  %other = graph.embedding %floats, %ids : (tensor<32x32xf32>, tensor<1x4xi32>) -> tensor<1x4x32xf32>
  %both = graph.add %0, %other : (tensor<1x4x32xf32>, tensor<1x4x32xf32>) -> tensor<1x4x32xf32>
  %1 = graph.linear %both, %rows contract = 1 : (tensor<1x4x32xf32>, tensor<32x32xf32>) -> tensor<1x4x32xf32>
  %2 = graph.linear %1, %turned contract = 1 : (tensor<1x4x32xf32>, tensor<32x32xf32>) -> tensor<1x4x32xf32>
  %3 = graph.linear %2, %part contract = 1 : (tensor<1x4x32xf32>, tensor<32x32xf32>) -> tensor<1x4x32xf32>
  %4 = graph.linear %3, %heads contract = 1 : (tensor<1x4x32xf32>, tensor<2x16x32xf32>) -> tensor<1x4x2x16xf32>
  return %4 : tensor<1x4x2x16xf32>
}

// -----

// expected-error@+1 {{has graph.held = ["Q9_9"], which is no type of quantized blocks}}
graph.parameter @w : tensor<32x32xf32> from [#graph.source<"w", file = [32, 32]>] {graph.held = ["Q9_9"]}
func.func @step(%x: tensor<4x32xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<4x32xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// -----

// Of experts too: rows of the matrix are the outputs of one after those of another, in one tensor or in one for each. Their rows are multiplied by group.
// CHECK: graph.parameter @up {{.*}}exec.held = ["Q8_0"]{{.*}}exec.pack = 2
// CHECK: graph.parameter @down {{.*}}exec.held = ["Q4_0"]{{.*}}exec.pack = 2
graph.parameter @up : tensor<2x64x32xf32> from [#graph.source<"up", file = [2, 64, 32]>] {graph.held = ["Q8_0"]}
graph.parameter @down : tensor<2x32x64xf32> from [#graph.source<"down.0", file = [32, 64], reshape = [1, 32, 64]>, #graph.source<"down.1", file = [32, 64], reshape = [1, 32, 64]>] {graph.held = ["Q4_0"]}
// CHECK-LABEL: func.func @experts
// CHECK: %[[GROUPS:.*]]:4 = exec.launch @group_rows
// CHECK: %[[UP:.*]] = exec.matmul m = 12 n = 64 k = 32 ins(%{{.*}} : tensor<12x32xf32>) packed @up starts(%[[GROUPS]]#3 : tensor<3xi32>)
// CHECK: exec.matmul m = 12 n = 32 k = 64 ins(%[[UP]] : tensor<12x64xf32>) packed @down starts(%[[GROUPS]]#3 : tensor<3xi32>)
func.func @experts(%x: tensor<1x6x32xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %ids: tensor<1x6x2xi32> {graph.kind = #graph.kind<input>, graph.name = "ids"},
    %shares: tensor<1x6x2xf32> {graph.kind = #graph.kind<input>, graph.name = "shares"},
    %up: tensor<2x64x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up"},
    %down: tensor<2x32x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down"})
    -> (tensor<1x6x32xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.dispatch %x, %ids : (tensor<1x6x32xf32>, tensor<1x6x2xi32>) -> tensor<1x6x2x32xf32>
  %h = graph.expert_linear %r, %up, %ids : (tensor<1x6x2x32xf32>, tensor<2x64x32xf32>, tensor<1x6x2xi32>) -> tensor<1x6x2x64xf32>
  %d = graph.expert_linear %h, %down, %ids : (tensor<1x6x2x64xf32>, tensor<2x32x64xf32>, tensor<1x6x2xi32>) -> tensor<1x6x2x32xf32>
  %y = graph.combine %d, %ids, %shares : (tensor<1x6x2x32xf32>, tensor<1x6x2xi32>, tensor<1x6x2xf32>) -> tensor<1x6x32xf32>
  return %y : tensor<1x6x32xf32>
}
