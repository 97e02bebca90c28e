// How loops carry values, and keep them in stacks: small loops that tell what is tried, and what is weighed, from what is not.
// RUN: llm-opt %s --split-input-file --dist-propagate --dist-insert-reshards --remarks-filter=dist --remark-format=emitRemark -o /dev/null 2>&1 | grep -E "Passed. (carried|stack)" | FileCheck %s
// RUN: llm-opt %s --split-input-file --dist-propagate --dist-insert-reshards | FileCheck %s --check-prefix=TYPES

// Rows over x and y, of which softmax has all: pieces go there before the loop, and back behind it. Two results are one value, which goes back once.
// CHECK: repeat carries value #0 as [x,y/-], not [x/y]: {{.*}} in wanted_twice"
!x = tensor<64x8xf32>
dist.mesh @mesh = <["x"=8, "y"=4]>
func.func @wanted_twice(%x: !x {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) -> (!x, !x) {
  %r = graph.repeat 2 carry(%x : !x) -> (!x) {
  ^bb0(%i: tensor<i32>, %h: !x):
    %s = graph.softmax %h : !x
    graph.yield %s : !x
  }
  return %r, %r : !x, !x
}

// -----

// Nothing is won for a loop of one layer: what comes in is moved, before the loop or in it, and so is what goes out.
// CHECK-NOT: in around"
// TYPES-LABEL: func.func @around
// TYPES: graph.repeat 1 carry(%arg0 : tensor<4x32xf32, #dist.sharding<@mesh, [{}, {"y"}]>>)
!x = tensor<4x32xf32>
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @around(%x: !x {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) -> !x {
  %r = graph.repeat 1 carry(%x : !x) -> (!x) {
  ^bb0(%i: tensor<i32>, %h: !x):
    %s = graph.softmax %h : !x
    graph.yield %s : !x
  }
  return %r : !x
}

// -----

// What the caller gives gets no more axes, which its other end would have to be gathered over: here z.
// CHECK-NOT: in given"
// TYPES-LABEL: func.func @given
// TYPES: graph.repeat 2 carry(%arg0, %arg0 : tensor<4x16xbf16, #dist.sharding<@mesh, [{"x"}, {"w"}]>>, tensor<4x16xbf16, #dist.sharding<@mesh, [{"x"}, {"w"}]>>)
!x = tensor<4x16xbf16>
!w = tensor<16x16xbf16>
dist.mesh @mesh = <["x"=2, "y"=4, "z"=2, "w"=2]>
func.func @given(%x: !x {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"w"}]>}, %a: !w, %b: !w) -> (!x, !x {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"w"}]>}) {
  %r:2 = graph.repeat 2 carry(%x, %x : !x, !x) -> (!x, !x) {
  ^bb0(%i: tensor<i32>, %h: !x, %k: !x):
    %u = graph.linear %h, %a contract = 1 : (!x, !w) -> !x
    %o = graph.linear %u, %b contract = 1 : (!x, !w) -> !x
    graph.yield %o, %k : !x, !x
  }
  return %r#0, %r#1 : !x, !x
}

// -----

// Rows are cut over y and z. Two values of the same shape stay: the first lies as somebody wishes, the last lay otherwise before.
// CHECK-NOT: value #0{{.*}} in alike"
// CHECK: repeat carries value #1 as [y,z/x], not [-/x]: {{.*}} in alike"
// CHECK-NOT: value #2{{.*}} in alike"
!x = tensor<64x32xf32>
!w = tensor<32x32xf32>
dist.mesh @mesh = <["x"=4, "y"=4, "z"=2]>
func.func @alike(%k: !x, %x: !x, %z: !x, %w: !w) -> (!x, !x, !x) {
  %e = graph.tanh %x : !x
  %r:3 = graph.repeat 6 carry(%k, %e, %z : !x, !x, !x) -> (!x, !x, !x) {
  ^bb0(%i: tensor<i32>, %c: !x, %h: !x, %a: !x):
    %u = graph.linear %h, %w contract = 1 : (!x, !w) -> !x
    %o = graph.add %u, %c : (!x, !x) -> !x
    %n = dist.constraint %c <@mesh, [{}, {"x"}]> : !x
    graph.yield %n, %o, %a : !x, !x, !x
  }
  return %r#0, %r#1, %r#2 : !x, !x, !x
}

