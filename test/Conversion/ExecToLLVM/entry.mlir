// An entry is straight calls of the runtime with numbers of the manifest; a loop is a loop, whatever its count. The manifest says the rest once.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s --check-prefix=MANIFEST

module attributes {exec.arena_bytes = 4096 : i64, exec.states = [{name = "k", offset = 0 : i64, type = tensor<2x8xf32>, clear = #graph.clear<before_prompts>}, {name = "v", offset = 64 : i64, type = tensor<2x8xf32>}], graph.architecture = "llama", graph.generate = #graph.generate<batch = 1, chunk = 16, max_seq_len = 32, vocab = 99>, tessera.dtype = "bf16", tessera.model = "/m", tessera.eos = array<i64: 2, 7>} {
  dist.mesh @mesh = <["dp"=2, "tp"=4]>
  graph.parameter @w : tensor<4x8x8xf32> stacked from [#graph.source<"w.{}", file = [8, 16], slice = [0, 8, 8, 16]>] {exec.local = tensor<4x8x8xf32>, exec.pack = 1 : i64}
  graph.parameter @n : tensor<4x8xf32> stacked from [#graph.source<"n.{}", file = [8]>] {exec.local = tensor<4x8xf32>, exec.layer_bytes = 48 : i64}
  graph.parameter @v : tensor<16xf32> variable from [#graph.source<"v", file = [16]>] {exec.local = tensor<16xf32>}
  graph.parameter @unused : tensor<4xf32> from [#graph.source<"u", file = [4]>]
  llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64)
  llvm.func @whole(!llvm.ptr, !llvm.ptr, i64, i64)

  // CHECK: llvm.func internal @tessera_entry_decode(%[[RANK:.*]]: !llvm.ptr, %[[CALL:.*]]: !llvm.ptr)
  // CHECK: %[[ARENA:.*]] = llvm.load %[[CALL]]
  // CHECK: %[[X:.*]] = llvm.getelementptr %[[ARENA]]
  // CHECK: llvm.call @ts_group_index(%[[RANK]], %{{.*}}) : (!llvm.ptr, i32) -> i64
  // CHECK: llvm.br ^[[BODY:bb[0-9]+]](%{{.*}} : i64)
  // CHECK: ^[[BODY]](%[[I:.*]]: i64):
  // Layers lie as far apart as the parameter says.
  // CHECK: %[[STRIDE:.*]] = llvm.mlir.constant(48 : i64)
  // CHECK: %[[OFFSET:.*]] = llvm.mul %[[I]], %[[STRIDE]]
  // CHECK: %[[LAYER:.*]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]]
  // CHECK: llvm.call @ts_launch(%[[RANK]], %{{.*}}) : (!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, i64, i64)
  // What a product does not take is null.
  // CHECK-COUNT-3: llvm.mlir.zero
  // CHECK: llvm.call @ts_matmul(%[[RANK]], %{{.*}}, %{{.*}}, %[[I]], %[[FROM:.*]], %{{.*}}, %[[TO:.*]], %{{.*}}, %{{.*}})
  // CHECK: llvm.call @ts_matmul(%[[RANK]], %{{.*}}, %{{.*}}, %[[I]], %[[FROM]], %{{.*}}, %[[TO]], %[[LAYER]], %[[TO]])
  // CHECK: llvm.call @ts_collective
  // CHECK: llvm.cond_br %{{.*}}, ^[[BODY]](%{{.*}} : i64), ^[[AFTER:bb[0-9]+]]
  // CHECK: ^[[AFTER]]:
  // CHECK: llvm.return
  // CHECK: llvm.mlir.global internal constant @tessera_name_k("k\00")
  // Buffers of the kernel: 32 bytes read, 32 read, 32 updated.
  // CHECK: llvm.mlir.global internal constant @tessera_buffers_k(dense<[32, 5, 32, 5, 32, 7, 32, 7]> : tensor<8xi64>)
  // What is written whole is said to be, where all launches of the kernel do: of @whole the first output, not the second.
  // CHECK: llvm.mlir.global internal constant @tessera_buffers_whole(dense<[32, 5, 32, 6, 32, 7]> : tensor<6xi64>)
  // CHECK: llvm.mlir.global internal constant @tessera_kernels()
  // CHECK: llvm.mlir.addressof @k
  // CHECK: llvm.mlir.global external constant @tessera_program()
  // CHECK-NOT: exec.

  // MANIFEST: constant @tessera_manifest("{
  // MANIFEST-SAME: \22arena_bytes\22:4096
  // Eight all_reduces: two a layer are one collective.
  // MANIFEST-SAME: \22collectives\22:[{\22dtype\22:\22f32\22,\22elements\22:8,\22group\22:0,\22kind\22:\22all_reduce\22,\22op\22:\22sum\22,\22why\22:\22down\22}]
  // What --dtype asked for, whatever parameters there are.
  // MANIFEST-SAME: \22dtype\22:\22bf16\22,\22entries\22
  // MANIFEST-SAME: \22executions\22:8,\22id\22:0
  // What fills an input and what an output gives, by attributes; the first is what entry 1 gives.
  // MANIFEST-SAME: \22counts\22:[],\22inputs\22:[{{.*}}\22fill\22:{\22entry\22:1,\22output\22:0}{{.*}}\22name\22:\22given\22
  // MANIFEST-SAME: \22fill\22:\22token_ids\22{{.*}}\22name\22:\22tokens\22
  // MANIFEST-SAME: \22name\22:\22decode\22,\22outputs\22:[{\22bytes\22:32,\22dtype\22:\22f32\22,\22gives\22:\22logits\22,\22local\22:[1,1,8],\22name\22:\22l\22
  // Read off the ops: the kernel updates state v, weights are only read.
  // MANIFEST-SAME: \22params\22:{\22reads\22:[0,1],\22updates\22:[]},\22role\22:\22next\22,\22states\22:{\22reads\22:[1],\22writes\22:[1]}
  // MANIFEST-SAME: \22name\22:\22other\22
  // MANIFEST-SAME: \22params\22:{\22reads\22:[],\22updates\22:[2]},\22states\22:{\22reads\22:[0],\22writes\22:[]}
  // MANIFEST-SAME: \22generate\22:{\22batch\22:1,\22chunk\22:16,\22eos\22:[2,7],\22max_seq_len\22:32,\22vocab\22:99}
  // MANIFEST-SAME: \22groups\22:[{{\[\[}}\22tp\22,1,4]]]
  // MANIFEST-SAME: \22matmuls\22:[{\22k\22:8,\22m\22:1,\22n\22:8,\22param\22:0,\22sum\22:\22f32\22,\22w\22:\22f32\22,\22x\22:\22f32\22,\22y\22:\22f32\22},
  // MANIFEST-SAME: {\22addend\22:true,\22bias\22:true,\22function\22:\22relu\22,\22k\22:8
  // MANIFEST-SAME: \22mesh\22:[{{\[}}\22dp\22,2],[\22tp\22,4]]
  // MANIFEST-SAME: \22layers\22:4,\22local\22:[8,8],\22name\22:\22w\22,\22pack\22:{\22out_dims\22:1}
  // MANIFEST-SAME: \22slice\22:[{{\[}}0,8],[8,16]]
  // MANIFEST-SAME: \22layer_bytes\22:48,{{.*}}\22name\22:\22n\22,\22pack\22:null{{.*}}\22variable\22:false
  // MANIFEST-SAME: \22name\22:\22v\22{{.*}}\22variable\22:true
  // MANIFEST-SAME: \22states\22:[{\22bytes\22:64,\22clear\22:\22before_prompts\22{{.*}}\22name\22:\22k\22{{.*}}\22clear\22:\22at_start\22{{.*}}\22name\22:\22v\22
  // MANIFEST-SAME: \22task\22:\22generate\22
  // MANIFEST-NOT: unused
  func.func @decode() attributes {exec.entry, graph.role = #graph.role<next>,
      exec.inputs = [{name = "given", offset = 2176 : i64, type = tensor<1x8xf32>, fill = #graph.fill<output "y" of @other>}, {name = "tokens", offset = 2048 : i64, type = tensor<1x1xi32>, fill = #graph.fill<token_ids>}],
      exec.outputs = [{name = "l", offset = 2112 : i64, type = tensor<1x1x8xf32>, gives = #graph.gives<logits>}]} {
    %v = exec.buffer at 64 : memref<8xf32>
    %x = exec.buffer at 2112 : memref<1x8xf32>
    %y = exec.buffer at 2176 : memref<1x8xf32>
    %n = exec.param @n : memref<4x8xf32>
    %s = exec.group_index [#dist.axis_ref<"tp">]
    exec.for %i = 4 step 1 {
      %l = exec.layer %n[%i] : memref<4x8xf32> -> memref<8xf32>
      exec.launch @k ins(%x, %l : memref<1x8xf32>, memref<8xf32>) outs(%y, %v : memref<1x8xf32>, memref<8xf32>) scalars(%s) count = 1 grain = 1
      exec.matmul m = 1 n = 8 k = 8 ins(%y : memref<1x8xf32>) packed @w[%i] outs(%x : memref<1x8xf32>)
      exec.matmul m = 1 n = 8 k = 8 ins(%y : memref<1x8xf32>) packed @w[%i] bias(%l : memref<8xf32>) addend(%x : memref<1x8xf32>) function relu outs(%x : memref<1x8xf32>)
      exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : memref<1x8xf32>) outs(%x : memref<1x8xf32>) {why = "down"}
      exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%y : memref<1x8xf32>) outs(%y : memref<1x8xf32>) {why = "down"}
    }
    return
  }
  func.func @other() attributes {exec.entry, exec.outputs = [{name = "y", offset = 2176 : i64, type = tensor<1x8xf32>}]} {
    %k = exec.buffer at 0 : memref<16xf32>
    %v = exec.param @v : memref<16xf32>
    exec.copy %k to %v : memref<16xf32>, memref<16xf32>
    %x = exec.buffer at 2112 : memref<1x8xf32>
    %y = exec.buffer at 2176 : memref<1x8xf32>
    %z = exec.buffer at 2240 : memref<1x8xf32>
    exec.launch @whole ins(%x : memref<1x8xf32>) outs(%y, %z : memref<1x8xf32>, memref<1x8xf32>) count = 1 grain = 1 modes(write, write)
    exec.launch @whole ins(%x : memref<1x8xf32>) outs(%y, %z : memref<1x8xf32>, memref<1x8xf32>) count = 1 grain = 1 modes(write, update)
    return
  }
}
