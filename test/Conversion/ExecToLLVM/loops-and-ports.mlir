// What loops and ports become: numbers of the manifest and of the calls.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s --check-prefix=MANIFEST

module attributes {exec.arena_bytes = 4096 : i64} {
  dist.mesh @mesh = <["tp"=4]>
  graph.parameter @t : tensor<10x6xf32> from [#graph.source<"t", file = [60], reshape = [6, 10], permute = [1, 0]>] {exec.local = tensor<3x6xf32>, exec.pack = 1 : i64, exec.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}
  graph.parameter @v : tensor<3x4x8xf32> stacked variable from [#graph.source<"v.{}", file = [4, 8]>] {exec.local = tensor<3x4x8xf32>, exec.pack = 1 : i64}
  llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64)

  // A loop goes on by its step, and reads the count that it names.
  // CHECK: llvm.func internal @tessera_entry_f
  // CHECK: %[[COUNTS:.*]] = llvm.load
  // CHECK: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i64)
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[%[[EIGHT]]]
  // CHECK: ^{{.*}}(%[[I:.*]]: i64):
  // A reversed index counts down from its offset.
  // CHECK: %[[FIVE:.*]] = llvm.mlir.constant(5 : i64)
  // CHECK: %[[J:.*]] = llvm.sub %[[FIVE]], %[[I]]
  // Of each period of three a stack holds two layers.
  // CHECK: %[[THREE:.*]] = llvm.mlir.constant(3 : i64)
  // CHECK: %[[TURN:.*]] = llvm.udiv %[[J]], %[[THREE]]
  // CHECK: %[[TWO:.*]] = llvm.mlir.constant(2 : i64)
  // CHECK: %[[HELD:.*]] = llvm.mul %[[TURN]], %[[TWO]]
  // CHECK: llvm.add %[[HELD]], %{{.*}}
  // Scalars lie side by side.
  // CHECK: llvm.store %{{.*}}, %[[SCALARS:.*]] : i64, !llvm.ptr
  // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[SCALARS]][%{{.*}}]
  // CHECK: llvm.store %{{.*}}, %[[NEXT]] : i64, !llvm.ptr
  // A shard of a table begins after its number times its rows.
  // CHECK: %[[SHARD:.*]] = llvm.call @ts_group_index
  // CHECK: %[[ROWS:.*]] = llvm.mlir.constant(3 : i64)
  // CHECK: llvm.mul %[[SHARD]], %[[ROWS]]
  // CHECK: llvm.call @ts_gather_packed
  // CHECK: %[[STEP:.*]] = llvm.mlir.constant(2 : i64)
  // CHECK: llvm.add %[[I]], %[[STEP]]
  // All layers are packed, then one.
  // CHECK: %[[ALL:.*]] = llvm.mlir.constant(-1 : i64)
  // CHECK: llvm.call @ts_pack(%{{.*}}, %{{.*}}, %{{.*}}, %[[ALL]])
  // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
  // CHECK: llvm.call @ts_pack(%{{.*}}, %{{.*}}, %{{.*}}, %[[ONE]])

  // A collective in two loops is executed 3 * 2 times; count 0 must suit both of its loops, whichever comes first.
  // MANIFEST: constant @tessera_manifest("{
  // A program in text has no type and no task but those that it states.
  // MANIFEST-SAME: \22dtype\22:\22\22,\22entries\22
  // MANIFEST-SAME: \22executions\22:6,\22id\22:0
  // MANIFEST-SAME: \22counts\22:[{{\[}}2,5],[1,6]]
  // A port is as large as the whole, of which a rank holds a part.
  // MANIFEST-SAME: \22local\22:[3],\22name\22:\22ids\22,{{.*}}\22shape\22:[10]
  // What packs a variable makes its packed form again.
  // MANIFEST-SAME: \22params\22:{\22reads\22:[0,1],\22updates\22:[1]}
  // The second output of the first entry fills an input of the second.
  // MANIFEST-SAME: \22fill\22:{\22entry\22:0,\22output\22:1}
  // MANIFEST-SAME: \22permute\22:[1,0],\22reshape\22:[6,10]
  // MANIFEST-SAME: \22task\22:\22\22
  func.func @f() attributes {exec.entry,
      exec.inputs = [{name = "ids", offset = 512 : i64, type = tensor<3xi32>, sharding = #dist.sharding<@mesh, [{"tp"}], global=[10]>}],
      exec.outputs = [{name = "first", offset = 1024 : i64, type = tensor<2xf32>}, {name = "second", offset = 1088 : i64, type = tensor<2xf32>}]} {
    %a = exec.buffer at 0 : memref<8xf32>
    %b = exec.buffer at 64 : memref<8xf32>
    %ids = exec.buffer at 512 : memref<3xi32>
    %rows = exec.buffer at 576 : memref<3x6xf32>
    exec.for %i = call[1] in 1 to 6 step 2 {
      %j = exec.index_offset %i, 5 reverse
      // Two of three layers have a place in a stack.
      %n = exec.stack_layer %j period = 3 held = 2 before = 1
      exec.launch @k ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) scalars(%i, %n) count = 1 grain = 1 modes(update)
      %s = exec.group_index [#dist.axis_ref<"tp">]
      exec.gather_packed @t ins(%ids : memref<3xi32>) shard %s outs(%rows : memref<3x6xf32>)
    }
    exec.for %i = call[0] in 2 to 5 step 1 {
      exec.copy %a to %b : memref<8xf32>, memref<8xf32>
    }
    exec.for %i = call[0] in 0 to 7 step 1 {
      exec.copy %b to %a : memref<8xf32>, memref<8xf32>
    }
    exec.pack @v
    %one = arith.constant 1 : index
    exec.pack @v[%one]
    exec.for %i = 3 step 1 {
      exec.for %j = 2 step 1 {
        exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%b : memref<8xf32>) outs(%b : memref<8xf32>)
      }
    }
    return
  }
  func.func @g() attributes {exec.entry, exec.inputs = [{name = "second", offset = 1088 : i64, type = tensor<2xf32>, fill = #graph.fill<output "second" of @f>}]} {
    return
  }
}