// -----

// Rows over x are worth it if the stack, too, has them.
// CHECK: repeat returns result #1 as [-/x/-], not [-/-/-]: {{.*}} in with_stack"
// CHECK: repeat carries value #0 as [x/-], not [-/-]: {{.*}} in with_stack"
// CHECK: repeat carries value #0 as [x/-], not [-/-]: {{.*}} in with_stack"
!x = tensor<16x8xf32>
!xs = tensor<6x16x8xf32>
!u = tensor<16x64xf32>
!up = tensor<64x8xf32>
!down = tensor<8x64xf32>
dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @with_stack(%x: !x, %up: !up {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %down: !down) -> !x {
  %f:2 = graph.repeat 6 carry(%x : !x) -> (!x, !xs) {
  ^bb0(%i: tensor<i32>, %h: !x):
    %u = graph.linear %h, %up contract = 1 : (!x, !up) -> !u
    %o = graph.linear %u, %down contract = 1 : (!u, !down) -> !x
    graph.yield %o, %h : !x, !x
  }
  %b = graph.repeat 6 carry(%f#0 : !x) stack(%f#1 : !xs) -> (!x) {
  ^bb0(%i: tensor<i32>, %d: !x, %h: !x):
    graph.yield %d : !x
  }
  return %b : !x
}

// -----

// Near what is free no more is tried: rows over x and y would be in the way of what is best, pieces of hidden over x. Both times are of all that is offered.
// CHECK: repeat returns result #1 as [-/y/-/x], not [-/-/-/x,y]: with all that read it 376.{{[0-9]*}} us, not 379.{{[0-9]*}} us, in near_the_bound"
// CHECK: repeat carries value #0 as [y/-/x], not [-/-/x,y]: {{.*}} in near_the_bound"
// CHECK: repeat carries value #0 as [y/-/x], not [-/-/x,y]: {{.*}} in near_the_bound"
!x = tensor<64x4x64xbf16>
!xs = tensor<2x64x4x64xbf16>
!u = tensor<64x4x256xbf16>
!up = tensor<256x64xbf16>
!down = tensor<64x256xbf16>
dist.mesh @mesh = <["x"=2, "y"=2, "z"=4, "w"=2]>
func.func @near_the_bound(%x: !x, %up: !up {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>}, %down: !down) -> !x {
  %f:2 = graph.repeat 2 carry(%x : !x) -> (!x, !xs) {
  ^bb0(%i: tensor<i32>, %h: !x):
    %s = graph.softmax %h : !x
    graph.yield %s, %h : !x, !x
  }
  %b = graph.repeat 2 carry(%f#0 : !x) stack(%f#1 : !xs) -> (!x) {
  ^bb0(%i: tensor<i32>, %d: !x, %h: !x):
    %m = graph.mul %d, %h : (!x, !x) -> !x
    %u = graph.linear %m, %up contract = 1 : (!x, !up) -> !u
    %o = graph.linear %u, %down contract = 1 : (!u, !down) -> !x
    graph.yield %o : !x
  }
  return %b : !x
}

// -----

// What begins as zeros gets no more axes: whatever is added up in it may stay open as a sum.
// CHECK-NOT: in zeros"
// TYPES-LABEL: func.func @zeros
// TYPES: graph.repeat 1 carry({{.*}}, tensor<8x32xbf16, #dist.sharding<@mesh, [{}, {}]>>) ->
!x = tensor<32x32xbf16>
!up = tensor<8x32xbf16>
!down = tensor<32x8xbf16>
dist.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @zeros(%x: !x, %y: !x, %up: !up, %down: !down) -> (!x, !x {dist.sharding = #dist.sharding<@mesh, [{}, {"z"}]>}, !up) {
  %zero = graph.constant dense<0.0> : !up : !up
  %r:3 = graph.repeat 1 carry(%x, %y, %zero : !x, !x, !up) -> (!x, !x, !up) {
  ^bb0(%i: tensor<i32>, %h: !x, %k: !x, %sum: !up):
    %u = graph.linear %h, %up contract = 1 : (!x, !up) -> !down
    %o = graph.linear %u, %down contract = 1 : (!down, !down) -> !x
    %u1 = graph.linear %k, %up contract = 1 : (!x, !up) -> !down
    %o1 = graph.linear %u1, %down contract = 1 : (!down, !down) -> !x
    %u2 = graph.linear %h, %up contract = 1 : (!x, !up) -> !down
    %t = graph.transpose %u2 [1, 0] : (!down) -> !up
    %dw = graph.linear %t, %h contract = 1 : (!up, !x) -> !up
    graph.yield %o, %o1, %dw : !x, !x, !up
  }
  return %r#0, %r#1, %r#2 : !x, !x, !up
}

// -----

// Of four axes that all lie somewhere there are more ways to move one than are tried: z stays with x and y.
// CHECK: repeat carries value #0 as [-/w/x,y,z], not [-/-/x,y,z,w]: {{.*}} in many_axes"
// CHECK: repeat carries value #1 as [-/w/x,y,z], not [x/w/z]: {{.*}} in many_axes"
!x = tensor<4x4x16xf32>
!u = tensor<4x4x64xf32>
!up = tensor<64x16xf32>
!down = tensor<16x64xf32>
dist.mesh @mesh = <["x"=2, "y"=2, "z"=2, "w"=2]>
func.func @many_axes(%x: !x {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x", "y", "z", "w"}]>}, %y: !x, %up: !up, %down: !down {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (!x, !x {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"w"}, {"z"}]>}) {
  %r:2 = graph.repeat 2 carry(%x, %y : !x, !x) -> (!x, !x) {
  ^bb0(%i: tensor<i32>, %h: !x, %k: !x):
    %u = graph.linear %h, %up contract = 1 : (!x, !up) -> !u
    %a = graph.exp %u : !u
    %o = graph.linear %a, %down contract = 1 : (!u, !down) -> !x
    %n = graph.add %k, %k : (!x, !x) -> !x
    graph.yield %n, %o : !x, !x
  }
  return %r#0, %r#1 : !x, !x
}

// -----

// What a loop takes is known after each change: a stack that lies otherwise, alone, would not be kept for itself once all does.
// CHECK: repeat returns result #2 as [-/x/y/-], not [-/x,y/-/-]: {{.*}} in as_they_are"
// CHECK: repeat carries value #0 as [x/y/-], not [x,y/-/-]: {{.*}} in as_they_are"
// CHECK: repeat carries value #0 as [x/y/-], not [-/y/-]: {{.*}} in as_they_are"
!x = tensor<32x16x8xbf16>
!xs = tensor<1x32x16x8xbf16>
!w = tensor<256x8xbf16>
!u = tensor<32x16x256xbf16>
!ut = tensor<256x32x16xbf16>
!xt = tensor<8x32x16xbf16>
dist.mesh @mesh = <["x"=8, "y"=8]>
func.func @as_they_are(%x: !x {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}, {}]>}, %y: !x, %w: !w) -> (!x, !w, !x) {
  %f:3 = graph.repeat 1 carry(%x, %w : !x, !w) -> (!x, !w, !xs) {
  ^bb0(%i: tensor<i32>, %h: !x, %v: !w):
    %s = graph.softmax %h : !x
    %u = graph.linear %h, %w contract = 1 : (!x, !w) -> !u
    %ut = graph.transpose %u [2, 0, 1] : (!u) -> !ut
    %ht = graph.transpose %h [2, 0, 1] : (!x) -> !xt
    %dw = graph.linear %ut, %ht contract = 2 : (!ut, !xt) -> !w
    graph.yield %s, %dw, %s : !x, !w, !x
  }
  %c = dist.constraint %y <@mesh, [{}, {"y"}, {}]> : !x
  %b = graph.repeat 1 carry(%c : !x) stack(%f#2 : !xs) -> (!x) {
  ^bb0(%i: tensor<i32>, %d: !x, %h: !x):
    %m = graph.mul %d, %h : (!x, !x) -> !x
    graph.yield %m : !x
  }
  return %b, %f#1, %b : !x, !w, !x
}

// -----

// Messages of each iteration count. Where they cost most, pieces that no body would choose send as few.
// CHECK: repeat carries value #0 as [z,y/-], not [z/y]: {{.*}} in messages"
!x = tensor<16x8xf32>
module attributes {dist.machine = "{\"flops\": 1e13, \"memory_bandwidth\": 1e11, \"link\": {\"latency\": 1e-7, \"bandwidth\": 1e10}}"} {
  dist.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func @messages(%x: !x) -> (!x {dist.sharding = #dist.sharding<@mesh, [{"z"}, {"y"}]>}) {
    %r = graph.repeat 2 carry(%x : !x) -> (!x) {
    ^bb0(%i: tensor<i32>, %h: !x):
      %s = graph.softmax %h : !x
      graph.yield %s : !x
    }
    return %r : !x
  }
}

// -----

// What was tried at last, and is no less where all is offered, is left again: what is said of the stack is what it takes then.
// CHECK: repeat returns result #2 as [-/y/x], not [-/x/-]: with all that read it 39.{{[0-9]*}} us, not 49.{{[0-9]*}} us, in not_moved"
!x = tensor<64x64xf32>
!xs = tensor<3x64x64xf32>
!up = tensor<16x64xf32>
!down = tensor<64x16xf32>
dist.mesh @mesh = <["x"=2, "y"=8]>
func.func @not_moved(%x: !x {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %y: !x, %up: !up, %down: !down) -> (!x {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}, !up) {
  %zero = graph.constant dense<0.0> : !up : !up
  %f:3 = graph.repeat 3 carry(%x, %zero : !x, !up) -> (!x, !up, !xs) {
  ^bb0(%i: tensor<i32>, %h: !x, %sum: !up):
    %s = graph.softmax %h : !x
    %u = graph.linear %h, %up contract = 1 : (!x, !up) -> !down
    %ut = graph.transpose %u [1, 0] : (!down) -> !up
    %ht = graph.transpose %h [1, 0] : (!x) -> !x
    %dw = graph.linear %ut, %ht contract = 1 : (!up, !x) -> !up
    %more = graph.add %sum, %dw : (!up, !up) -> !up
    graph.yield %s, %more, %s : !x, !up, !x
  }
  %b:2 = graph.repeat 3 reverse carry(%y, %f#1 : !x, !up) stack(%f#2 : !xs) -> (!x, !up) {
  ^bb0(%i: tensor<i32>, %d: !x, %sum: !up, %h: !x):
    %u = graph.linear %d, %up contract = 1 : (!x, !up) -> !down
    %o = graph.linear %u, %down contract = 1 : (!down, !down) -> !x
    %dt = graph.transpose %d [1, 0] : (!x) -> !x
    %v = graph.linear %h, %up contract = 1 : (!x, !up) -> !down
    %vt = graph.transpose %v [1, 0] : (!down) -> !up
    %dw = graph.linear %vt, %dt contract = 1 : (!up, !x) -> !up
    graph.yield %o, %dw : !x, !up
  }
  return %b#0, %b#1 : !x, !up
}

// -----

// By what is hinted pieces over y and z would take less, as in the stack; with all that is offered they do not, and rows stay rows.
// CHECK-NOT: result {{.*}} in otherwise"
// CHECK: repeat carries value #0 as [y,z/-], not [-/y,z]: {{.*}} in otherwise"
// CHECK-NOT: in otherwise"
!x = tensor<8x128xf32>
!xs = tensor<3x8x128xf32>
!u = tensor<8x8xf32>
!down = tensor<128x8xf32>
dist.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
func.func @otherwise(%x: !x, %y: !x, %up: !x {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, %down: !down) -> (!x, !x {dist.sharding = #dist.sharding<@mesh, [{}, {"y", "z"}]>}) {
  %f:2 = graph.repeat 3 carry(%x : !x) -> (!x, !xs) {
  ^bb0(%i: tensor<i32>, %h: !x):
    %u = graph.linear %h, %up contract = 1 : (!x, !x) -> !u
    %o = graph.linear %u, %down contract = 1 : (!u, !down) -> !x
    %n = dist.constraint %o <@mesh, [{"y", "z"}, {}]> : !x
    graph.yield %n, %o : !x, !x
  }
  %b = graph.repeat 3 reverse carry(%y : !x) stack(%f#1 : !xs) -> (!x) {
  ^bb0(%i: tensor<i32>, %d: !x, %h: !x):
    %m = graph.mul %d, %h : (!x, !x) -> !x
    graph.yield %m : !x
  }
  return %f#0, %b : !x, !x
}
