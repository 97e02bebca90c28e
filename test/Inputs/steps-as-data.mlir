// A program of rung exec, written by hand, for ranks on a mesh of 2 x 2. An entry each for ranks that update a variable and
// for those that multiply by it: meanwhile both sum up over two groups, each in an order of its own, and exchange a message;
// what came goes into a state once it has been waited for. Run by test/unit/Execute/StepsAsDataTest.cpp.
// Arena: sum 0, a 64, b 128, x 192, delta 256, over_x 768, over_y 832, came 896, y 960, scratch 1088, sent 1600.
#row = affine_map<(i) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
module attributes {exec.arena_bytes = 1664 : i64, exec.states = [{name = "sum", offset = 0 : i64, type = tensor<16xf32>, clear = #graph.clear<before_prompts>}]} {
  dist.mesh @mesh = <["x"=2, "y"=2]>
  graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}

  func.func private @add(%a: tensor<16x8xf32>, %b: tensor<16x8xf32>, %out: tensor<16x8xf32>, %begin: index, %end: index) -> tensor<16x8xf32> attributes {tessera.kernel} {
    %e = tensor.empty() : tensor<16x8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16x8xf32>
    %r = tensor.insert_slice %s into %out[0, 0] [16, 8] [1, 1] : tensor<16x8xf32> into tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }
  func.func private @accumulate(%a: tensor<16xf32>, %out: tensor<16xf32>, %begin: index, %end: index) -> tensor<16xf32> attributes {tessera.kernel} {
    %e = tensor.empty() : tensor<16xf32>
    %s = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]} ins(%a, %out : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    %r = tensor.insert_slice %s into %out[0] [16] [1] : tensor<16xf32> into tensor<16xf32>
    return %r : tensor<16xf32>
  }

  // w += delta as often as the call says, its packed form made again; meanwhile x before y.
  func.func @update_x_first() attributes {exec.entry, exec.returns = ["sum"],
      exec.inputs = [{name = "a", offset = 64 : i64, type = tensor<16xf32>}, {name = "b", offset = 128 : i64, type = tensor<16xf32>}, {name = "delta", offset = 256 : i64, type = tensor<16x8xf32>}],
      exec.outputs = [{name = "over_x", offset = 768 : i64, type = tensor<16xf32>}, {name = "over_y", offset = 832 : i64, type = tensor<16xf32>}, {name = "came", offset = 896 : i64, type = tensor<16xf32>}]} {
    %sum = exec.buffer at 0 : memref<16xf32>
    %a = exec.buffer at 64 : memref<16xf32>
    %b = exec.buffer at 128 : memref<16xf32>
    %delta = exec.buffer at 256 : memref<16x8xf32>
    %over_x = exec.buffer at 768 : memref<16xf32>
    %over_y = exec.buffer at 832 : memref<16xf32>
    %came = exec.buffer at 896 : memref<16xf32>
    %scratch = exec.buffer at 1088 : memref<16x8xf32>
    %sent = exec.buffer at 1600 : memref<16xf32>
    %w = exec.param @w : memref<16x8xf32>
    %self = exec.group_index [#dist.axis_ref<"x">]
    %other = exec.index_offset %self, 1 reverse
    exec.copy %a to %sent : memref<16xf32>, memref<16xf32>
    %t = exec.collective_start all_reduce sum over [#dist.axis_ref<"x">] ins(%a : memref<16xf32>) outs(%over_x : memref<16xf32>)
    %u = exec.collective_start all_reduce sum over [#dist.axis_ref<"y">] ins(%b : memref<16xf32>) outs(%over_y : memref<16xf32>)
    %s = exec.send %sent to %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    exec.for %i = call[0] in 0 to 4 step 1 {
      exec.launch @add ins(%w, %delta : memref<16x8xf32>, memref<16x8xf32>) outs(%scratch : memref<16x8xf32>) count = 1 grain = 1 modes(write)
      exec.copy %scratch to %w : memref<16x8xf32>, memref<16x8xf32>
    }
    exec.pack @w
    %r = exec.receive %came from %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    exec.wait %r
    exec.launch @accumulate ins(%came : memref<16xf32>) outs(%sum : memref<16xf32>) count = 1 grain = 1 modes(update)
    exec.wait %t
    exec.launch @accumulate ins(%over_x : memref<16xf32>) outs(%sum : memref<16xf32>) count = 1 grain = 1 modes(update)
    exec.wait %u
    exec.launch @accumulate ins(%over_y : memref<16xf32>) outs(%sum : memref<16xf32>) count = 1 grain = 1 modes(update)
    exec.wait %s
    exec.copy %b to %sent : memref<16xf32>, memref<16xf32>
    return
  }
  // y = x . w^T beside the same sums and message, y before x.
  func.func @apply_y_first() attributes {exec.entry, exec.returns = ["sum"],
      exec.inputs = [{name = "a", offset = 64 : i64, type = tensor<16xf32>}, {name = "b", offset = 128 : i64, type = tensor<16xf32>}, {name = "x", offset = 192 : i64, type = tensor<2x8xf32>}],
      exec.outputs = [{name = "over_x", offset = 768 : i64, type = tensor<16xf32>}, {name = "over_y", offset = 832 : i64, type = tensor<16xf32>}, {name = "came", offset = 896 : i64, type = tensor<16xf32>}, {name = "y", offset = 960 : i64, type = tensor<2x16xf32>}]} {
    %sum = exec.buffer at 0 : memref<16xf32>
    %a = exec.buffer at 64 : memref<16xf32>
    %b = exec.buffer at 128 : memref<16xf32>
    %x = exec.buffer at 192 : memref<2x8xf32>
    %over_x = exec.buffer at 768 : memref<16xf32>
    %over_y = exec.buffer at 832 : memref<16xf32>
    %came = exec.buffer at 896 : memref<16xf32>
    %y = exec.buffer at 960 : memref<2x16xf32>
    %sent = exec.buffer at 1600 : memref<16xf32>
    %self = exec.group_index [#dist.axis_ref<"x">]
    %other = exec.index_offset %self, 1 reverse
    exec.copy %a to %sent : memref<16xf32>, memref<16xf32>
    %r = exec.receive %came from %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    %u = exec.collective_start all_reduce sum over [#dist.axis_ref<"y">] ins(%b : memref<16xf32>) outs(%over_y : memref<16xf32>)
    %t = exec.collective_start all_reduce sum over [#dist.axis_ref<"x">] ins(%a : memref<16xf32>) outs(%over_x : memref<16xf32>)
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    exec.wait %u
    exec.launch @accumulate ins(%over_y : memref<16xf32>) outs(%sum : memref<16xf32>) count = 1 grain = 1 modes(update)
    %s = exec.send %sent to %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    exec.wait %t
    exec.launch @accumulate ins(%over_x : memref<16xf32>) outs(%sum : memref<16xf32>) count = 1 grain = 1 modes(update)
    exec.wait %s
    exec.copy %b to %sent : memref<16xf32>, memref<16xf32>
    exec.wait %r
    exec.launch @accumulate ins(%came : memref<16xf32>) outs(%sum : memref<16xf32>) count = 1 grain = 1 modes(update)
    return
  }
  func.func @apply() attributes {exec.entry, exec.inputs = [{name = "x", offset = 192 : i64, type = tensor<2x8xf32>}], exec.outputs = [{name = "y", offset = 960 : i64, type = tensor<2x16xf32>}]} {
    %x = exec.buffer at 192 : memref<2x8xf32>
    %y = exec.buffer at 960 : memref<2x16xf32>
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    return
  }
}
