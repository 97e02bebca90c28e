// RUN: llm-opt %s --split-input-file --verify-diagnostics --dist-verify-stages

// No sender.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
// expected-note@+1 {{stage 0 is this one}}
module @a {
  func.func private @evaluate() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
}
module @b {
  // expected-error@+1 {{stage 1, @evaluate: argument #1 receives "x", which stage 0 does not send}}
  func.func private @evaluate(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "y", graph.fill = #graph.fill<received>}, %b: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// No receiver.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  // expected-error@+1 {{stage 0, @evaluate: result #1 sends "y", which stage 1 does not receive}}
  func.func private @evaluate() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}, tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
}
// expected-note@+1 {{stage 1 is this one}}
module @b {
  func.func private @evaluate(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// Two senders.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  // expected-note@+1 {{the first time, result #0}}
  func.func private @train_forward() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>, graph.stage_part = #graph.stage_part<forward>}
  // expected-error@+1 {{stage 0, @train_backward: result #0 sends "x" a second time}}
  func.func private @train_backward() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>, graph.stage_part = #graph.stage_part<backward>}
}
module @b {
  func.func private @train_forward(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<train>, graph.stage_part = #graph.stage_part<forward>}
}

// -----

// Two receivers.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  func.func private @evaluate() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
}
module @b {
  // expected-note@+2 {{the first time, argument #0}}
  // expected-error@+1 {{stage 1, @evaluate: argument #1 receives "x" a second time}}
  func.func private @evaluate(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}, %b: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// Parts of a step may all read one value, as what it is.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  func.func private @train_forward() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>, graph.stage_part = #graph.stage_part<forward>}
}
module @b {
  // expected-note@+1 {{the first time, argument #0}}
  func.func private @train_forward(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<train>, graph.stage_part = #graph.stage_part<forward>}
  // expected-error@+1 {{stage 1, @train_backward: argument #0 receives "x" with another type}}
  func.func private @train_backward(%a: tensor<2x4xbf16> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<train>, graph.stage_part = #graph.stage_part<backward>}
}

// -----

// Another type.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  // expected-note@+1 {{sent by result #0 of @evaluate}}
  func.func private @evaluate() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
}
module @b {
  // expected-error@+1 {{stage 1, @evaluate: argument #0 receives "x" as 'tensor<4x2xf32>', and stage 0 sends 'tensor<2x4xf32>'}}
  func.func private @evaluate(%a: tensor<4x2xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// Another sharding.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  dist.mesh @mesh = <["dp"=2]>
  // expected-note@+1 {{sent by result #0 of @evaluate}}
  func.func private @evaluate() -> (tensor<2x4xf32, #dist.sharding<@mesh, [{"dp"}, {}]>> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
}
module @b {
  dist.mesh @mesh = <["dp"=2]>
  // expected-error@+1 {{stage 1, @evaluate: argument #0 receives "x" as}}
  func.func private @evaluate(%a: tensor<2x4xf32, #dist.sharding<@mesh, [{}, {"dp"}]>> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// One rank's piece is alike, of the whole one has a row less.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  dist.mesh @mesh = <["dp"=2]>
  // expected-note@+1 {{sent by result #0 of @evaluate}}
  func.func private @evaluate() -> (tensor<2x4xf32, #dist.sharding<@mesh, [{"dp"}, {}], global=[4, 4]>> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
}
module @b {
  dist.mesh @mesh = <["dp"=2]>
  // expected-error@+1 {{stage 1, @evaluate: argument #0 receives "x" as}}
  func.func private @evaluate(%a: tensor<2x4xf32, #dist.sharding<@mesh, [{"dp"}, {}], global=[3, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// Another mesh.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  // expected-note@+1 {{stage 0 is for this one}}
  dist.mesh @mesh = <["dp"=2]>
  func.func private @evaluate() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
}
// expected-error@+1 {{stage 1 has another mesh than stage 0}}
module @b {
  dist.mesh @mesh = <["dp"=4]>
  func.func private @evaluate(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// A gradient that does not come back.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  // expected-error@+1 {{stage 0, @train: argument #0 receives the gradient "grad.x", which stage 1 does not send}}
  func.func private @train(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "grad.x", graph.fill = #graph.fill<received_gradient>}) -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>}
}
// expected-note@+1 {{stage 1 is this one}}
module @b {
  func.func private @train(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<train>}
}

// -----

// A gradient that nobody waits for.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
// expected-note@+1 {{stage 0 is this one}}
module @a {
  func.func private @train() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>}
}
module @b {
  // expected-error@+1 {{stage 1, @train: result #0 sends back "grad.x", which stage 0 does not receive}}
  func.func private @train(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.x", graph.gives = #graph.gives<sent_gradient>}) attributes {graph.role = #graph.role<train>}
}

// -----

// Nothing is in front of the first stage,
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>]
module @a {
  // expected-error@+1 {{stage 0, @evaluate: argument #0 receives "x", which no stage sends}}
  func.func private @evaluate(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
}

// -----

// and nothing behind the last one.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>]
module @a {
  // expected-error@+1 {{stage 0, @prefill: result #0 sends "x", which no stage receives}}
  func.func private @prefill() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<prompt>}
}

// -----

// A parameter that one stage alone shares.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  // expected-error@+1 {{stage 0, @train: result #1 shares "shared.w" of 1 stages: a parameter is of one stage or of two}}
  func.func private @train(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "grad.x", graph.fill = #graph.fill<received_gradient>}, %b: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "shared.w", graph.fill = #graph.fill<shared_gradient>}) -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}, tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "shared.w", graph.gives = #graph.gives<shared_gradient>}) attributes {graph.role = #graph.role<train>}
}
module @b {
  func.func private @train(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.x", graph.gives = #graph.gives<sent_gradient>}) attributes {graph.role = #graph.role<train>}
}

// -----

// A gradient that is given and not taken.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>]
// expected-note@+1 {{stage 0 is this one}}
module @a {
  // expected-error@+1 {{stage 0, @train: result #0 shares "shared.w", which stage 0 does not receive}}
  func.func private @train() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "shared.w", graph.gives = #graph.gives<shared_gradient>}) attributes {graph.role = #graph.role<train>}
}

// -----

// Two copies of another type.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>, #dist.stage<@b, first = 1, layers = 1, at = 1>]
module @a {
  // expected-note@+1 {{shared by result #0}}
  func.func private @train(%a: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "shared.w", graph.fill = #graph.fill<shared_gradient>}) -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "shared.w", graph.gives = #graph.gives<shared_gradient>}) attributes {graph.role = #graph.role<train>}
}
module @b {
  // expected-error@+1 {{stage 1, @train: result #0 shares "shared.w" as 'tensor<8xf32>', and stage 0 as 'tensor<2x4xf32>'}}
  func.func private @train(%a: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "shared.w", graph.fill = #graph.fill<shared_gradient>}) -> (tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "shared.w", graph.gives = #graph.gives<shared_gradient>}) attributes {graph.role = #graph.role<train>}
}

// -----

// A sum of nothing.
dist.pipeline @pipeline over "pp" = [#dist.stage<@a, first = 0, layers = 1, at = 0>]
module @a {
  // expected-error@+1 {{stage 0, @train: argument #0 takes the sum "sum.loss", to which no stage gives anything}}
  func.func private @train(%a: tensor<f32> {graph.kind = #graph.kind<input>, graph.name = "sum.loss", graph.fill = #graph.fill<stage_sum>}) attributes {graph.role = #graph.role<train>}
}
