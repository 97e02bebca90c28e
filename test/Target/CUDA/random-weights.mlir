// One kernel for each type of a parameter makes up weights; no entry launches it. A program without parameters gets none.
// RUN: llm-opt %s --cuda-add-random-weights | FileCheck %s
// RUN: env TESSERA_PTXAS= llm-opt %s --cuda-kernels-to-images | FileCheck %s --check-prefix=IMAGE
graph.parameter @scale : tensor<8xf32> from [#graph.source<"scale", file = [8]>]
graph.parameter @a : tensor<4x8xbf16> from [#graph.source<"a", file = [4, 8]>]
graph.parameter @b : tensor<4x8xbf16> from [#graph.source<"b", file = [4, 8]>]

// CHECK: func.func private @tessera_random_f32(
// CHECK-SAME: tessera.kernel
// CHECK: func.func private @tessera_random_bf16(%[[OUT:[a-z0-9]+]]: memref<{{[0-9]+}}xbf16> {tessera.output}, %[[ROWS:[a-z0-9]+]]: memref<{{[0-9]+}}xi64>, %[[COLUMNS:[a-z0-9]+]]:
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[LAYER:.*]] = arith.divui %[[BLOCK]], %{{.*}} : index
// CHECK: %[[ROW:.*]] = arith.remui %[[BLOCK]], %{{.*}} : index
// CHECK: memref.load %[[ROWS]][%[[ROW]]]
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} to %{{.*}} step %c256
// CHECK: memref.load %[[COLUMNS]][%[[COLUMN]]]
// CHECK: memref.store %{{.*}}, %[[OUT]]
// CHECK-NOT: func.func

// IMAGE: exec.device_kernel @tessera_random_f32 threads = 256 shared = 0 per_block = 1
// IMAGE: exec.device_kernel @tessera_random_bf16 threads = 256 shared = 0 per_block = 1
// IMAGE: .visible .entry tessera_random_f32({{.*}}.visible .entry tessera_random_bf16(
