// Forward of the programs of backward.mlir: graph-differentiate writes backward. What they give is called after its gradient, dy, and lies as that does.
// compare_with_xla.py puts other sizes into the types below (B = 4, S = 16, D = 64, F = 256, L = 3).
!x = tensor<4x16x64xf32>
!u = tensor<4x16x256xf32>
!up = tensor<256x64xf32>
!down = tensor<64x256xf32>
!ups = tensor<3x256x64xf32>
!downs = tensor<3x64x256xf32>

// T8: one linear layer with its weight sharded over fsdp too.
func.func @linear(%x: !x {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %dy: !u {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "ffn"]},
    %w: !up {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]}) -> (!u {graph.name = "dy"}) {
  %y = graph.linear %x, %w contract = 1 : (!x, !up) -> !u
  return %y : !u
}

// T14: a stack of layers.
func.func @layers(%x: !x {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %dy: !x {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "hidden"]},
    %w1: !ups {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["layer", "ffn", "hidden"]},
    %w2: !downs {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["layer", "hidden", "ffn"]}) -> (!x {graph.name = "dy"}) {
  %y = graph.repeat 3 carry(%x : !x) stack(%w1, %w2 : !ups, !downs) -> (!x) {
  ^bb0(%i: tensor<i32>, %h: !x, %up: !up, %down: !down):
    %u = graph.linear %h, %up contract = 1 : (!x, !up) -> !u
    %a = graph.silu %u : !u
    %o = graph.linear %a, %down contract = 1 : (!u, !down) -> !x
    %next = graph.add %h, %o : (!x, !x) -> !x
    graph.yield %next : !x
  }
  return %y : !x
}
