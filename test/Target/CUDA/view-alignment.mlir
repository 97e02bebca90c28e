// A part of a row is aligned like the row: rows of 10 elements lie at multiples of 8 bytes, though the array is aligned to 64 and the part has 8 elements.
// RUN: llm-opt %s --cuda-distribute-tiles --canonicalize | FileCheck %s

#row = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func private @part_of_a_row
// CHECK: vector.load {{.*}}alignment = 8 {{.*}}vector<2xf32>
// CHECK-NOT: vector<4xf32>
// CHECK: return
func.func private @part_of_a_row(%x: memref<4x10xf32> {tessera.align = 64 : i64}, %y: memref<8xf32> {tessera.align = 64 : i64, tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %row = memref.subview %x[%begin, 0] [1, 8] [1, 1] : memref<4x10xf32> to memref<8xf32, strided<[1], offset: ?>>
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%row : memref<8xf32, strided<[1], offset: ?>>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// The second row, said by a number.
// CHECK-LABEL: func.func private @part_of_the_second_row
// CHECK: vector.load {{.*}}alignment = 8 {{.*}}vector<2xf32>
// CHECK-NOT: vector<4xf32>
// CHECK: return
func.func private @part_of_the_second_row(%x: memref<4x10xf32> {tessera.align = 64 : i64}, %y: memref<8xf32> {tessera.align = 64 : i64, tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %row = memref.subview %x[1, 0] [1, 8] [1, 1] : memref<4x10xf32> to memref<8xf32, strided<[1], offset: 10>>
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%row : memref<8xf32, strided<[1], offset: 10>>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
