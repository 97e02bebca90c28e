// A packed weight stays in the quantized blocks of its checkpoint where its rows are rows of the file, in whole blocks. What is read in any other way, or
// lies across the file's rows, is expanded at load.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels --verify-diagnostics | FileCheck %s

// CHECK: graph.parameter @rows {{.*}}exec.held = ["Q8_0"]
// CHECK: graph.parameter @heads {{.*}}exec.held = ["Q4_1"]
// CHECK: graph.parameter @turned
// CHECK-NOT: exec.held
// CHECK: graph.parameter @part
// CHECK-NOT: exec.held
// CHECK: graph.parameter @table
// CHECK-NOT: exec.held
graph.parameter @rows : tensor<32x32xf32> from [#graph.source<"a", file = [32, 32]>] {graph.held = ["Q8_0"]}
// Rows change places, and are rows all the same.
graph.parameter @heads : tensor<2x16x32xf32> from [#graph.source<"b", file = [32, 32], reshape = [2, 8, 2, 32], permute = [0, 2, 1, 3]>] {graph.held = ["Q4_1"]}
graph.parameter @turned : tensor<32x32xf32> from [#graph.source<"c", file = [32, 32], permute = [1, 0]>] {graph.held = ["Q8_0"]}
// A fraction of a block.
graph.parameter @part : tensor<32x32xf32> from [#graph.source<"d", file = [32, 32]>] {graph.held = ["Q4_K"]}
graph.parameter @table : tensor<32x32xf32> from [#graph.source<"e", file = [32, 32]>] {graph.held = ["Q8_0"]}
func.func @step(%ids: tensor<1x4xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens"},
    %rows: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "rows"},
    %heads: tensor<2x16x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "heads"},
    %turned: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "turned"},
    %part: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "part"},
    %table: tensor<32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table"})
    -> (tensor<1x4x2x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.embedding %table, %ids : (tensor<32x32xf32>, tensor<1x4xi32>) -> tensor<1x4x32xf32>
  %1 = graph.linear %0, %rows contract = 1 : (tensor<1x4x32xf32>, tensor<32x32xf32>) -> tensor<1x4x32xf32>
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
