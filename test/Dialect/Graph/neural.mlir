// Every layer op prints what it parses.
// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK-LABEL: func.func @layers
func.func @layers(%table: tensor<32x8xf32>, %ids: tensor<2x4xi32>, %w: tensor<3x5x8xf32>, %g: tensor<8xf32>) -> tensor<2x4x3x5xf32> {
  // CHECK: graph.embedding %{{.*}}, %{{.*}} : (tensor<32x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
  %0 = graph.embedding %table, %ids : (tensor<32x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
  // CHECK: graph.rms_norm %{{.*}}, %{{.*}} eps = 1.000000e-05 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %1 = graph.rms_norm %0, %g eps = 1.0e-5 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}}, %{{.*}} eps = 1.000000e-05
  %2 = graph.layer_norm %1, %g, %g eps = 1.0e-5 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK: graph.linear %{{.*}}, %{{.*}} contract = 1 : (tensor<2x4x8xf32>, tensor<3x5x8xf32>) -> tensor<2x4x3x5xf32>
  %3 = graph.linear %2, %w contract = 1 : (tensor<2x4x8xf32>, tensor<3x5x8xf32>) -> tensor<2x4x3x5xf32>
  // CHECK: graph.softmax %{{.*}} : tensor<2x4x3x5xf32>
  %4 = graph.softmax %3 : tensor<2x4x3x5xf32>
  return %4 : tensor<2x4x3x5xf32>
}

// CHECK-LABEL: func.func @attend
func.func @attend(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x4x2x8xf32>, %v: tensor<1x4x2x8xf32>, %positions: tensor<1x4xi32>,
    %cache: tensor<3x1x16x2x8xf32>, %layer: tensor<i32>) -> (tensor<1x4x2x3x8xf32>, tensor<3x1x16x2x8xf32>) {
  // CHECK: graph.rope half %{{.*}}, %{{.*}} frequencies = [1.000000e+00, 5.000000e-01] : (tensor<1x4x2x3x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  %0 = graph.rope half %q, %positions frequencies = [1.0, 0.5] : (tensor<1x4x2x3x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  // CHECK: graph.rope adjacent %{{.*}} {magnitude = 1.250000e+00 : f64}
  %1 = graph.rope adjacent %k, %positions frequencies = [1.0] {magnitude = 1.25} : (tensor<1x4x2x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x8xf32>
  // CHECK: graph.cache_update %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} : (tensor<3x1x16x2x8xf32>, tensor<1x4x2x8xf32>, tensor<i32>, tensor<1x4xi32>) -> tensor<3x1x16x2x8xf32>
  %2 = graph.cache_update %cache[%layer], %1, %positions : (tensor<3x1x16x2x8xf32>, tensor<1x4x2x8xf32>, tensor<i32>, tensor<1x4xi32>) -> tensor<3x1x16x2x8xf32>
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale = 1.250000e-01 {softcap = 5.000000e+01 : f64, window = 4 : i64} :
  %3 = graph.attention %0, %1, %v, %positions scale = 0.125 {window = 4 : i64, softcap = 50.0 : f64}
      : (tensor<1x4x2x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return %3, %2 : tensor<1x4x2x3x8xf32>, tensor<3x1x16x2x8xf32>
}

// CHECK-LABEL: func.func @pages
func.func @pages(%q: tensor<2x4x2x3x8xf32>, %kv: tensor<2x4x2x8xf32>, %cache: tensor<3x2x16x2x8xf32>, %layer: tensor<i32>, %positions: tensor<2x4xi32>, %table: tensor<2x4xi32>)
    -> (tensor<2x4x2x3x8xf32>, tensor<2x4x2x3xf32>) {
  // CHECK: graph.cache_update %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} pages %{{.*}} of 4 : (tensor<3x2x16x2x8xf32>, tensor<2x4x2x8xf32>, tensor<i32>, tensor<2x4xi32>, tensor<2x4xi32>)
  %c = graph.cache_update %cache[%layer], %kv, %positions pages %table of 4
      : (tensor<3x2x16x2x8xf32>, tensor<2x4x2x8xf32>, tensor<i32>, tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<3x2x16x2x8xf32>
  %k = graph.layer_slice %c[%layer] : (tensor<3x2x16x2x8xf32>, tensor<i32>) -> tensor<2x16x2x8xf32>
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} pages %{{.*}} of 4 scale = 1.250000e-01 {window = 4 : i64} :
  %y, %s = graph.attention %q, %k, %k, %positions pages %table of 4 scale = 0.125 {window = 4 : i64}
      : (tensor<2x4x2x3x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4x2x3x8xf32>, tensor<2x4x2x3xf32>)
  return %y, %s : tensor<2x4x2x3x8xf32>, tensor<2x4x2x3xf32>
}

// CHECK-LABEL: func.func @sinks
func.func @sinks(%q: tensor<2x4x2x3x8xbf16>, %k: tensor<2x16x2x8xbf16>, %positions: tensor<2x4xi32>, %table: tensor<2x4xi32>, %sinks: tensor<2x3xf32>) -> tensor<2x4x2x3x8xbf16> {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} pages %{{.*}} of 4 sinks %{{.*}} scale = 1.250000e-01 :
  %y = graph.attention %q, %k, %k, %positions pages %table of 4 sinks %sinks scale = 0.125
      : (tensor<2x4x2x3x8xbf16>, tensor<2x16x2x8xbf16>, tensor<2x16x2x8xbf16>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x3xf32>) -> tensor<2x4x2x3x8xbf16>
  return %y : tensor<2x4x2x3x8xbf16>
}

// CHECK-LABEL: func.func @ring
func.func @ring(%q: tensor<2x4x2x3x8xf32>, %kv: tensor<2x4x2x8xf32>, %cache: tensor<3x2x8x2x8xf32>, %layer: tensor<i32>, %positions: tensor<2x4xi32>) -> tensor<2x4x2x3x8xf32> {
  // CHECK: graph.cache_update %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} ring : (tensor<3x2x8x2x8xf32>, tensor<2x4x2x8xf32>, tensor<i32>, tensor<2x4xi32>)
  %c = graph.cache_update %cache[%layer], %kv, %positions ring : (tensor<3x2x8x2x8xf32>, tensor<2x4x2x8xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<3x2x8x2x8xf32>
  %k = graph.layer_slice %c[%layer] : (tensor<3x2x8x2x8xf32>, tensor<i32>) -> tensor<2x8x2x8xf32>
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} ring scale = 1.250000e-01 {window = 4 : i64} :
  %y = graph.attention %q, %k, %k, %positions ring scale = 0.125 {window = 4 : i64}
      : (tensor<2x4x2x3x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x4xi32>) -> tensor<2x4x2x3x8xf32>
  return %y : tensor<2x4x2x3x8xf32>
}

// CHECK-LABEL: func.func @products
func.func @products(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x5x2x8xbf16>, %a: tensor<3x4xf32>, %b: tensor<5xf32>) -> (tensor<1x4x2x3x5xf32>, tensor<3x5x4xf32>) {
  // CHECK: graph.einsum "bshgd,bchd->bshgc" %{{.*}}, %{{.*}} : (tensor<1x4x2x3x8xf32>, tensor<1x5x2x8xbf16>) -> tensor<1x4x2x3x5xf32>
  %0 = graph.einsum "bshgd,bchd->bshgc" %q, %k : (tensor<1x4x2x3x8xf32>, tensor<1x5x2x8xbf16>) -> tensor<1x4x2x3x5xf32>
  // CHECK: graph.einsum "ab,c->acb" %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<5xf32>) -> tensor<3x5x4xf32>
  %1 = graph.einsum "ab,c->acb" %a, %b : (tensor<3x4xf32>, tensor<5xf32>) -> tensor<3x5x4xf32>
  return %0, %1 : tensor<1x4x2x3x5xf32>, tensor<3x5x4xf32>
}

// CHECK-LABEL: func.func @choose
func.func @choose(%logits: tensor<2x32xf32>) -> tensor<2xi32> {
  // CHECK: graph.arg_max_key %{{.*}} : (tensor<2x32xf32>) -> tensor<2xi64>
  %0 = graph.arg_max_key %logits : (tensor<2x32xf32>) -> tensor<2xi64>
  // CHECK: graph.arg_max_index %{{.*}} : (tensor<2xi64>) -> tensor<2xi32>
  %1 = graph.arg_max_index %0 : (tensor<2xi64>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}

// CHECK-LABEL: func.func @train
func.func @train(%logits: tensor<2x5x32xbf16>, %labels: tensor<2x5xi32>, %rows: tensor<2x5x8xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>, tensor<32x8xf32>) {
  // CHECK: graph.cross_entropy %{{.*}}, %{{.*}} : (tensor<2x5x32xbf16>, tensor<2x5xi32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  %0, %1 = graph.cross_entropy %logits, %labels : (tensor<2x5x32xbf16>, tensor<2x5xi32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  // CHECK: graph.scatter_add %{{.*}}, %{{.*}} : (tensor<2x5x8xf32>, tensor<2x5xi32>) -> tensor<32x8xf32>
  %2 = graph.scatter_add %rows, %labels : (tensor<2x5x8xf32>, tensor<2x5xi32>) -> tensor<32x8xf32>
  return %0, %1, %2 : tensor<2x5xf32>, tensor<2x5xf32>, tensor<32x8xf32>
}

// CHECK-LABEL: func.func @draw
func.func @draw(%logits: tensor<2x3x32xbf16>, %rows: tensor<2x3xi32>, %seed: tensor<i64>, %k: tensor<i32>, %x: tensor<f64>) -> tensor<2x3xi32> {
  // CHECK: graph.draw %{{.*}}, %{{.*}}, %{{.*}} seed = %{{.*}} temperature = %{{.*}} top_k = %{{.*}} top_p = %{{.*}} min_p = %{{.*}} : (tensor<2x3x32xbf16>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<2x3xi32>
  %0 = graph.draw %logits, %rows, %rows seed = %seed temperature = %x top_k = %k top_p = %x min_p = %x
      : (tensor<2x3x32xbf16>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
