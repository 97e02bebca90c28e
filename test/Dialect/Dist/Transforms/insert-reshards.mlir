// Every type gets its sharding; where an op needs another one, a reshard says why.
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s

dist.mesh @mesh = <["dp"=2, "tp"=4]>

// The product contracts a dimension that both operands shard: one partial sum, reduced because the result has no tp.
// CHECK-LABEL: func.func @row_parallel
// CHECK-SAME: -> tensor<4x64xf32, #dist.sharding<@mesh, [{"dp"}, {}]>>
func.func @row_parallel(%x: tensor<4x256xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
                        %w: tensor<64x256xf32> {graph.dims = ["hidden", "ffn"], dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) {
  // CHECK: %[[P:.*]] = graph.linear {{.*}} -> tensor<4x64xf32, #dist.sharding<@mesh, [{"dp"}, {}], partial=sum{"tp"}>>
  // CHECK: dist.reshard %[[P]] {why = "linear reduces over ffn, sharded over {tp}; the caller needs the sum"} : {{.*}} -> tensor<4x64xf32, #dist.sharding<@mesh, [{"dp"}, {}]>>
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x256xf32>, tensor<64x256xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// Two partial sums meet in an add: one reduction after it. The silu is not linear: reduced before.
// CHECK-LABEL: func.func @lazily
func.func @lazily(%x: tensor<4x256xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
                  %v: tensor<64x256xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<64x256xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x64xf32> {
  // CHECK-NOT: dist.reshard
  // CHECK: graph.add {{.*}} -> tensor<4x64xf32, #dist.sharding<@mesh, [{"dp"}, {}], partial=sum{"tp"}>>
  // CHECK-NEXT: dist.reshard
  // CHECK-NEXT: graph.silu
  %0 = graph.linear %x, %v contract = 1 : (tensor<4x256xf32>, tensor<64x256xf32>) -> tensor<4x64xf32>
  %1 = graph.linear %x, %w contract = 1 : (tensor<4x256xf32>, tensor<64x256xf32>) -> tensor<4x64xf32>
  %2 = graph.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %3 = graph.silu %2 : tensor<4x64xf32>
  return %3 : tensor<4x64xf32>
}

// Two users of a partial sum: it is reduced once for both.
// CHECK-LABEL: func.func @two_users
func.func @two_users(%x: tensor<4x256xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
                     %w: tensor<64x256xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  // CHECK: %[[P:.*]] = graph.linear
  // CHECK: %[[S:.*]] = dist.reshard %[[P]]
  // CHECK-NOT: dist.reshard
  // CHECK: graph.neg %[[S]]
  // CHECK: graph.exp %[[S]]
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x256xf32>, tensor<64x256xf32>) -> tensor<4x64xf32>
  %1 = graph.neg %0 : tensor<4x64xf32>
  %2 = graph.exp %0 : tensor<4x64xf32>
  return %1, %2 : tensor<4x64xf32>, tensor<4x64xf32>
}

// A stored weight (priority 1) stays sharded as a stack and as a slice; it is gathered in the body, just before use.
// CHECK-LABEL: func.func @fsdp
func.func @fsdp(%x: tensor<64x64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {?}, {?}]>},
                %s: tensor<3x64x64xf32> {graph.dims = ["layer", "out", "in"], dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}p1, {}]>}) -> tensor<64x64x64xf32> {
  // CHECK-NOT: dist.reshard
  // CHECK: graph.repeat 3 {{.*}}stack(%arg1 : tensor<3x64x64xf32, #dist.sharding<@mesh, [{}, {"dp"}, {}]>>)
  %r = graph.repeat 3 carry(%x : tensor<64x64x64xf32>) stack(%s : tensor<3x64x64xf32>) -> (tensor<64x64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x64x64xf32>, %w: tensor<64x64xf32>):
    // CHECK: %[[W:.*]] = dist.reshard %arg4 {why = "linear needs out whole, not over {dp}"} : tensor<64x64xf32, #dist.sharding<@mesh, [{"dp"}, {}]>> -> tensor<64x64xf32, #dist.sharding<@mesh, [{}, {}]>>
    // CHECK-NEXT: graph.linear %arg3, %[[W]]
    %y = graph.linear %h, %w contract = 1 : (tensor<64x64x64xf32>, tensor<64x64xf32>) -> tensor<64x64x64xf32>
    graph.yield %y : tensor<64x64x64xf32>
  }
  return %r : tensor<64x64x64xf32>
}

// The same weight for one token: gathering it would take longer than everything else together, so the token moves.
// Nothing lies over dp: its ranks take a part of the terms each, for which less of the token has to come.
// CHECK-LABEL: func.func @weight_stationary
func.func @weight_stationary(%x: tensor<2x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {?}]>},
                             %w: tensor<1024x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}p1, {}]>}) -> tensor<2x1024xf32> {
  // CHECK: %[[PART:.*]] = dist.reshard %arg1 {{.*}} -> tensor<1024x1024xf32, #dist.sharding<@mesh, [{"tp"}, {"dp"}]>>
  // CHECK: graph.linear {{.*}}, %[[PART]]
  %0 = graph.linear %x, %w contract = 1 : (tensor<2x1024xf32>, tensor<1024x1024xf32>) -> tensor<2x1024xf32>
  return %0 : tensor<2x1024xf32>
}

