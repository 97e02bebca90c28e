// What an exchange of chosen rows refuses: other axes than it says, tokens that do not divide, choices that lie otherwise.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>
#own = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 2]>
dist.mesh @mesh = <["ep"=2]>
func.func @dimension(%x: tensor<2x5x6xf32, #few>, %own: tensor<2x2xi32, #own>, %all: tensor<4x2xi32, #all>) {
  // expected-error @+1 {{dimension 1 is none of tokens}}
  %0 = dist.exchange_rows %x, %own, %all dim = 1 axes = {"ep"} to_experts : (tensor<2x5x6xf32, #few>, tensor<2x2xi32, #own>, tensor<4x2xi32, #all>) -> tensor<4x3x6xf32, #many>
  return
}

// -----

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>
#own = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 2]>
dist.mesh @mesh = <["ep"=2]>
func.func @direction(%x: tensor<2x5x6xf32, #few>, %own: tensor<2x2xi32, #own>, %all: tensor<4x2xi32, #all>) {
  // expected-error @+1 {{{ep} are not the minor-most axes of dimension 1}}
  %0 = dist.exchange_rows %x, %own, %all dim = 0 axes = {"ep"} : (tensor<2x5x6xf32, #few>, tensor<2x2xi32, #own>, tensor<4x2xi32, #all>) -> tensor<4x3x6xf32, #many>
  return
}

// -----

// Of three tokens over two ranks one is padding, which may have chosen anybody.
#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[3, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[3, 5, 6]>
#own = #dist.sharding<@mesh, [{"ep"}, {}], global=[3, 2]>
#all = #dist.sharding<@mesh, [{}, {}], global=[3, 2]>
dist.mesh @mesh = <["ep"=2]>
func.func @padding(%x: tensor<2x5x6xf32, #few>, %own: tensor<2x2xi32, #own>, %all: tensor<3x2xi32, #all>) {
  // expected-error @+1 {{has 2 of dimension 0 on one side and 3 on the other: tokens of 2 ranks have to be whole}}
  %0 = dist.exchange_rows %x, %own, %all dim = 0 axes = {"ep"} to_experts : (tensor<2x5x6xf32, #few>, tensor<2x2xi32, #own>, tensor<3x2xi32, #all>) -> tensor<3x3x6xf32, #many>
  return
}

// -----

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>
#own = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 2]>
dist.mesh @mesh = <["ep"=2]>
func.func @choices(%x: tensor<2x5x6xf32, #few>, %own: tensor<2x2xi32, #own>, %all: tensor<4x2xi32, #all>) {
  // expected-error @+1 {{received_ids must lie as the tokens do, and choices be whole: dimension 0}}
  %0 = dist.exchange_rows %x, %own, %own dim = 0 axes = {"ep"} to_experts : (tensor<2x5x6xf32, #few>, tensor<2x2xi32, #own>, tensor<2x2xi32, #own>) -> tensor<4x3x6xf32, #many>
  return
}

// -----

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>
#own = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 2]>
dist.mesh @mesh = <["ep"=2]>
func.func @type_of_choices(%x: tensor<2x5x6xf32, #few>, %own: tensor<2x2xf32, #own>, %all: tensor<4x2xi32, #all>) {
  // expected-error @+1 {{they are i32, a row for each token of}}
  %0 = dist.exchange_rows %x, %own, %all dim = 0 axes = {"ep"} to_experts : (tensor<2x5x6xf32, #few>, tensor<2x2xf32, #own>, tensor<4x2xi32, #all>) -> tensor<4x3x6xf32, #many>
  return
}

// -----

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>
#own = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 1]>
dist.mesh @mesh = <["ep"=2]>
func.func @numbers_of_choices(%x: tensor<2x5x6xf32, #few>, %own: tensor<2x2xi32, #own>, %all: tensor<4x1xi32, #all>) {
  // expected-error @+1 {{has other numbers of choices on both sides}}
  %0 = dist.exchange_rows %x, %own, %all dim = 0 axes = {"ep"} to_experts : (tensor<2x5x6xf32, #few>, tensor<2x2xi32, #own>, tensor<4x1xi32, #all>) -> tensor<4x3x6xf32, #many>
  return
}
