// RUN: llm-opt %s --cpu-expand-math | FileCheck %s

// CHECK-LABEL: func @functions
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK-NOT: math.erf
// CHECK: math.fma
// CHECK: math.sqrt
func.func @functions(%x: vector<16xf32>) -> vector<16xf32> attributes {tessera.kernel} {
  %a = math.exp %x : vector<16xf32>
  %b = math.tanh %a : vector<16xf32>
  %c = math.erf %b : vector<16xf32>
  %d = math.sqrt %c : vector<16xf32>
  return %d : vector<16xf32>
}

// The argument of a sine is reduced in float64.
// CHECK-LABEL: func @sine
// CHECK: %[[WIDE:.*]] = arith.extf %arg0 : vector<16xf32> to vector<16xf64>
// CHECK: math.roundeven %{{.*}} : vector<16xf64>
// CHECK-COUNT-2: math.fma %{{.*}} : vector<16xf64>
// CHECK-NOT: math.sin
// CHECK: return
func.func @sine(%x: vector<16xf32>) -> vector<16xf32> attributes {tessera.kernel} {
  %a = math.sin %x : vector<16xf32>
  return %a : vector<16xf32>
}

// Half precision is storage: computed in float32.
// CHECK-LABEL: func @half
// CHECK: arith.extf %arg0 : vector<16xf16> to vector<16xf32>
// CHECK-NOT: math.exp
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
func.func @half(%x: vector<16xf16>) -> vector<16xf16> attributes {tessera.kernel} {
  %a = math.exp %x : vector<16xf16>
  return %a : vector<16xf16>
}

// float64 is rounded once: by way of a float32 that is odd where it is not exact.
// CHECK-LABEL: func @narrow
// CHECK: arith.truncf %arg0 : vector<4xf64> to vector<4xf32>
// CHECK: %[[ODD:.*]] = arith.ori
// CHECK: arith.select %{{.*}}, %[[ODD]]
// CHECK-NOT: f64 to vector<4xbf16>
// CHECK: return
func.func @narrow(%x: vector<4xf64>) -> vector<4xbf16> attributes {tessera.kernel} {
  %a = arith.truncf %x : vector<4xf64> to vector<4xbf16>
  return %a : vector<4xbf16>
}
