// Forward and backward written by hand, until differentiation writes them. Results called like an argument lie as that one does: gradients as
// their weights. compare_with_xla.py puts other sizes into the types below (B = 4, S = 16, D = 64, F = 256, L = 3).
!x = tensor<4x16x64xf32>
!xt = tensor<64x4x16xf32>
!u = tensor<4x16x256xf32>
!ut = tensor<256x4x16xf32>
!up = tensor<256x64xf32>
!down = tensor<64x256xf32>
!ups = tensor<3x256x64xf32>
!downs = tensor<3x64x256xf32>
!xs = tensor<3x4x16x64xf32>

// T8: one linear layer with its weight sharded over fsdp too.
func.func @linear(%x: !x {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %dy: !u {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "ffn"]},
    %w: !up {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]})
    -> (!u {graph.name = "dy"}, !x {graph.name = "x"}, !up {graph.name = "up"}) {
  %y = graph.linear %x, %w contract = 1 : (!x, !up) -> !u
  %wt = graph.transpose %w [1, 0] : (!up) -> !down
  %dx = graph.linear %dy, %wt contract = 1 : (!u, !down) -> !x
  %dyt = graph.transpose %dy [2, 0, 1] : (!u) -> !ut
  %xt = graph.transpose %x [2, 0, 1] : (!x) -> !xt
  %dw = graph.linear %dyt, %xt contract = 2 : (!ut, !xt) -> !up
  return %y, %dx, %dw : !u, !x, !up
}

// T14: a stack of layers. Forward keeps each layer's input; backward runs from the last layer to the first and returns stacks of gradients.
func.func @layers(%x: !x {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %dy: !x {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "hidden"]},
    %w1: !ups {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["layer", "ffn", "hidden"]},
    %w2: !downs {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["layer", "hidden", "ffn"]})
    -> (!x {graph.name = "x"}, !x {graph.name = "dy"}, !ups {graph.name = "up"}, !downs {graph.name = "down"}) {
  %y, %inputs = graph.repeat 3 carry(%x : !x) stack(%w1, %w2 : !ups, !downs) -> (!x, !xs) {
  ^bb0(%i: tensor<i32>, %h: !x, %up: !up, %down: !down):
    %u = graph.linear %h, %up contract = 1 : (!x, !up) -> !u
    %a = graph.silu %u : !u
    %o = graph.linear %a, %down contract = 1 : (!u, !down) -> !x
    %next = graph.add %h, %o : (!x, !x) -> !x
    graph.yield %next, %h : !x, !x
  }
  %dx, %dw1, %dw2 = graph.repeat 3 reverse carry(%dy : !x) stack(%w1, %w2, %inputs : !ups, !downs, !xs) -> (!x, !ups, !downs) {
  ^bb0(%i: tensor<i32>, %d: !x, %up: !up, %down: !down, %h: !x):
    // Again what forward had, and the slope of silu: s + a - a s.
    %u = graph.linear %h, %up contract = 1 : (!x, !up) -> !u
    %s = graph.sigmoid %u : !u
    %a = graph.mul %u, %s : (!u, !u) -> !u
    %as = graph.mul %a, %s : (!u, !u) -> !u
    %rest = graph.sub %a, %as : (!u, !u) -> !u
    %slope = graph.add %s, %rest : (!u, !u) -> !u
    %downt = graph.transpose %down [1, 0] : (!down) -> !up
    %da = graph.linear %d, %downt contract = 1 : (!x, !up) -> !u
    %du = graph.mul %da, %slope : (!u, !u) -> !u
    %dt = graph.transpose %d [2, 0, 1] : (!x) -> !xt
    %at = graph.transpose %a [2, 0, 1] : (!u) -> !ut
    %ddown = graph.linear %dt, %at contract = 2 : (!xt, !ut) -> !down
    %dut = graph.transpose %du [2, 0, 1] : (!u) -> !ut
    %ht = graph.transpose %h [2, 0, 1] : (!x) -> !xt
    %dup = graph.linear %dut, %ht contract = 2 : (!ut, !xt) -> !up
    %upt = graph.transpose %up [1, 0] : (!up) -> !down
    %dh = graph.linear %du, %upt contract = 1 : (!u, !down) -> !x
    %before = graph.add %d, %dh : (!x, !x) -> !x
    graph.yield %before, %dup, %ddown : !x, !up, !down
  }
  return %y, %dx, %dw1, %dw2 : !x, !x, !ups, !downs
}
