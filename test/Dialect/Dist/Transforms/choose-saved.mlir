// RUN: llm-opt %s --dist-choose-saved=bytes=1024 | FileCheck %s --check-prefix=MUCH
// RUN: llm-opt %s --dist-choose-saved=bytes=1023 | FileCheck %s --check-prefix=LITTLE
// RUN: llm-opt %s --dist-choose-saved=bytes=256 --remarks-filter=dist --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not llm-opt %s --dist-choose-saved=bytes=255 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: llm-opt %s --dist-choose-saved="bytes=0 keep=true" | FileCheck %s --check-prefix=MUCH

// NOTHING: error: loops cannot save so little (bytes=255): at least 256 bytes are needed
// REMARK: memory {{.*}}backward of the loop over 4 layers reads 64 bytes a layer that forward saves: carried#0; made again: y

// With room for y nothing runs twice.
// MUCH-LABEL: func.func @step
// MUCH: graph.repeat 4 carry({{.*}} -> (tensor<2x8xf32>, tensor<4x2x32xf32>) attributes {graph.saved = ["y"]}
// MUCH: graph.repeat 4 reverse carry(%{{.*}}) stack(%{{.*}}#1 :
// MUCH-NOT: graph.linear
// MUCH: return

// Without, the carried value is saved, which is smaller, and the product runs in backward too, from a layer of a weight that backward did not read before.
// LITTLE-LABEL: func.func @step
// LITTLE: graph.repeat 4 carry({{.*}} -> (tensor<2x8xf32>, tensor<4x2x8xf32>) attributes {graph.saved = ["carried#0"]}
// LITTLE: ^bb0(%{{.*}}: tensor<i32>, %[[H:.*]]: tensor<2x8xf32>, %{{.*}}: tensor<32x8xf32>
// LITTLE: graph.yield %{{.*}}, %[[H]]
// LITTLE: graph.repeat 4 reverse carry(%{{.*}}) stack(%{{.*}}#1, %arg1 :
// LITTLE: ^bb0(%{{.*}}: tensor<i32>, %[[G:.*]]: tensor<2x8xf32>, %[[SAVED:.*]]: tensor<2x8xf32>, %[[U:.*]]: tensor<32x8xf32>):
// LITTLE-NEXT: %[[Y:.*]] = graph.linear %[[SAVED]], %[[U]]
// LITTLE-NEXT: graph.reduce sum %[[Y]]
// LITTLE: return
func.func @step(%x: tensor<2x8xf32>, %u: tensor<4x32x8xf32>, %d: tensor<4x8x32xf32>) -> tensor<2x8xf32> {
  %f:2 = graph.repeat 4 carry(%x : tensor<2x8xf32>) stack(%u, %d : tensor<4x32x8xf32>, tensor<4x8x32xf32>)
      -> (tensor<2x8xf32>, tensor<4x2x32xf32>) attributes {graph.saved = ["y"]} {
  ^bb0(%i: tensor<i32>, %h: tensor<2x8xf32>, %ui: tensor<32x8xf32>, %di: tensor<8x32xf32>):
    %y = graph.linear %h, %ui contract = 1 : (tensor<2x8xf32>, tensor<32x8xf32>) -> tensor<2x32xf32>
    %z = graph.linear %y, %di contract = 1 : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    graph.yield %z, %y : tensor<2x8xf32>, tensor<2x32xf32>
  }
  %b = graph.repeat 4 reverse carry(%f#0 : tensor<2x8xf32>) stack(%f#1 : tensor<4x2x32xf32>) -> (tensor<2x8xf32>) {
  ^bb0(%i: tensor<i32>, %g: tensor<2x8xf32>, %y: tensor<2x32xf32>):
    %s = graph.reduce sum %y dims = [1] : (tensor<2x32xf32>) -> tensor<2xf32>
    %r = graph.reshape %s : (tensor<2xf32>) -> tensor<2x1xf32>
    %q = graph.mul %g, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
    graph.yield %q : tensor<2x8xf32>
  }
  return %b : tensor<2x8xf32>
}
