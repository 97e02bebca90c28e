// What a program says itself no flag overrides: an explanation names the shardings without which a collective is not there.
// RUN: %python %S/check_explain.py %s - -- llm-opt | FileCheck %s
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: llm-opt %s --tessera-explain="json=true" -o /dev/null 2>&1 | FileCheck %s --check-prefix=JSON

// CHECK: all_reduce over {x}: leaving out [-/x] of argument a [{{.*}}] removes it, -32 bytes
// CHECK: all_gather over {y}: leaving out [y/x] of the pin of softmax [{{.*}}] removes it, -480 bytes
// CHECK: all_reduce over {x}: leaving out [-/x] of argument a [{{.*}}] and [y/x] of argument w [{{.*}}] removes it, -1056 bytes
// TEXT: between: softmax (a) [{{.*}}] and linear (w) [{{.*}}]
// TEXT-NEXT: disagree on: rows: linear needs rows whole, not over {y}
// TEXT-NEXT: costs: each rank sends 512 bytes
// TEXT-NEXT: removed by: leaving out [y/x] of the pin of softmax [{{.*}}explain-said.mlir:[[@LINE+9]]:8]
// TEXT-NEXT: that changes, per rank: collective bytes -480, collectives -1,
// JSON: "left_out":[{"sharding":"[-/x]","what":"argument a","where":"{{[^"]*}}explain-said.mlir:{{[0-9]+}}:14"}]

dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @f(%a: tensor<8x64xf32> {graph.name = "a", graph.dims = ["rows", "cols"], dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
             %w: tensor<32x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>, graph.dims = ["out", "cols"], graph.name = "w"})
    -> (tensor<8x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = graph.softmax %a : tensor<8x64xf32>
  %1 = dist.constraint %0 <@mesh, [{"y"}, {"x"}]> : tensor<8x64xf32>
  %2 = graph.linear %1, %w contract = 1 : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}
