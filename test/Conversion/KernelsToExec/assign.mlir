// Where values go. States first, equal ports of entries in one place, activations behind; values are made where they are wanted, and copied
// only where two that are needed at once meet.
// RUN: llm-opt %s --split-input-file --kernels-to-exec --verify-exec-memory | FileCheck %s

// A loop's next value is made in the carried place, the loop's result in the output's; the input is copied, for it may not be overwritten.
// CHECK: module attributes {exec.arena_bytes = 192 : i64, exec.states = []}
// CHECK-LABEL: func.func @loop() attributes {exec.entry
// CHECK-SAME: exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}]
// CHECK-SAME: exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]
// CHECK-DAG: %[[X:.*]] = exec.buffer at 0 : memref<16xf32>
// CHECK-DAG: %[[Y:.*]] = exec.buffer at 64 : memref<16xf32>
// CHECK: exec.copy %[[X]] to %[[Y]]
// CHECK: exec.for %{{.*}} = 3 step 1 {
// CHECK: exec.launch @k ins(%[[Y]] : memref<16xf32>) outs(%[[T:.*]] : memref<16xf32>)
// CHECK: exec.launch @k ins(%[[T]] : memref<16xf32>) outs(%[[Y]] : memref<16xf32>)
// CHECK-NOT: exec.copy
// CHECK: return
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @loop(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %r = exec.for %i = 3 step 1 carry(%c = %x : tensor<16xf32>) {
    %0 = exec.launch @k ins(%c : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    %1 = exec.launch @k ins(%0 : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    exec.yield %1 : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}
}

// -----

// The carried value is read by the op that makes the next one: no place for it there, so it is copied at the end of the iteration.
// CHECK-LABEL: func.func @needed_at_once
// CHECK: exec.for
// CHECK: exec.launch @k ins(%[[C:.*]] : memref<16xf32>) outs(%[[N:.*]] : memref<16xf32>)
// CHECK: exec.copy %[[N]] to %[[C]]
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @needed_at_once(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %r = exec.for %i = 3 step 1 carry(%c = %x : tensor<16xf32>) {
    %0 = exec.launch @k ins(%c : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    exec.yield %0 : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}
}

// -----

// Values that change places go through scratch: neither is lost.
// CHECK-LABEL: func.func @swap
// CHECK: exec.for
// CHECK: exec.copy %[[B:.*]] to %[[S:.*]] :
// CHECK: exec.copy %[[A:.*]] to %[[T:.*]] :
// CHECK: exec.copy %[[S]] to %[[A]]
// CHECK: exec.copy %[[T]] to %[[B]]
module {
func.func @swap(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %y: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "y"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}, tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}) attributes {exec.entry} {
  %r:2 = exec.for %i = 3 step 1 carry(%a = %x : tensor<16xf32>, %b = %y : tensor<16xf32>) {
    exec.yield %b, %a : tensor<16xf32>, tensor<16xf32>
  }
  return %r#0, %r#1 : tensor<16xf32>, tensor<16xf32>
}
}

// -----

// What a loop begins with dies there, so that the carried values lie where it lay, and here each where the other one's did: they change
// places, too, though no value of theirs is the other's. (What begins is a part of what was made: all of it would be made in the carried place.)
// CHECK-LABEL: func.func @crossing
// CHECK: %[[U:.*]] = exec.reshape
// CHECK: %[[T:.*]] = exec.reshape
// CHECK: exec.copy %[[U]] to %[[THROUGH:[0-9]+]] :
// CHECK: exec.copy %[[T]] to %[[OTHER:[0-9]+]] :
// CHECK: exec.copy %[[THROUGH]] to
// CHECK: exec.copy %[[OTHER]] to
// CHECK: exec.for
module {
func.func private @first(tensor<16xf32>, tensor<30xf32>, index, index) -> tensor<30xf32>
func.func private @second(tensor<16xf32>, tensor<30xf32>, index, index) -> tensor<30xf32>
func.func private @next(tensor<4x7xf32>, tensor<4x7xf32>, index, index) -> tensor<4x7xf32>
func.func @crossing(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4x7xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<4x7xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<30xf32>
  %g = tensor.empty() : tensor<4x7xf32>
  %t = exec.launch @first ins(%x : tensor<16xf32>) outs(%e : tensor<30xf32>) count = 1 grain = 1 -> tensor<30xf32>
  %u = exec.launch @second ins(%x : tensor<16xf32>) outs(%e : tensor<30xf32>) count = 1 grain = 1 -> tensor<30xf32>
  %i = exec.reshape %u : tensor<30xf32> -> tensor<4x7xf32>
  %j = exec.reshape %t : tensor<30xf32> -> tensor<4x7xf32>
  %r:2 = exec.for %k = 3 step 1 carry(%p = %i : tensor<4x7xf32>, %q = %j : tensor<4x7xf32>) {
    %np = exec.launch @next ins(%p : tensor<4x7xf32>) outs(%g : tensor<4x7xf32>) count = 1 grain = 1 -> tensor<4x7xf32>
    %nq = exec.launch @next ins(%q : tensor<4x7xf32>) outs(%g : tensor<4x7xf32>) count = 1 grain = 1 -> tensor<4x7xf32>
    exec.yield %np, %nq : tensor<4x7xf32>, tensor<4x7xf32>
  }
  %y = exec.launch @next ins(%r#0 : tensor<4x7xf32>) outs(%g : tensor<4x7xf32>) count = 1 grain = 1 -> tensor<4x7xf32>
  %z = exec.launch @next ins(%r#1 : tensor<4x7xf32>) outs(%g : tensor<4x7xf32>) count = 1 grain = 1 -> tensor<4x7xf32>
  return %y, %z : tensor<4x7xf32>, tensor<4x7xf32>
}
}

// -----

// A state is updated where it lies, in every entry; what one entry gives and another takes under the same name and type is one place.
// CHECK: exec.states = [{name = "s", offset = 0 : i64, type = tensor<4x16xf32>}]
// CHECK-LABEL: func.func @first
// CHECK-SAME: exec.outputs = [{name = "h", offset = [[H:.*]] : i64, type = tensor<16xf32>}]
// CHECK-DAG: %[[S:.*]] = exec.buffer at 0 {exec.holds = ["caches", "{{[a-z]+}}"]} : memref<4x16xf32>
// CHECK: exec.launch @write ins(%[[X:.*]] : memref<16xf32>) outs(%[[S]] : memref<4x16xf32>)
// CHECK-NOT: exec.copy
// CHECK: return
// CHECK-LABEL: func.func @second
// CHECK-SAME: exec.inputs = [{name = "h", offset = [[H]] : i64, type = tensor<16xf32>}]
// CHECK-DAG: %[[S2:.*]] = exec.buffer at 0 {exec.holds = ["caches", "{{[a-z]+}}"]} : memref<4x16xf32>
// The old state is still needed after the update: only here it is copied.
// CHECK: exec.copy %[[S2]] to %[[NEW:.*]] : memref<4x16xf32>, memref<4x16xf32>
// CHECK: exec.launch @write ins(%{{.*}}) outs(%[[NEW]] : memref<4x16xf32>)
// CHECK: exec.launch @read ins(%[[S2]] : memref<4x16xf32>)
// CHECK: exec.copy %[[NEW]] to %[[S2]]
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func private @write(tensor<16xf32>, tensor<4x16xf32>, index, index) -> tensor<4x16xf32>
func.func private @read(tensor<4x16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @first(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %s: tensor<4x16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "h"}, tensor<4x16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @write ins(%x : tensor<16xf32>) outs(%s : tensor<4x16xf32>) count = 1 grain = 1 -> tensor<4x16xf32>
  %1 = exec.launch @read ins(%0 : tensor<4x16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %1, %0 : tensor<16xf32>, tensor<4x16xf32>
}
func.func @second(%h: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "h"}, %s: tensor<4x16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<4x16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @write ins(%h : tensor<16xf32>) outs(%s : tensor<4x16xf32>) count = 1 grain = 1 -> tensor<4x16xf32>
  %1 = exec.launch @read ins(%s : tensor<4x16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %1, %0 : tensor<16xf32>, tensor<4x16xf32>
}
}

// -----

// An all_reduce whose operand dies works in place.
// CHECK-LABEL: func.func @reduce
// CHECK: exec.launch @k ins(%{{.*}}) outs(%[[P:.*]] : memref<16xf32>)
// CHECK: exec.collective all_reduce sum over {{.*}} ins(%[[P]] : memref<16xf32>) outs(%[[P]] : memref<16xf32>)
module {
dist.mesh @mesh = <["tp"=2]>
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @reduce(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %1 = exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%0 : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
}

// -----

// The arena holds what the largest entry needs, wherever that stands.
// CHECK: module attributes {exec.arena_bytes = 256 : i64
// CHECK-LABEL: func.func @large
// CHECK-LABEL: func.func @small
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @large(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %1 = exec.launch @k ins(%0 : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %2 = exec.launch @k ins(%1 : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %2 : tensor<16xf32>
}
func.func @small(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

// -----

// A state that the entry does not return stays as it was: the update works on a copy. exec.returns says which states do come back.
// CHECK-LABEL: func.func @kept() attributes {exec.entry
// CHECK-NOT: exec.returns
// CHECK-DAG: %[[S:.*]] = exec.buffer at 0 {exec.holds = ["caches", "{{[a-z]+}}"]} : memref<16xf32>
// CHECK: exec.copy %[[S]] to %[[N:.*]] : memref<16xf32>, memref<16xf32>
// CHECK: exec.launch @k ins(%{{.*}}) outs(%[[N]] : memref<16xf32>)
// CHECK-LABEL: func.func @returned() attributes {exec.entry
// CHECK-SAME: exec.returns = ["s"]
// CHECK-NOT: exec.copy
// CHECK: return
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @kept(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %s: tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%s : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func @returned(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %s: tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%s : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

// -----

// What is updated is also read as another operand: the kernel would read what it has written.
// CHECK-LABEL: func.func @read_beside
// CHECK: exec.copy %[[S:.*]] to %[[N:.*]] : memref<16xf32>, memref<16xf32>
// CHECK: exec.launch @k ins(%[[S]] : memref<16xf32>) outs(%[[N]] : memref<16xf32>)
// CHECK: exec.copy %[[N]] to %[[S]]
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @read_beside(%s: tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  %0 = exec.launch @k ins(%s : tensor<16xf32>) outs(%s : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

// -----

// What a loop begins with may lie half over carried places, its own (384 to 576) or another's; a view of a part stays where the viewed was made. It is
// read whole before one of these places is written.
// CHECK-LABEL: func.func @over_its_own
// CHECK-DAG: %[[MADE:.*]] = exec.buffer at 448 : memref<4x16xf32>
// CHECK-DAG: %[[CARRIED:.*]] = exec.buffer at 384 : memref<48xf32>
// CHECK: %[[VIEW:.*]] = exec.reshape %[[MADE]]
// CHECK: exec.copy %[[VIEW]] to %[[SCRATCH:.*]] : memref<48xf32>, memref<48xf32>
// CHECK-NEXT: exec.copy %[[SCRATCH]] to %[[CARRIED]]
// CHECK-NEXT: exec.for
module {
func.func private @widen(tensor<16xf32>, tensor<80xf32>, index, index) -> tensor<80xf32>
func.func private @fold(tensor<80xf32>, tensor<4x16xf32>, index, index) -> tensor<4x16xf32>
func.func private @stretch(tensor<48xf32>, tensor<64xf32>, index, index) -> tensor<64xf32>
func.func private @shrink(tensor<64xf32>, tensor<48xf32>, index, index) -> tensor<48xf32>
func.func private @last(tensor<48xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @over_its_own(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e16 = tensor.empty() : tensor<16xf32>
  %e4x16 = tensor.empty() : tensor<4x16xf32>
  %e48 = tensor.empty() : tensor<48xf32>
  %e64 = tensor.empty() : tensor<64xf32>
  %e80 = tensor.empty() : tensor<80xf32>
  %0 = exec.launch @widen ins(%x : tensor<16xf32>) outs(%e80 : tensor<80xf32>) count = 1 grain = 1 -> tensor<80xf32>
  %1 = exec.launch @fold ins(%0 : tensor<80xf32>) outs(%e4x16 : tensor<4x16xf32>) count = 1 grain = 1 -> tensor<4x16xf32>
  %2 = exec.reshape %1 : tensor<4x16xf32> -> tensor<48xf32>
  %r = exec.for %i = 3 step 1 carry(%c = %2 : tensor<48xf32>) {
    %3 = exec.launch @stretch ins(%c : tensor<48xf32>) outs(%e64 : tensor<64xf32>) count = 1 grain = 1 -> tensor<64xf32>
    %4 = exec.launch @shrink ins(%3 : tensor<64xf32>) outs(%e48 : tensor<48xf32>) count = 1 grain = 1 -> tensor<48xf32>
    exec.yield %4 : tensor<48xf32>
  }
  %5 = exec.launch @last ins(%r : tensor<48xf32>) outs(%e16 : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %5 : tensor<16xf32>
}
}

// -----

// CHECK-LABEL: func.func @over_anothers
// CHECK-DAG: %[[MADE:.*]] = exec.buffer at 576 : memref<2x16xf32>
// CHECK-DAG: %[[CARRIED:.*]] = exec.buffer at 512 : memref<48xf32>
// CHECK: %[[VIEW:.*]] = exec.reshape %[[MADE]]
// CHECK: exec.copy %[[VIEW]] to %[[SCRATCH:.*]] : memref<16xf32>, memref<16xf32>
// CHECK-NEXT: exec.copy %{{.*}} to %[[CARRIED]]
// CHECK-NEXT: exec.copy %[[SCRATCH]] to
// CHECK-NEXT: exec.for
module {
func.func private @widen(tensor<48xf32>, tensor<80xf32>, index, index) -> tensor<80xf32>
func.func private @fold(tensor<80xf32>, tensor<2x16xf32>, index, index) -> tensor<2x16xf32>
func.func private @stretch(tensor<48xf32>, tensor<64xf32>, index, index) -> tensor<64xf32>
func.func private @shrink(tensor<64xf32>, tensor<48xf32>, index, index) -> tensor<48xf32>
func.func private @last(tensor<48xf32>, tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @over_anothers(%x: tensor<48xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e16 = tensor.empty() : tensor<16xf32>
  %e2x16 = tensor.empty() : tensor<2x16xf32>
  %e48 = tensor.empty() : tensor<48xf32>
  %e64 = tensor.empty() : tensor<64xf32>
  %e80 = tensor.empty() : tensor<80xf32>
  %0 = exec.launch @widen ins(%x : tensor<48xf32>) outs(%e80 : tensor<80xf32>) count = 1 grain = 1 -> tensor<80xf32>
  %1 = exec.launch @fold ins(%0 : tensor<80xf32>) outs(%e2x16 : tensor<2x16xf32>) count = 1 grain = 1 -> tensor<2x16xf32>
  %2 = exec.reshape %1 : tensor<2x16xf32> -> tensor<16xf32>
  %r:2 = exec.for %i = 3 step 1 carry(%c = %x : tensor<48xf32>, %d = %2 : tensor<16xf32>) {
    %3 = exec.launch @stretch ins(%c : tensor<48xf32>) outs(%e64 : tensor<64xf32>) count = 1 grain = 1 -> tensor<64xf32>
    %4 = exec.launch @shrink ins(%3 : tensor<64xf32>) outs(%e48 : tensor<48xf32>) count = 1 grain = 1 -> tensor<48xf32>
    exec.yield %4, %d : tensor<48xf32>, tensor<16xf32>
  }
  %5 = exec.launch @last ins(%r#0, %r#1 : tensor<48xf32>, tensor<16xf32>) outs(%e16 : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %5 : tensor<16xf32>
}
}

// -----

// What a loop begins with, and what it passes on, is made in the carried place, whatever its shape.
// CHECK-LABEL: func.func @other_shapes
// CHECK-NOT: exec.copy
// CHECK: %[[WIDE:.*]] = exec.reshape %[[CARRIED:.*]] : memref<48xf32> -> memref<3x16xf32>
// CHECK: exec.launch @fold ins({{.*}}) outs(%[[WIDE]] : memref<3x16xf32>)
// CHECK: exec.for
// CHECK: exec.launch @stretch ins(%[[CARRIED]] : memref<48xf32>) outs(%[[LONG:.*]] : memref<64xf32>)
// CHECK: %[[AGAIN:.*]] = exec.reshape %[[CARRIED]] : memref<48xf32> -> memref<4x12xf32>
// CHECK: exec.launch @shrink ins(%[[LONG]] : memref<64xf32>) outs(%[[AGAIN]] : memref<4x12xf32>)
// CHECK-NOT: exec.copy
// CHECK: return
module {
func.func private @fold(tensor<16xf32>, tensor<3x16xf32>, index, index) -> tensor<3x16xf32>
func.func private @stretch(tensor<48xf32>, tensor<64xf32>, index, index) -> tensor<64xf32>
func.func private @shrink(tensor<64xf32>, tensor<4x12xf32>, index, index) -> tensor<4x12xf32>
func.func private @last(tensor<48xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @other_shapes(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e16 = tensor.empty() : tensor<16xf32>
  %e3x16 = tensor.empty() : tensor<3x16xf32>
  %e4x12 = tensor.empty() : tensor<4x12xf32>
  %e64 = tensor.empty() : tensor<64xf32>
  %0 = exec.launch @fold ins(%x : tensor<16xf32>) outs(%e3x16 : tensor<3x16xf32>) count = 1 grain = 1 -> tensor<3x16xf32>
  %1 = exec.reshape %0 : tensor<3x16xf32> -> tensor<48xf32>
  %r = exec.for %i = 3 step 1 carry(%c = %1 : tensor<48xf32>) {
    %2 = exec.launch @stretch ins(%c : tensor<48xf32>) outs(%e64 : tensor<64xf32>) count = 1 grain = 1 -> tensor<64xf32>
    %3 = exec.launch @shrink ins(%2 : tensor<64xf32>) outs(%e4x12 : tensor<4x12xf32>) count = 1 grain = 1 -> tensor<4x12xf32>
    %4 = exec.reshape %3 : tensor<4x12xf32> -> tensor<48xf32>
    exec.yield %4 : tensor<48xf32>
  }
  %5 = exec.launch @last ins(%r : tensor<48xf32>) outs(%e16 : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %5 : tensor<16xf32>
}
}

// -----

// A state that nobody reads any more is made anew where it lies; one that the op reads which makes it is made beside it and copied.
// CHECK-LABEL: func.func @states
// CHECK-DAG: %[[S:.*]] = exec.buffer at 0 {exec.holds = ["caches", "{{[a-z]+}}"]} : memref<16xf32>
// CHECK-DAG: %[[T:.*]] = exec.buffer at 64 {exec.holds = ["caches", "{{[a-z]+}}"]} : memref<16xf32>
// CHECK: exec.launch @k ins(%[[S]] : memref<16xf32>) outs(%[[A:.*]] : memref<16xf32>)
// CHECK: exec.launch @k ins(%[[A]] : memref<16xf32>) outs(%[[S]] : memref<16xf32>)
// CHECK: exec.launch @k ins(%[[T]] : memref<16xf32>) outs(%[[B:.*]] : memref<16xf32>)
// CHECK: exec.copy %[[B]] to %[[T]]
// CHECK-NOT: exec.copy
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @states(%s: tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}, %t: tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "t"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}, tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "t"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = exec.launch @k ins(%s : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %1 = exec.launch @k ins(%0 : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  %2 = exec.launch @k ins(%t : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %1, %2 : tensor<16xf32>, tensor<16xf32>
}
}

// -----

// A state that comes back as it was given is in its place already: nobody writes it, and exec.returns does not list it.
// CHECK-LABEL: func.func @passed_through
// CHECK-SAME: exec.returns = ["s"]
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @passed_through(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %s: tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}, %t: tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "t"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}, tensor<16xf32> {graph.kind = #graph.kind<state>, graph.name = "t"}) attributes {exec.entry} {
  %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%s : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
  return %0, %t : tensor<16xf32>, tensor<16xf32>
}
}
