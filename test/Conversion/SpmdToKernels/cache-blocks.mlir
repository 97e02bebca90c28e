// From rung kernels on a cache in blocks is an array of bytes, 34 for every 32 numbers: what writes it rounds, attention reads the bytes, and what is written out in smaller ops reads
// one layer that is expanded.
// RUN: split-file %s %t
// RUN: llm-opt %t/attention.mlir --spmd-to-kernels | FileCheck %s
// RUN: llm-opt %t/sums.mlir --spmd-to-kernels | FileCheck %s --check-prefix=SUMS
// RUN: llm-opt %t/keys.mlir --spmd-to-kernels | FileCheck %s --check-prefix=KEYS
// RUN: llm-opt %t/moved.mlir --spmd-to-kernels | FileCheck %s --check-prefix=MOVED
// RUN: not llm-opt %t/attention.mlir --spmd-to-kernels="target=cuda" 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: error: 'func.func' op keeps c in blocks of Q8_0, which the target does not read; choose bf16 or f16 for caches
// RUN: not llm-opt %t/plain.mlir --spmd-to-kernels 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: error: 'graph.cache_update' op writes a cache in blocks of Q8_0 and does not round to them: it needs graph.held
// RUN: not llm-opt %t/rounded.mlir --spmd-to-kernels 2>&1 | FileCheck %s --check-prefix=ROUNDED
// ROUNDED: error: 'graph.cache_update' op rounds to blocks of Q8_0, and its cache is kept in none: the state needs graph.held
// RUN: not llm-opt %t/cut.mlir --spmd-to-kernels 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error: 'func.func' op keeps c in blocks of Q8_0, which a rank's rows are not made of: their last dimension is sharded; choose bf16 or f16 for caches

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x2x3x2x64xf32>
// CHECK-SAME: %[[K:[^:]*]]: tensor<1x2x3x64xf32>
// CHECK-SAME: %[[C:[^:]*]]: tensor<2x1x12x3x68xi8> {{.*}}graph.held = "Q8_0"
// CHECK: %[[NEW:.*]] = exec.launch @cache_update_blocks ins(%[[K]], {{.*}} outs(%[[C]] : tensor<2x1x12x3x68xi8>)
// CHECK: %[[LAYER:.*]] = exec.layer %[[NEW]][{{.*}}] : tensor<2x1x12x3x68xi8> -> tensor<1x12x3x68xi8>
// CHECK: exec.launch @attention_{{.*}} ins(%[[Q]], %[[LAYER]], %[[LAYER]], {{.*}}tensor<1x12x3x68xi8>{{.*}} -> tensor<1x2x3x2x64xf32>
// CHECK: return {{.*}} tensor<2x1x12x3x68xi8>

// SUMS-LABEL: func.func @f(
// SUMS: %[[LAYER:.*]] = exec.layer {{.*}} -> tensor<1x12x3x68xi8>
// SUMS: %[[NUMBERS:.*]] = exec.launch @expand_blocks ins(%[[LAYER]] : {{.*}} -> tensor<1x12x3x64xf32>
// SUMS: exec.launch {{.*}} ins(%[[NUMBERS]]

// Beside values that are in no blocks keys are expanded: no kernel reads both.
// KEYS-LABEL: func.func @f(
// KEYS: %[[LAYER:.*]] = exec.layer {{.*}} -> tensor<1x12x3x68xi8>
// KEYS: %[[NUMBERS:.*]] = exec.launch @expand_blocks ins(%[[LAYER]] : {{.*}} -> tensor<1x12x3x64xf32>
// KEYS: exec.launch @attention_{{.*}} ins(%{{.*}}, %[[NUMBERS]], %{{.*}}tensor<1x12x3x64xf32>, tensor<1x12x3x64xf32>

// Ranks that change pieces of the context for heads exchange bytes: 68 of a row of 64.
// MOVED-LABEL: func.func @f(
// MOVED-NOT: expand_blocks
// MOVED: exec.collective all_to_all {{.*}}xi8>) outs({{.*}}xi8>)
// MOVED-NOT: all_to_all
// MOVED: exec.launch @attention_{{.*}}tensor<1x12x2x68xi8>, tensor<1x12x2x68xi8>

//--- attention.mlir
func.func @f(%q: tensor<1x2x3x2x64xf32> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<1x2x3x64xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
    %c: tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}, %p: tensor<1x2xi32> {graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<1x2x3x2x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}) {
  %i = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %n = graph.cache_update %c[%i], %k, %p {graph.held = "Q8_0"} : (tensor<2x1x12x3x64xf32>, tensor<1x2x3x64xf32>, tensor<i32>, tensor<1x2xi32>) -> tensor<2x1x12x3x64xf32>
  %l = graph.layer_slice %n[%i] : (tensor<2x1x12x3x64xf32>, tensor<i32>) -> tensor<1x12x3x64xf32>
  %a = graph.attention %q, %l, %l, %p scale = 0.5 : (tensor<1x2x3x2x64xf32>, tensor<1x12x3x64xf32>, tensor<1x12x3x64xf32>, tensor<1x2xi32>) -> tensor<1x2x3x2x64xf32>
  return %a, %n : tensor<1x2x3x2x64xf32>, tensor<2x1x12x3x64xf32>
}

