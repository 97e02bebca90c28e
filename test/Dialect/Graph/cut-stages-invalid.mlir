// RUN: not llm-opt %test_dir/Dialect/Graph/cut-stages.mlir --graph-cut-stages=stages=1,2 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not llm-opt %test_dir/Dialect/Graph/cut-stages.mlir --graph-cut-stages=stages=7,-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not llm-opt %test_dir/Dialect/Graph/cut-stages.mlir --graph-cut-stages="stages=3,3 at=0" 2>&1 | FileCheck %s --check-prefix=AT
// RUN: not llm-opt %test_dir/Dialect/Graph/cut-stages.mlir --graph-cut-stages="stages=3,3 at=0,2" 2>&1 | FileCheck %s --check-prefix=GAP
// RUN: not llm-opt %s --graph-cut-stages=stages=3,3 2>&1 | FileCheck %s --check-prefix=LOOP
// SUM: has 6 layers, and the stages have 3 together; give the layers of each stage so that they add up
// NEGATIVE: cannot be cut into a stage of -1 layers
// AT: has 2 stages and coordinates for 1
// GAP: has a stage at coordinate 2 of an axis that 2 stages cannot fill
// LOOP: has no graph.repeat over layers: there is nothing to cut
func.func @forward(%x: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> tensor<2x8xi32> {
  return %x : tensor<2x8xi32>
}
