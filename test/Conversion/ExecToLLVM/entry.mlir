// An entry is straight calls of the runtime with numbers of the manifest; a loop is a loop, whatever its count. The manifest says the rest once.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s --check-prefix=MANIFEST

module attributes {exec.arena_bytes = 4096 : i64, exec.states = [{name = "k", offset = 0 : i64, type = tensor<4x1x32x2x8xf32>}], graph.architecture = "llama", tessera.model = "/m", tessera.eos = array<i64: 2, 7>} {
  dist.mesh @mesh = <["dp"=2, "tp"=4]>
  graph.parameter @w : tensor<4x8x8xf32> stacked from [#graph.source<"w.{}", file = [8, 16], slice = [0, 8, 8, 16]>] {exec.local = tensor<4x8x8xf32>, exec.pack = 1 : i64}
  graph.parameter @n : tensor<4x8xf32> stacked from [#graph.source<"n.{}", file = [8]>] {exec.local = tensor<4x8xf32>}
  graph.parameter @unused : tensor<4xf32> from [#graph.source<"u", file = [4]>]
  llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64)

  // CHECK: llvm.func internal @tessera_entry_decode(%[[RANK:.*]]: !llvm.ptr, %[[CALL:.*]]: !llvm.ptr)
  // CHECK: %[[ARENA:.*]] = llvm.load %[[CALL]]
  // CHECK: %[[X:.*]] = llvm.getelementptr %[[ARENA]]
  // CHECK: llvm.call @ts_group_index(%[[RANK]], %{{.*}}) : (!llvm.ptr, i32) -> i64
  // CHECK: llvm.br ^[[BODY:bb[0-9]+]](%{{.*}} : i64)
  // CHECK: ^[[BODY]](%[[I:.*]]: i64):
  // CHECK: %[[STRIDE:.*]] = llvm.mlir.constant(32 : i64)
  // CHECK: llvm.mul %[[I]], %[[STRIDE]]
  // CHECK: llvm.call @ts_launch(%[[RANK]], %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i64)
  // CHECK: llvm.call @ts_matmul(%[[RANK]], %{{.*}}, %[[I]], %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: llvm.call @ts_collective
  // CHECK: llvm.cond_br %{{.*}}, ^[[BODY]](%{{.*}} : i64), ^[[AFTER:bb[0-9]+]]
  // CHECK: ^[[AFTER]]:
  // CHECK: llvm.return
  // CHECK: llvm.mlir.global internal constant @tessera_name_k("k\00")
  // Buffers of the kernel: 32 bytes read, 32 read, 32 updated.
  // CHECK: llvm.mlir.global internal constant @tessera_buffers_k(dense<[32, 1, 32, 1, 32, 3]> : tensor<6xi64>)
  // CHECK: llvm.mlir.global internal constant @tessera_kernels()
  // CHECK: llvm.mlir.addressof @k
  // CHECK: llvm.mlir.global external constant @tessera_program()
  // CHECK-NOT: exec.

  // MANIFEST: constant @tessera_manifest("{
  // MANIFEST-SAME: \22arena_bytes\22:4096
  // MANIFEST-SAME: \22batch\22:1
  // Eight all_reduces: two a layer are one collective.
  // MANIFEST-SAME: \22collectives\22:[{\22dim\22:0,\22dim2\22:0,\22dtype\22:\22f32\22,\22group\22:0,\22kind\22:\22all_reduce\22,\22op\22:\22sum\22,\22shape\22:[1,8],\22why\22:\22down\22}]
  // MANIFEST-SAME: \22executions\22:8,\22id\22:0
  // MANIFEST-SAME: \22name\22:\22decode\22
  // MANIFEST-SAME: \22eos\22:[2,7]
  // MANIFEST-SAME: \22groups\22:[{{\[\[}}\22tp\22,1,4]]]
  // MANIFEST-SAME: \22matmuls\22:[{\22k\22:8,\22m\22:1,\22n\22:8,\22param\22:0}]
  // MANIFEST-SAME: \22max_seq_len\22:32
  // MANIFEST-SAME: \22mesh\22:[{{\[}}\22dp\22,2],[\22tp\22,4]]
  // MANIFEST-SAME: \22layers\22:4,\22local\22:[8,8],\22name\22:\22w\22,\22pack\22:{\22out_dims\22:1}
  // MANIFEST-SAME: \22slice\22:[{{\[}}0,8],[8,16]]
  // MANIFEST-SAME: \22name\22:\22n\22,\22pack\22:null
  // MANIFEST-NOT: unused
  func.func @decode() attributes {exec.entry, exec.inputs = [{name = "tokens", offset = 2048 : i64, type = tensor<1x1xi32>}], exec.outputs = []} {
    %x = exec.buffer at 2112 : memref<1x8xf32>
    %y = exec.buffer at 2176 : memref<1x8xf32>
    %n = exec.param @n : memref<4x8xf32>
    %s = exec.group_index [#dist.axis_ref<"tp">]
    exec.for %i = 4 step 1 {
      %l = exec.layer %n[%i] : memref<4x8xf32> -> memref<8xf32>
      exec.launch @k ins(%x, %l : memref<1x8xf32>, memref<8xf32>) outs(%y : memref<1x8xf32>) scalars(%s) count = 1 grain = 1
      exec.matmul m = 1 n = 8 k = 8 ins(%y : memref<1x8xf32>) packed @w[%i] outs(%x : memref<1x8xf32>)
      exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : memref<1x8xf32>) outs(%x : memref<1x8xf32>) {why = "down"}
      exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%y : memref<1x8xf32>) outs(%y : memref<1x8xf32>) {why = "down"}
    }
    return
  }
}
