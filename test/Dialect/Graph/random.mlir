// Ops that draw print what they parse.
// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK-LABEL: func.func @drop
func.func @drop(%x: tensor<4x16x64xbf16>, %seed: tensor<i64>, %stream: tensor<i64>, %p: tensor<f32>) -> tensor<4x16x64xbf16> {
  %rows = graph.iota dim = 1 : tensor<4x16x1xi64>
  // CHECK: graph.random_key %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i64>, tensor<i64>, tensor<4x16x1xi64>) -> tensor<4x16x1xi64>
  %keys = graph.random_key %seed, %stream, %rows : (tensor<i64>, tensor<i64>, tensor<4x16x1xi64>) -> tensor<4x16x1xi64>
  %columns = graph.iota dim = 0 : tensor<64xi32>
  // CHECK: graph.dropout %{{.*}} keys %{{.*}} columns %{{.*}} probability %{{.*}} : (tensor<4x16x64xbf16>, tensor<4x16x1xi64>, tensor<64xi32>, tensor<f32>) -> tensor<4x16x64xbf16>
  %y = graph.dropout %x keys %keys columns %columns probability %p : (tensor<4x16x64xbf16>, tensor<4x16x1xi64>, tensor<64xi32>, tensor<f32>) -> tensor<4x16x64xbf16>
  // CHECK: graph.name %{{.*}} inner "y" drops : tensor<4x16x64xbf16>
  %z = graph.name %y inner "y" drops : tensor<4x16x64xbf16>
  return %z : tensor<4x16x64xbf16>
}

// CHECK-LABEL: func.func @attend
func.func @attend(%q: tensor<1x4x2x3x8xf32>, %k: tensor<1x4x2x8xf32>, %positions: tensor<1x4xi32>, %keys: tensor<1x4x2x3xi64>, %p: tensor<f32>,
    %lse: tensor<1x4x2x3xf32>) -> (tensor<1x4x2x3x8xf32>, tensor<1x4x2x3x8xf32>) {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} dropout %{{.*}}, %{{.*}} scale = 1.250000e-01 :
  %0 = graph.attention %q, %k, %k, %positions dropout %keys, %p scale = 0.125
      : (tensor<1x4x2x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4xi32>, tensor<1x4x2x3xi64>, tensor<f32>) -> tensor<1x4x2x3x8xf32>
  // CHECK: graph.attention_query_gradient {{.*}} dropout %{{.*}}, %{{.*}} scale = 1.250000e-01 :
  %1 = graph.attention_query_gradient %q, %k, %k, %positions, %0, %lse, %lse dropout %keys, %p scale = 0.125
      : (tensor<1x4x2x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4xi32>, tensor<1x4x2x3x8xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>,
         tensor<1x4x2x3xi64>, tensor<f32>) -> tensor<1x4x2x3x8xf32>
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale = 1.250000e-01 drops :
  %2 = graph.attention %q, %k, %k, %positions scale = 0.125 drops : (tensor<1x4x2x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4xi32>) -> tensor<1x4x2x3x8xf32>
  return %1, %2 : tensor<1x4x2x3x8xf32>, tensor<1x4x2x3x8xf32>
}
