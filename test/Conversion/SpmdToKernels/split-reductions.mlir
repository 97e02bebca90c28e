// Long reductions of few rows are two kernels where a target asks for many iterations: one loops over parts, the other puts them together. Shorter ones, and
// those whose rows are enough, stay one; so do all on the CPU.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels=target=cuda | FileCheck %s
// RUN: llm-opt %s --split-input-file --spmd-to-kernels | FileCheck %s --check-prefix=CPU
// CPU-NOT: tensor<32x1xi64>
// CPU-NOT: tensor<32x2x3xf32>

// A part knows the index of its first element, so that the lowest of equal ones is found.
// CHECK-LABEL: func.func @largest
// CHECK: %[[PARTS:.*]] = exec.launch @arg_max_key_32x1 ins(%{{.*}} : tensor<1x131072xf32>) outs(%{{.*}} : tensor<32x1xi64>) count = 32
// CHECK: exec.launch @reduce_arg_max_index_1 ins(%[[PARTS]] : tensor<32x1xi64>) outs(%{{.*}} : tensor<1xi32>) count = 1
// CHECK: func.func private @arg_max_key_32x1(%{{.*}}: tensor<1x32x4096xf32>, %{{.*}}: tensor<32x1xi64>, %[[BEGIN:arg[0-9]+]]: index
// CHECK: scf.for %[[PART:.*]] = %[[BEGIN]] to
// CHECK: tensor.extract_slice %{{.*}}[0, %[[PART]], 0] [1, 1, 4096] [1, 1, 1] : tensor<1x32x4096xf32> to tensor<1x1x4096xf32>
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c4096
// CHECK: %[[OFFSET:.*]] = arith.addi %[[FIRST]],
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[OFFSET]] : index to i64
// CHECK: linalg.index 1
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: arith.addi %{{.*}}, %[[WIDE]]
func.func @largest(%x: tensor<1x131072xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<1xi32> {graph.kind = #graph.kind<output>, graph.name = "i"}) {
  %k = graph.arg_max_key %x : (tensor<1x131072xf32>) -> tensor<1xi64>
  %i = graph.arg_max_index %k : (tensor<1xi64>) -> tensor<1xi32>
  return %i : tensor<1xi32>
}

// -----

// Sums of a narrow type are kept in float32 until all parts are together. What the parts read is computed with them.
// CHECK-LABEL: func.func @sum
// CHECK: %[[PARTS:.*]] = exec.launch @mul_reduce_8x1 ins(%{{.*}} : tensor<1x32768xbf16>) outs(%{{.*}} : tensor<8x1xf32>) count = 8
// CHECK: exec.launch @reduce_cast_1 ins(%[[PARTS]] : tensor<8x1xf32>) outs(%{{.*}} : tensor<1xbf16>) count = 1
func.func @sum(%x: tensor<1x32768xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<1xbf16> {graph.kind = #graph.kind<output>, graph.name = "s"}) {
  %y = graph.mul %x, %x : (tensor<1x32768xbf16>, tensor<1x32768xbf16>) -> tensor<1x32768xbf16>
  %s = graph.reduce sum %y dims = [1] : (tensor<1x32768xbf16>) -> tensor<1xbf16>
  return %s : tensor<1xbf16>
}

// -----

// So are products of few outputs and a long input: any op whose rule says how its partial results combine.
// CHECK-LABEL: func.func @product
// CHECK: %[[PARTS:.*]] = exec.launch @linear_32x2x3 ins({{.*}} : tensor<2x65536xf32>, tensor<3x65536xf32>) outs(%{{.*}} : tensor<32x2x3xf32>) count = 96
// CHECK: exec.launch @reduce_2x3 ins(%[[PARTS]]
func.func @product(%x: tensor<2x65536xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<3x65536xf32> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<2x3xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<2x65536xf32>, tensor<3x65536xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// A softmax over a vocabulary is written out for it; every iteration that reads a maximum or a sum puts its parts together itself.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[MOST:.*]] = exec.launch @reduce_16x1 ins(%[[X:.*]] : tensor<1x65536xf32>) outs(%{{.*}} : tensor<16x1xf32>) count = 16
// CHECK: %[[EXP:.*]] = exec.launch @reduce_broadcast_sub_exp_1x65536 ins(%[[MOST]], %[[X]] : {{.*}}) count = 128
// CHECK: %[[SUM:.*]] = exec.launch @reduce_16x1_0 ins(%[[EXP]] : {{.*}}) count = 16
// CHECK: exec.launch @reduce_broadcast_div_1x65536 ins(%[[SUM]], %[[EXP]] :
// CHECK-NOT: exec.launch
// CHECK: return
// CHECK: func.func private @reduce_broadcast_sub_exp_1x65536
// CHECK: arith.maximumf
// CHECK: func.func private @reduce_broadcast_div_1x65536
// CHECK: arith.addf
func.func @softmax(%x: tensor<1x65536xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<1x65536xf32> {graph.kind = #graph.kind<output>, graph.name = "s"}) {
  %s = graph.softmax %x : tensor<1x65536xf32>
  return %s : tensor<1x65536xf32>
}

// -----

// A norm of a token is small, 512 rows are enough, and ids are looked up by all parts alike.
// CHECK-LABEL: func.func @whole
// CHECK-DAG: exec.launch @rms_norm_1x8192 ins({{.*}}) outs(%{{.*}} : tensor<1x8192xf32>) count = 1 grain
// CHECK-DAG: exec.launch @arg_max_key_{{.*}} count = 512
// CHECK-DAG: exec.launch @embedding_{{.*}} count = 1 grain
// CHECK-NOT: x512xi64>
// CHECK: return
func.func @whole(%x: tensor<1x8192xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %n: tensor<8192xf32> {graph.kind = #graph.kind<input>, graph.name = "n"},
    %logits: tensor<512x65536xf32> {graph.kind = #graph.kind<input>, graph.name = "l"}, %table: tensor<131072x8xf32> {graph.kind = #graph.kind<input>, graph.name = "t"},
    %id: tensor<1xi32> {graph.kind = #graph.kind<input>, graph.name = "id"})
    -> (tensor<1x8192xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<512xi64> {graph.kind = #graph.kind<output>, graph.name = "k"}, tensor<1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "e"}) {
  %y = graph.rms_norm %x, %n eps = 1.0e-5 : (tensor<1x8192xf32>, tensor<8192xf32>) -> tensor<1x8192xf32>
  %k = graph.arg_max_key %logits : (tensor<512x65536xf32>) -> tensor<512xi64>
  %e = graph.embedding %table, %id : (tensor<131072x8xf32>, tensor<1xi32>) -> tensor<1x8xf32>
  return %y, %k, %e : tensor<1x8192xf32>, tensor<512xi64>, tensor<1x8xf32>
}

// -----

// A softmax whose rows are sharded stays whole: the ops that it would be written in know nothing of the rows that other ranks have.
dist.mesh @mesh = <["x"=2]>
// CHECK-LABEL: func.func @sharded_rows
// CHECK: exec.launch @softmax_1x65536 {{.*}} count = 1 grain
// CHECK-NOT: exec.launch
// CHECK: return
func.func @sharded_rows(%x: tensor<1x65536xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[2, 65536]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<1x65536xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[2, 65536]>> {graph.kind = #graph.kind<output>, graph.name = "s"}) {
  %s = graph.softmax %x : tensor<1x65536xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[2, 65536]>>
  return %s : tensor<1x65536xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[2, 65536]>>
}
