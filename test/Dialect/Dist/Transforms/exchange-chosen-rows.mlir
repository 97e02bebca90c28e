// An all_to_all between tokens and experts whose readers choose sends chosen rows alone, with the choices of both sides; one that somebody reads whole stays, and so does one whose tokens do
// not divide.
// RUN: llm-opt %s --split-input-file --dist-optimize-collectives | FileCheck %s
// RUN: llm-opt %s --split-input-file --dist-optimize-collectives --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>
#own = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 2]>
#weight = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[5, 6, 6]>
#tokens = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 6]>
#shares = #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>
dist.mesh @mesh = <["ep"=2]>
// CHECK-LABEL: @there_and_back
func.func @there_and_back(%x: tensor<2x6xf32, #tokens>, %ids: tensor<2x2xi32, #own>, %shares: tensor<2x2xf32, #shares>, %w: tensor<3x6x6xf32, #weight>) -> tensor<2x6xf32, #tokens> {
  // The choices of all are gathered once; those of a rank's own tokens are what it had.
  // CHECK: %[[ROWS:.*]] = graph.dispatch %{{.*}}, %[[OWN:[a-z0-9]*]]
  %rows = graph.dispatch %x, %ids : (tensor<2x6xf32, #tokens>, tensor<2x2xi32, #own>) -> tensor<2x5x6xf32, #few>
  %r = dist.all_to_all %rows from = 0 to = 1 axes = {"ep"} : tensor<2x5x6xf32, #few> -> tensor<4x3x6xf32, #many>
  // CHECK: %[[ALL:.*]] = dist.all_gather %[[OWN]]
  %all = dist.all_gather %ids dim = 0 axes = {"ep"} : tensor<2x2xi32, #own> -> tensor<4x2xi32, #all>
  // CHECK: dist.exchange_rows %[[ROWS]], %[[OWN]], %[[ALL]] dim = 0 axes = {"ep"} to_experts
  %y = graph.expert_linear %r, %w, %all : (tensor<4x3x6xf32, #many>, tensor<3x6x6xf32, #weight>, tensor<4x2xi32, #all>) -> tensor<4x3x6xf32, #many>
  // Element by element between: still nobody reads other rows.
  // CHECK: %[[H:.*]] = graph.silu
  %h = graph.silu %y : tensor<4x3x6xf32, #many>
  // CHECK-NOT: dist.all_gather
  // CHECK: dist.exchange_rows %[[H]], %[[ALL]], %[[OWN]] dim = 0 axes = {"ep"} :
  %back = dist.all_to_all %h from = 1 to = 0 axes = {"ep"} : tensor<4x3x6xf32, #many> -> tensor<2x5x6xf32, #few>
  %z = graph.combine %back, %ids, %shares : (tensor<2x5x6xf32, #few>, tensor<2x2xi32, #own>, tensor<2x2xf32, #shares>) -> tensor<2x6xf32, #tokens>
  return %z : tensor<2x6xf32, #tokens>
}

// -----

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 2]>
#weight = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[5, 6, 6]>
dist.mesh @mesh = <["ep"=2]>
// CHECK-LABEL: @read_whole
func.func @read_whole(%x: tensor<2x5x6xf32, #few>, %ids: tensor<4x2xi32, #all>, %w: tensor<3x6x6xf32, #weight>) -> (tensor<4x3x6xf32, #many>, tensor<4x3x6xf32, #many>) {
  // CHECK: dist.all_to_all
  %r = dist.all_to_all %x from = 0 to = 1 axes = {"ep"} : tensor<2x5x6xf32, #few> -> tensor<4x3x6xf32, #many>
  %y = graph.expert_linear %r, %w, %ids : (tensor<4x3x6xf32, #many>, tensor<3x6x6xf32, #weight>, tensor<4x2xi32, #all>) -> tensor<4x3x6xf32, #many>
  return %r, %y : tensor<4x3x6xf32, #many>, tensor<4x3x6xf32, #many>
}

// -----

#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[3, 5, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[3, 5, 6]>
#all = #dist.sharding<@mesh, [{}, {}], global=[3, 2]>
#weight = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[5, 6, 6]>
dist.mesh @mesh = <["ep"=2]>
// CHECK-LABEL: @padding
func.func @padding(%x: tensor<2x5x6xf32, #few>, %ids: tensor<3x2xi32, #all>, %w: tensor<3x6x6xf32, #weight>) -> tensor<3x3x6xf32, #many> {
  // CHECK: dist.all_to_all
  %r = dist.all_to_all %x from = 0 to = 1 axes = {"ep"} : tensor<2x5x6xf32, #few> -> tensor<3x3x6xf32, #many>
  %y = graph.expert_linear %r, %w, %ids : (tensor<3x3x6xf32, #many>, tensor<3x6x6xf32, #weight>, tensor<3x2xi32, #all>) -> tensor<3x3x6xf32, #many>
  return %y : tensor<3x3x6xf32, #many>
}

// -----

// Three choices of four experts, of which two are another's: no token sends more than two rows of 24 bytes, whatever it chose.
#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 4, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 4, 6]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 3]>
#weight = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 6, 6]>
dist.mesh @mesh = <["ep"=2]>
// CHECK-LABEL: @most
// BYTES: chosen rows alone travel: 72 bytes per rank at even routing, 96 at most, in place of 96
func.func @most(%x: tensor<2x4x6xf32, #few>, %ids: tensor<4x3xi32, #all>, %w: tensor<2x6x6xf32, #weight>) -> tensor<4x2x6xf32, #many> {
  // CHECK: dist.exchange_rows
  %r = dist.all_to_all %x from = 0 to = 1 axes = {"ep"} : tensor<2x4x6xf32, #few> -> tensor<4x2x6xf32, #many>
  %y = graph.expert_linear %r, %w, %ids : (tensor<4x2x6xf32, #many>, tensor<2x6x6xf32, #weight>, tensor<4x3xi32, #all>) -> tensor<4x2x6xf32, #many>
  return %y : tensor<4x2x6xf32, #many>
}

// -----

// Where every expert may be chosen there is nothing to leave out.
#few = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 4, 6]>
#many = #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 4, 6]>
#all = #dist.sharding<@mesh, [{}, {}], global=[4, 4]>
#weight = #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 6, 6]>
dist.mesh @mesh = <["ep"=2]>
// CHECK-LABEL: @every_one
func.func @every_one(%x: tensor<2x4x6xf32, #few>, %ids: tensor<4x4xi32, #all>, %w: tensor<2x6x6xf32, #weight>) -> tensor<4x2x6xf32, #many> {
  // CHECK: dist.all_to_all
  %r = dist.all_to_all %x from = 0 to = 1 axes = {"ep"} : tensor<2x4x6xf32, #few> -> tensor<4x2x6xf32, #many>
  %y = graph.expert_linear %r, %w, %ids : (tensor<4x2x6xf32, #many>, tensor<2x6x6xf32, #weight>, tensor<4x4xi32, #all>) -> tensor<4x2x6xf32, #many>
  return %y : tensor<4x2x6xf32, #many>
}