//--- sums.mlir
func.func @f(%c: tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"})
    -> (tensor<1x12x3xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %i = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %l = graph.layer_slice %c[%i] : (tensor<2x1x12x3x64xf32>, tensor<i32>) -> tensor<1x12x3x64xf32>
  %s = graph.reduce sum %l dims = [3] : (tensor<1x12x3x64xf32>) -> tensor<1x12x3xf32>
  return %s : tensor<1x12x3xf32>
}

//--- plain.mlir
func.func @f(%k: tensor<1x2x3x64xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
    %c: tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}, %p: tensor<1x2xi32> {graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}) {
  %i = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %n = graph.cache_update %c[%i], %k, %p : (tensor<2x1x12x3x64xf32>, tensor<1x2x3x64xf32>, tensor<i32>, tensor<1x2xi32>) -> tensor<2x1x12x3x64xf32>
  return %n : tensor<2x1x12x3x64xf32>
}

//--- rounded.mlir
func.func @f(%k: tensor<1x2x3x64xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
    %c: tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c"}, %p: tensor<1x2xi32> {graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c"}) {
  %i = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %n = graph.cache_update %c[%i], %k, %p {graph.held = "Q8_0"} : (tensor<2x1x12x3x64xf32>, tensor<1x2x3x64xf32>, tensor<i32>, tensor<1x2xi32>) -> tensor<2x1x12x3x64xf32>
  return %n : tensor<2x1x12x3x64xf32>
}

//--- keys.mlir
func.func @f(%q: tensor<1x2x3x2x64xf32> {graph.kind = #graph.kind<input>, graph.name = "q"}, %v: tensor<1x12x3x64xf32> {graph.kind = #graph.kind<input>, graph.name = "v"},
    %c: tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}, %p: tensor<1x2xi32> {graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<1x2x3x2x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %i = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %l = graph.layer_slice %c[%i] : (tensor<2x1x12x3x64xf32>, tensor<i32>) -> tensor<1x12x3x64xf32>
  %a = graph.attention %q, %l, %v, %p scale = 0.5 : (tensor<1x2x3x2x64xf32>, tensor<1x12x3x64xf32>, tensor<1x12x3x64xf32>, tensor<1x2xi32>) -> tensor<1x2x3x2x64xf32>
  return %a : tensor<1x2x3x2x64xf32>
}

//--- cut.mlir
!c = tensor<2x1x12x3x32xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {"tp"}], global=[2, 1, 12, 3, 64]>>
dist.mesh @mesh = <["tp"=2]>
func.func @f(%c: !c {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}) -> (!c {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}) {
  return %c : !c
}

//--- moved.mlir
!c = tensor<2x1x6x4x64xf32, #dist.sharding<@mesh, [{}, {}, {"cp"}, {}, {}], global=[2, 1, 12, 4, 64]>>
!piece = tensor<1x6x4x64xf32, #dist.sharding<@mesh, [{}, {"cp"}, {}, {}], global=[1, 12, 4, 64]>>
!heads = tensor<1x12x2x64xf32, #dist.sharding<@mesh, [{}, {}, {"cp"}, {}], global=[1, 12, 4, 64]>>
!q = tensor<1x2x2x2x64xf32, #dist.sharding<@mesh, [{}, {}, {"cp"}, {}, {}], global=[1, 2, 4, 2, 64]>>
!p = tensor<1x2xi32, #dist.sharding<@mesh, [{}, {}], global=[1, 2]>>
!i = tensor<i32, #dist.sharding<@mesh, [], global=[]>>
dist.mesh @mesh = <["cp"=2]>
func.func @f(%q: !q {graph.kind = #graph.kind<input>, graph.name = "q"}, %c: !c {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"},
    %p: !p {graph.kind = #graph.kind<input>, graph.name = "p"}) -> (!q {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %i = graph.constant dense<1> : tensor<i32> : !i
  %l = graph.layer_slice %c[%i] : (!c, !i) -> !piece
  %h = dist.all_to_all %l from = 1 to = 2 axes = {"cp"} : !piece -> !heads
  %a = graph.attention %q, %h, %h, %p scale = 0.5 : (!q, !heads, !heads, !p) -> !q
  return %a : !q
}
