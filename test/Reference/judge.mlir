// The judge compares a program with what a pipeline makes of it.
// RUN: llm-judge %s --pipeline=canonicalize,cse --runs=2 | FileCheck %s
// RUN: llm-judge %s --entry=nested --pipeline=inline | FileCheck %s --check-prefix=NESTED
// RUN: not llm-judge %s --entry=missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not llm-judge %s --pipeline=no-such-pass 2>&1 | FileCheck %s --check-prefix=PIPELINE

// CHECK: seed 1 result #0 out: relative error 0
// CHECK: seed 2 result #0 out: relative error 0
func.func @twice(%x: tensor<2x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<2x6xf32> {graph.name = "out"}) {
  %0 = graph.transpose %x [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %1 = graph.transpose %0 [1, 0] : (tensor<6x2xf32>) -> tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}

// NESTED: result #0: relative error 0
func.func @nested(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %0 = func.call @twice(%x) : (tensor<2x6xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// MISSING: error: entry ({{.*}}judge.mlir): no function @missing
// PIPELINE: error: pipeline (no-such-pass):
