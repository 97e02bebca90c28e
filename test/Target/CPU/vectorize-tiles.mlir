// RUN: llm-opt %s --cpu-vectorize-tiles=lanes=16 --canonicalize --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Whole vectors in a loop, the remainder of 8 masked; what is constant along the row is computed once, as a scalar.
// CHECK-LABEL: func @scale
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<[true, true, true, true, true, true, true, true, false, {{.*}}]> : vector<16xi1>
// CHECK: %[[S:.*]] = memref.load %arg1[%c0] : memref<1xf32>
// CHECK: %[[R:.*]] = math.rsqrt %[[S]] : f32
// CHECK: scf.for %[[J:.*]] = %c0 to %c32 step %c16
// CHECK:   %[[X:.*]] = vector.load %arg0[%c0, %[[J]]]
// CHECK:   %[[V:.*]] = vector.broadcast %[[R]]
// CHECK:   arith.mulf %[[X]], %[[V]] : vector<16xf32>
// CHECK:   vector.store
// CHECK: vector.maskedload %arg0[%c0, %c32], %[[MASK]]
// CHECK: vector.maskedstore %arg2[%c0, %c32], %[[MASK]]
func.func @scale(%x: memref<1x40xf32>, %s: memref<1xf32>, %y: memref<1x40xf32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : memref<1x40xf32>, memref<1xf32>) outs(%y : memref<1x40xf32>) {
  ^bb0(%v: f32, %t: f32, %u: f32):
    %r = math.rsqrt %t : f32
    %z = arith.mulf %v, %r : f32
    linalg.yield %z : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Four partial sums, added up, reduced across lanes once and combined with what is in memory.
// CHECK-LABEL: func @sum
// CHECK: %[[P:.*]]:4 = scf.for {{.*}} step %c64 iter_args
// CHECK-COUNT-4: vector.load
// CHECK: arith.addf %[[P]]#0, %[[P]]#2
// CHECK: %[[T:.*]] = vector.reduction <add>, %{{.*}} fastmath<reassoc> : vector<16xf32> into f32
// CHECK: %[[OLD:.*]] = memref.load %arg1
// CHECK: arith.addf %[[T]], %[[OLD]] : f32
func.func @sum(%x: memref<1x256xf32>, %y: memref<1xf32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1x256xf32>) outs(%y : memref<1xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %z = arith.addf %acc, %v : f32
    linalg.yield %z : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// Columns are summed with the columns in the lanes: the accumulator stays in a register over the rows.
// CHECK-LABEL: func @columns
// CHECK: %[[START:.*]] = vector.load %arg1
// CHECK: %[[SUM:.*]] = scf.for {{.*}} to %c8 {{.*}} iter_args(%{{.*}} = %[[START]])
// CHECK-NOT: vector.store
// CHECK: }
// CHECK: vector.store %[[SUM]], %arg1
func.func @columns(%x: memref<8x16xf32>, %y: memref<16xf32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %z = arith.addf %acc, %v : f32
    linalg.yield %z : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// With what they are sums of made in the same loops they are added up in the same order: sums have the same bits whatever they are fused with.
// CHECK-LABEL: func @columns_of_what_is_made
// CHECK: %[[START:.*]] = vector.load %arg2
// CHECK: %[[SUM:.*]] = scf.for %[[R:.*]] = {{.*}} to %c8 {{.*}} iter_args(%[[ACC:.*]] = %[[START]])
// CHECK: %[[Z:.*]] = arith.mulf {{.*}} : vector<16xf32>
// CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[Z]]
// CHECK: vector.store %[[Z]], %arg1[%[[R]], %c0]
// CHECK: scf.yield %[[NEXT]]
// CHECK: vector.store %[[SUM]], %arg2
func.func @columns_of_what_is_made(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [#id, #id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%y, %s : memref<8x16xf32>, memref<16xf32>) {
  ^bb0(%v: f32, %out: f32, %acc: f32):
    %z = arith.mulf %v, %v : f32
    %t = arith.addf %acc, %z : f32
    linalg.yield %z, %t : f32, f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// Four vectors of columns go through the rows side by side: each row is read 256 bytes at a time, and no sum waits for the last one. The vector that is
// left goes alone.
// CHECK-LABEL: func @many_columns
// CHECK: scf.for %[[R:.*]] = %c0 to %c8 {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: vector.load %arg0[%[[R]]
// CHECK: scf.yield
// CHECK-COUNT-4: vector.store
// CHECK: scf.for {{.*}} -> (vector<16xf32>) {
// CHECK: vector.store
func.func @many_columns(%x: memref<8x80xf32>, %y: memref<80xf32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x80xf32>) outs(%y : memref<80xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %z = arith.addf %acc, %v : f32
    linalg.yield %z : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>

// Two outputs that depend on each other have no simple combiner: a scalar loop.
// CHECK-LABEL: func @argmax
// CHECK: scf.for
// CHECK-NOT: vector
// CHECK: return
func.func @argmax(%x: memref<40xf32>, %best: memref<f32>, %where: memref<i32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [#id, #all, #all], iterator_types = ["reduction"]}
      ins(%x : memref<40xf32>) outs(%best, %where : memref<f32>, memref<i32>) {
  ^bb0(%v: f32, %b: f32, %w: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %g = arith.cmpf ogt, %v, %b : f32
    %nb = arith.select %g, %v, %b : f32
    %nw = arith.select %g, %n, %w : i32
    linalg.yield %nb, %nw : f32, i32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// Division by a lane without data would trap: the remainder is a scalar loop.
// CHECK-LABEL: func @divide
// CHECK: arith.divsi %{{.*}} : vector<16xi32>
// CHECK: scf.for
// CHECK: arith.divsi %{{.*}} : i32
func.func @divide(%x: memref<21xi32>, %y: memref<21xi32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<21xi32>) outs(%y : memref<21xi32>) {
  ^bb0(%v: i32, %u: i32):
    %c = arith.constant 7 : i32
    %z = arith.divsi %c, %v : i32
    linalg.yield %z : i32
  }
  return
}

// -----

// A copy of a tile is a loop over vectors too, never a call.
// CHECK-LABEL: func @copy
// CHECK-NOT: memref.copy
// CHECK: vector.load
// CHECK: vector.store
func.func @copy(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {tessera.kernel} {
  memref.copy %x, %y : memref<4x64xf32> to memref<4x64xf32>
  return
}

// -----

// A sum over one column beside what it sums: the loop of one step is none, and the rest of the rows, which do not fill a vector, finds its own places.
// CHECK-LABEL: func @one_column
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[SUM:arg[0-9]+]][
// CHECK: memref.store %{{.*}}, %{{.*}}[%c39, %c0]
// CHECK: vector.maskedstore %[[SUM]][%c32]
func.func @one_column(%x: memref<40x1xf32>, %y: memref<40x1xf32>, %sum: memref<40xf32>) attributes {tessera.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<40x1xf32>) outs(%y, %sum : memref<40x1xf32>, memref<40xf32>) {
  ^bb0(%v: f32, %u: f32, %acc: f32):
    %e = math.exp %v : f32
    %t = arith.addf %acc, %e : f32
    linalg.yield %e, %t : f32, f32
  }
  return
}
