// One program of the programs of stages: what all say is said once, FLOPs are added up, and who disagrees is refused.
// RUN: split-file %s %t
// RUN: llm-opt %t/two.mlir "--exec-link-stages=mesh=pp=2,tp=3" | FileCheck %s
// RUN: not llm-opt %t/types.mlir "--exec-link-stages=mesh=pp=2" 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: not llm-opt %t/scales.mlir "--exec-link-stages=mesh=pp=2" 2>&1 | FileCheck %s --check-prefix=SCALES
// RUN: not llm-opt %t/nobody.mlir "--exec-link-stages=mesh=pp=2" 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not llm-opt %t/no-lists.mlir "--exec-link-stages=mesh=pp=2" 2>&1 | FileCheck %s --check-prefix=LISTS

// CHECK-NOT: dist.pipeline @
// CHECK: internal constant @tessera_manifest("{
// CHECK-SAME: \22dtype\22:\22f32\22
// CHECK-SAME: {{\\22mesh\\22:\[\[\\22pp\\22,2\],\[\\22tp\\22,3\]\]}}
// CHECK-SAME: \22lists\22:[\220F0 0B0\22,\221F0 1B0\22]
// CHECK-SAME: \22stages\22:[{\22at\22:0,\22first_layer\22:0,\22layers\22:2,\22program\22:0},{\22at\22:1,\22first_layer\22:2,\22layers\22:1,\22program\22:1}]
// CHECK-SAME: \22train\22:{\22batch\22:4,\22flops_per_token\22:30,\22loss_scale\22:1024,\22vocab\22:9}

// TYPES: 'dist.pipeline' op has stages with different 'dtype': "f32" and "bf16"
// SCALES: 'dist.pipeline' op has stages with different 'loss_scale': 1024 and 512
// NOBODY: 'dist.pipeline' op names @b, which is no program with a manifest
// LISTS: 'dist.pipeline' op has no schedule: what ranks do in which order

//--- two.mlir
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 2, at = 0>, #dist.stage<@b, first = 2, layers = 1, at = 1>] {lists = ["0F0 0B0", "1F0 1B0"], schedule = "gpipe", send_buffers = 1 : i64}
module @a {
  llvm.mlir.global external constant @tessera_manifest("{\22dtype\22: \22f32\22, \22train\22: {\22batch\22: 4, \22flops_per_token\22: 10}, \22entries\22: []}")
}
module @b {
  llvm.mlir.global external constant @tessera_manifest("{\22dtype\22: \22f32\22, \22train\22: {\22batch\22: 4, \22flops_per_token\22: 20, \22loss_scale\22: 1024, \22vocab\22: 9}, \22entries\22: []}")
}

//--- types.mlir
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 2, at = 0>, #dist.stage<@b, first = 2, layers = 1, at = 1>] {lists = ["0F0 0B0", "1F0 1B0"], schedule = "gpipe", send_buffers = 1 : i64}
module @a {
  llvm.mlir.global external constant @tessera_manifest("{\22dtype\22: \22f32\22, \22entries\22: []}")
}
module @b {
  llvm.mlir.global external constant @tessera_manifest("{\22dtype\22: \22bf16\22, \22entries\22: []}")
}

//--- scales.mlir
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 2, at = 0>, #dist.stage<@b, first = 2, layers = 1, at = 1>] {lists = ["0F0 0B0", "1F0 1B0"], schedule = "gpipe", send_buffers = 1 : i64}
module @a {
  llvm.mlir.global external constant @tessera_manifest("{\22train\22: {\22loss_scale\22: 1024}, \22entries\22: []}")
}
module @b {
  llvm.mlir.global external constant @tessera_manifest("{\22train\22: {\22loss_scale\22: 512}, \22entries\22: []}")
}

//--- nobody.mlir
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 2, at = 0>, #dist.stage<@b, first = 2, layers = 1, at = 1>] {lists = ["0F0 0B0", "1F0 1B0"], schedule = "gpipe", send_buffers = 1 : i64}
module @a {
  llvm.mlir.global external constant @tessera_manifest("{\22entries\22: []}")
}
module @b {}

//--- no-lists.mlir
dist.pipeline @p over "pp" = [#dist.stage<@a, first = 0, layers = 2, at = 0>]
module @a {
  llvm.mlir.global external constant @tessera_manifest("{\22entries\22: []}")
}