// A loop's carried value has one sharding: what comes in, what the body makes of it, what goes out.
// CHECK-LABEL: func.func @carried
func.func @carried(%x: tensor<4x64xf32>, %w: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x64xf32> {
  %r = graph.repeat 3 carry(%x : tensor<4x64xf32>) -> (tensor<4x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x64xf32>):
    %0 = dist.constraint %h <@mesh, [{}, {}]> : tensor<4x64xf32>
    // CHECK: %[[P:.*]] = graph.linear {{.*}}partial=sum{"tp"}
    // CHECK: %[[S:.*]] = dist.reshard %[[P]]
    // CHECK: graph.yield %[[S]] : tensor<4x64xf32, #dist.sharding<@mesh, [{}, {}]>>
    %y = graph.linear %0, %w contract = 1 : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    graph.yield %y : tensor<4x64xf32>
  }
  %1 = dist.constraint %r <@mesh, [{}, {}]> : tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// What an op cannot shard is gathered before it, and the constraint is gone.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<4x64xf32> {graph.dims = ["batch", "vocab"]}) -> tensor<4x64xf32> {
  // CHECK-NOT: dist.constraint
  // CHECK: dist.reshard {{.*}} {why = "softmax needs vocab whole, not over {tp}"}
  // CHECK-NEXT: graph.softmax
  %0 = dist.constraint %x <@mesh, [{}, {"tp"}]> : tensor<4x64xf32>
  %1 = graph.softmax %0 : tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// A whole block is placed at once: between two stored weights one token's values stay on ffn, which propagation says nothing of, and
// one sum is all that travels. Op by op, each of the three would bring its result back to where propagation wants it.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<2x512xf32>, %up: tensor<1024x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}p1, {}]>},
                 %down: tensor<512x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}p1]>}) -> (tensor<2x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK-NOT: dist.reshard
  // CHECK: graph.silu {{.*}} : tensor<2x1024xf32, #dist.sharding<@mesh, [{}, {"tp"}]>>
  // CHECK-NOT: dist.reshard
  // CHECK: %[[P:.*]] = graph.linear {{.*}} -> tensor<2x512xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}>>
  // CHECK-NEXT: dist.reshard %[[P]]
  // CHECK-NEXT: return
  %0 = graph.linear %x, %up contract = 1 : (tensor<2x512xf32>, tensor<1024x512xf32>) -> tensor<2x1024xf32>
  %1 = graph.silu %0 : tensor<2x1024xf32>
  %2 = graph.linear %1, %down contract = 1 : (tensor<2x1024xf32>, tensor<512x1024xf32>) -> tensor<2x512xf32>
  return %2 : tensor<2x512xf32>
}

// The greatest of a sharded vocabulary: keys are compared, not logits gathered.
// CHECK-LABEL: func.func @greatest
func.func @greatest(%x: tensor<4x1024xf32> {graph.dims = ["batch", "vocab"], dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xi64> {
  // CHECK-NOT: dist.reshard %arg0
  // CHECK: graph.arg_max_key %arg0 {{.*}} -> tensor<4xi64, #dist.sharding<@mesh, [{}], partial=max{"tp"}>>
  %0 = graph.arg_max_key %x : (tensor<4x1024xf32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// What a loop's body needs in another sharding is made there, and again for who needs it so behind the loop.
// CHECK-LABEL: func.func @in_a_body_and_behind
func.func @in_a_body_and_behind(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
                                %c: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // CHECK: graph.repeat
  // CHECK: dist.reshard %arg0 {{.*}} -> tensor<8x64xf32, #dist.sharding<@mesh, [{}, {"tp"}]>>
  // CHECK: graph.yield
  // CHECK: dist.reshard %arg0 {{.*}} -> tensor<8x64xf32, #dist.sharding<@mesh, [{}, {"tp"}]>>
  %r = graph.repeat 3 carry(%c : tensor<8x64xf32>) -> (tensor<8x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x64xf32>):
    %0 = dist.constraint %x <@mesh, [{}, {"tp"}]> : tensor<8x64xf32>
    %1 = graph.exp %0 : tensor<8x64xf32>
    %2 = graph.add %h, %1 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    graph.yield %2 : tensor<8x64xf32>
  }
  %3 = dist.constraint %x <@mesh, [{}, {"tp"}]> : tensor<8x64xf32>
  %4 = graph.exp %3 : tensor<8x64xf32>
  return %r, %4 : tensor<8x64xf32>, tensor<8x64xf32>
}

// A loop takes one layer after the other: whose layers are split is gathered before it, along the layers only.
// CHECK-LABEL: func.func @split_layers
func.func @split_layers(%x: tensor<64x64xf32>, %s: tensor<8x64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {"dp"}]>}) -> tensor<64x64xf32> {
  // CHECK: %[[S:.*]] = dist.reshard %arg1 {{.*}} -> tensor<8x64x64xf32, #dist.sharding<@mesh, [{}, {}, {"dp"}]>>
  // CHECK: graph.repeat 8 {{.*}}stack(%[[S]] :
  %r = graph.repeat 8 carry(%x : tensor<64x64xf32>) stack(%s : tensor<8x64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x64xf32>, %w: tensor<64x64xf32>):
    %y = graph.linear %h, %w contract = 1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %y : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
