// RUN: llm-opt %s --expand-math | FileCheck %s
// RUN: llm-opt %s --expand-math=native-bf16 | FileCheck %s --check-prefix=NATIVE

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

// Without instructions on bfloat16 nothing computes in it: LLVM would call a function that compiler libraries have only since GCC 13.
// CHECK-LABEL: func @brain
// CHECK-NOT: arith.{{(add|minimum|ext|trunc)}}f {{.*}}bf16
// CHECK: arith.minimumf %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}} : vector<4xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : vector<4xbf16> to vector<4xi16>
// CHECK: arith.extf %{{.*}} : vector<4xf32> to vector<4xf64>
// NATIVE-LABEL: func @brain
// NATIVE: arith.minimumf %{{.*}} : vector<4xbf16>
func.func @brain(%x: vector<4xbf16>, %y: vector<4xbf16>) -> vector<4xf64> attributes {tessera.kernel} {
  %a = arith.minimumf %x, %y : vector<4xbf16>
  %b = arith.addf %a, %y : vector<4xbf16>
  %c = arith.extf %b : vector<4xbf16> to vector<4xf64>
  return %c : vector<4xf64>
}

// A kernel may say so of itself: the ones that are written for a GPU's threads by hand.
// CHECK-LABEL: func @own_brain
// CHECK: arith.addf %{{.*}} : vector<4xbf16>
func.func @own_brain(%x: vector<4xbf16>) -> vector<4xbf16> attributes {tessera.kernel, tessera.native_bf16} {
  %a = arith.addf %x, %x : vector<4xbf16>
  return %a : vector<4xbf16>
}
