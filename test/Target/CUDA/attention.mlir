// Attention is one launch, whose blocks share the keys where rows are few; wider heads than a block can hold, and sinks, are written out.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels=target=cuda | FileCheck %s

// CHECK-LABEL: func.func @decode
// Four splits of two rows of the batch, and what each leaves: 3 rows of 64 elements with a maximum and a sum.
// CHECK: %[[SCRATCH:.*]] = tensor.empty() : tensor<1584xf32>
// CHECK: exec.launch @attention_2x1x1x3x64 ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x1x1x3x64xbf16>, tensor<2x512x1x64xbf16>, {{.*}}) outs(%{{.*}}, %[[SCRATCH]] : tensor<2x1x1x3x64xbf16>, tensor<1584xf32>) scalars(%{{.*}}) count = 8 grain = 1
// CHECK: func.func private @attention_2x1x1x3x64{{.*}}tessera.threads = 128
func.func @decode(%q: tensor<2x1x1x3x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "k"},
                  %v: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "v"}, %p: tensor<2x1xi32> {graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<2x1x1x3x64xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.attention %q, %k, %v, %p scale = 1.250000e-01 : (tensor<2x1x1x3x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x1xi32>) -> tensor<2x1x1x3x64xbf16>
  return %y : tensor<2x1x1x3x64xbf16>
}

// -----

// CHECK-LABEL: func.func @wide
// CHECK-NOT: exec.launch @attention
// CHECK: exec.launch
// CHECK-NOT: exec.launch @attention
func.func @wide(%q: tensor<1x1x1x1x512xf32> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<1x8x1x512xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
                %v: tensor<1x8x1x512xf32> {graph.kind = #graph.kind<input>, graph.name = "v"}, %p: tensor<1x1xi32> {graph.kind = #graph.kind<input>, graph.name = "p"})
    -> (tensor<1x1x1x1x512xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.attention %q, %k, %v, %p scale = 1.250000e-01 : (tensor<1x1x1x1x512xf32>, tensor<1x8x1x512xf32>, tensor<1x8x1x512xf32>, tensor<1x1xi32>) -> tensor<1x1x1x1x512xf32>
  return %y : tensor<1x1x1x1x512xf32>
}

// -----

// The kernel is given the table of pages, and so is its sibling.
// CHECK-LABEL: func.func @pages
// CHECK: exec.launch @attention_2x64x1x1x64 ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[TABLE:.*]] : {{.*}}, tensor<2x4xi32>) outs(
// CHECK-DAG: func.func private @attention_2x64x1x1x64({{.*}}tensor<2x4xi32>
// CHECK-DAG: func.func private @attention_2x64x1x1x64$wgmma({{.*}}tensor<2x4xi32>
func.func @pages(%q: tensor<2x64x1x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "k"},
                 %v: tensor<2x512x1x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "v"}, %p: tensor<2x64xi32> {graph.kind = #graph.kind<input>, graph.name = "p"},
                 %t: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "t"})
    -> (tensor<2x64x1x1x64xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.attention %q, %k, %v, %p pages %t of 128 scale = 1.250000e-01
      : (tensor<2x64x1x1x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x512x1x64xbf16>, tensor<2x64xi32>, tensor<2x4xi32>) -> tensor<2x64x1x1x64xbf16>
  return %y : tensor<2x64x1x1x64xbf16>
}

// -----

// A page that no tile of keys divides is none of the kernel's.
// CHECK-LABEL: func.func @odd_pages
// CHECK-NOT: exec.launch @attention
// CHECK: exec.launch
// CHECK-NOT: exec.launch @attention
func.func @odd_pages(%q: tensor<1x1x1x1x16xf32> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<1x12x1x16xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
                     %p: tensor<1x1xi32> {graph.kind = #graph.kind<input>, graph.name = "p"}, %t: tensor<1x4xi32> {graph.kind = #graph.kind<input>, graph.name = "t"})
    -> (tensor<1x1x1x1x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.attention %q, %k, %k, %p pages %t of 3 scale = 1.250000e-01 : (tensor<1x1x1x1x16xf32>, tensor<1x12x1x16xf32>, tensor<1x12x1x16xf32>, tensor<1x1xi32>, tensor<1x4xi32>) -> tensor<1x1x1x1x16xf32>
  return %y : tensor<1x1x1x1x16xf32>
}

// -----

// CHECK-LABEL: func.func @sinks
// CHECK-NOT: exec.launch @attention
// CHECK: exec.launch
// CHECK-NOT: exec.launch @attention
func.func @sinks(%q: tensor<1x1x1x2x64xf32> {graph.kind = #graph.kind<input>, graph.name = "q"}, %k: tensor<1x32x1x64xf32> {graph.kind = #graph.kind<input>, graph.name = "k"},
                 %p: tensor<1x1xi32> {graph.kind = #graph.kind<input>, graph.name = "p"}, %s: tensor<1x2xf32> {graph.kind = #graph.kind<input>, graph.name = "s"})
    -> (tensor<1x1x1x2x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.attention %q, %k, %k, %p sinks %s scale = 1.250000e-01 : (tensor<1x1x1x2x64xf32>, tensor<1x32x1x64xf32>, tensor<1x32x1x64xf32>, tensor<1x1xi32>, tensor<1x2xf32>) -> tensor<1x1x1x2x64xf32>
  return %y : tensor<1x1x1x2x64xf32>
}
