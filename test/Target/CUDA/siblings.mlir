// Attention in 16 bits has a second kernel where products of warpgroups take its shape: rows enough, heads of a multiple of 16. It is in the images for its chip alone.
// RUN: llm-opt %s --spmd-to-kernels=target=cuda | FileCheck %s
// RUN: env TESSERA_PTXAS= llm-opt %s --spmd-to-kernels=target=cuda --cuda-kernels-to-images -o %t
// RUN: FileCheck %s --check-prefix=IMAGES --input-file=%t
// RUN: grep -o '[.]entry attention_2x40x1x3x64$wgmma(.*' %t | sed 's/\\0A/\n/g' | FileCheck %s --check-prefix=WAITS

// CHECK: exec.launch @[[NAME:attention_2x40x1x3x64]] {{.*}} count = 16 grain = 1
// CHECK: func.func private @[[NAME]](
// CHECK: func.func private @attention_2x40x1x3x64$wgmma(
// CHECK-SAME: tessera.chip = "sm_90a"
// CHECK-SAME: tessera.sibling = {ascending = 3 : i64, blocks = 4 : i64, count = 16 : i64, first = 236 : i64, kernel = @[[NAME]], key = "attention bf16 2x40x1x3x64 values 64 of 512 keys", row = 40 : i64}
// CHECK-SAME: tessera.threads = 128
// CHECK-NOT: $wgmma(

// IMAGES: exec.device_kernel @attention_2x40x1x3x64 threads = 128
// IMAGES: exec.device_sibling @attention_2x40x1x3x64$wgmma of @attention_2x40x1x3x64 count = 16 blocks = 4 threads = 128 shared = 106496 trial "attention bf16
// IMAGES: exec.image "compute_90a" = "{{.*}}.target sm_90a{{.*}}.entry attention_2x40x1x3x64({{.*}}.entry attention_2x40x1x3x64$wgmma(
// IMAGES: exec.image "compute_80" =
// IMAGES-NOT: $wgmma

// The wait for the values stands behind the weights and a branch that hangs on them, over which ptxas moves no wait: the softmax is computed beside the products.
// WAITS: {{^.*}}wgmma.wait_group.sync.aligned {{.*}}1;
// WAITS: ex2.approx
// WAITS: bra {{.*}}[[REST:.L_[_A-Z0-9]+]];
// WAITS-NEXT: bra.uni {{.*}}[[FAULT:.L_[_A-Z0-9]+]];
// WAITS-NEXT: [[REST]]:
// WAITS-NEXT: wgmma.wait_group.sync.aligned {{.*}}0;
// WAITS: [[FAULT]]:
// WAITS-NEXT: trap;

func.func @prefill(%q: tensor<2x40x1x3x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "k"},
                   %v: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "v"}, %p: tensor<2x40xi32> {graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<2x40x1x3x64xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.attention %q, %k, %v, %p scale = 1.250000e-01 : (tensor<2x40x1x3x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x40xi32>) -> tensor<2x40x1x3x64xbf16>
  return %y : tensor<2x40x1x3x64xbf16>
}

// Float32, one row, heads of 24: none.
func.func @others(%q: tensor<2x1x1x3x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "k"},
                  %v: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "v"}, %p: tensor<2x1xi32> {graph.kind = #graph.kind<input>, graph.name = "p"},
                  %q2: tensor<1x80x1x1x24xf16> {graph.kind = #graph.kind<input>, graph.name = "q2"}, %k2: tensor<1x80x1x24xf16> {graph.kind = #graph.kind<input>, graph.name = "k2"},
                  %v2: tensor<1x80x1x24xf16> {graph.kind = #graph.kind<input>, graph.name = "v2"}, %p2: tensor<1x80xi32> {graph.kind = #graph.kind<input>, graph.name = "p2"})
    -> (tensor<2x1x1x3x64xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<1x80x1x1x24xf16> {graph.kind = #graph.kind<output>, graph.name = "y2"}) {
  %y = graph.attention %q, %k, %v, %p scale = 1.250000e-01 : (tensor<2x1x1x3x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x1xi32>) -> tensor<2x1x1x3x64xbf16>
  %y2 = graph.attention %q2, %k2, %v2, %p2 scale = 1.250000e-01 : (tensor<1x80x1x1x24xf16>, tensor<1x80x1x24xf16>, tensor<1x80x1x24xf16>, tensor<1x80xi32>) -> tensor<1x80x1x1x24xf16>
  return %y, %y2 : tensor<2x1x1x3x64xbf16>, tensor<1x80x1x1x24xf16>
}
