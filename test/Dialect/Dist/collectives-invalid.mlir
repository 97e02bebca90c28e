// RUN: llm-opt %s --split-input-file --verify-diagnostics

// gather of another axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{all_gather' op {y} are not the minor-most axes of dimension 0, which is sharded over {x}}}
  %0 = dist.all_gather %x dim = 0 axes = {"y"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// gather of the major axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<1x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{{x} are not the minor-most axes of dimension 0, which is sharded over {x, y}}}
  %0 = dist.all_gather %x dim = 0 axes = {"x"} : tensor<1x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[4, 8]>> -> tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>
  return
}

// -----

// gather of another dimension
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{{x} are not the minor-most axes of dimension 1}}
  %0 = dist.all_gather %x dim = 1 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// result of a gather
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<1x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result dimension 0 must be sharded over {x}, not {}}}
  %0 = dist.all_gather %x dim = 0 axes = {"y"} : tensor<1x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// dimension out of range
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{dimension 2 is out of range for a tensor of rank 2}}
  %0 = dist.all_gather %x dim = 2 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// no axes
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{names no axes}}
  %0 = dist.all_gather %x dim = 0 axes = {} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// unknown axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{axis "w" is not in the mesh}}
  %0 = dist.all_gather %x dim = 0 axes = {"w"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// axis twice
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{axis x is used twice}}
  %0 = dist.all_gather %x dim = 0 axes = {"x", "x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// slice over an axis in use
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{axis x is in use already, it cannot split dimension 1}}
  %0 = dist.all_slice %x dim = 1 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 8]>>
  return
}

// -----

// slice of a partial value over its axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{axis x is in use already, it cannot split dimension 1}}
  %0 = dist.all_slice %x dim = 1 axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 8]>>
  return
}

// -----

// result of a slice
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result dimension 0 must be sharded over {x, y}, not {y, x}}}
  %0 = dist.all_slice %x dim = 0 axes = {"y"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<1x8xf32, #dist.sharding<@mesh, [{"y", "x"}, {}], global=[4, 8]>>
  return
}

// -----

// reduce over a whole axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{combines over {y}, but the operand is partial over {x}}}
  %0 = dist.all_reduce %x axes = {"y"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// reduce of nothing
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{combines over {x}, but the operand is partial over {}}}
  %0 = dist.all_reduce %x axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// what is left after a reduction
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "y"}, global=[4, 8]>>) {
  // expected-error @+1 {{result must be partial over {y}, not {}}}
  %0 = dist.all_reduce %x axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "y"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// a maximum stays one
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x", "y"}, global=[4, 8]>>) {
  // expected-error @+1 {{result must be partial over {y}, not {y}, with the operand's kind}}
  %0 = dist.all_reduce %x axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x", "y"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>>
  return
}

// -----

// scatter of another axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{combines over {y}, but the operand is partial over {x}}}
  %0 = dist.reduce_scatter %x dim = 1 axes = {"y"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>> -> tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"y"}], global=[4, 8]>>
  return
}

// -----

// scatter along another dimension
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{result dimension 0 must be sharded over {x}, not {}}}
  %0 = dist.reduce_scatter %x dim = 0 axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 8]>>
  return
}

// -----

// all_to_all onto itself
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{moves axes from dimension 0 to itself}}
  %0 = dist.all_to_all %x from = 0 to = 0 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>
  return
}

// -----

// all_to_all of another axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{{y} are not the minor-most axes of dimension 0}}
  %0 = dist.all_to_all %x from = 0 to = 1 axes = {"y"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 8]>>
  return
}

// -----

// result of an all_to_all
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result dimension 1 must be sharded over {x}, not {}}}
  %0 = dist.all_to_all %x from = 0 to = 1 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// all_to_all from out of range
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{dimension 'from' -1 is out of range}}
  %0 = dist.all_to_all %x from = -1 to = 1 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 8]>>
  return
}

// -----

// permute changes the number of pieces
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{dimension 0: 2 pieces before, 4 after; whole pieces move, their number stays}}
  %0 = dist.collective_permute %x : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>
  return
}

// -----

// permute mirrors what no dimension lies over
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{mirrors {y}, over which no dimension lies}}
  %0 = dist.collective_permute %x mirrored = {"y"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>
  return
}

// -----

// permute mirrors and moves at once
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result dimension 0 must be sharded over {y}, not}}
  %0 = dist.collective_permute %x mirrored = {"y":(1)2} : tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>> -> tensor<1x8xf32, #dist.sharding<@mesh, [{"y":(2)2, "y":(1)2}, {}], global=[4, 8]>>
  return
}

// -----

// permute does not sum
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>) {
  // expected-error @+1 {{result must be partial over {x}, not {}}}
  %0 = dist.collective_permute %x : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// grouped sends do not sum
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}, global=[5, 8]>>) {
  // expected-error @+1 {{result must be partial over {y}, not {}}}
  %0 = dist.grouped_send %x : tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}, global=[5, 8]>> -> tensor<2x8xf32, #dist.sharding<@mesh, [{"z"}, {}], global=[5, 8]>>
  return
}

// -----

// grouped sends do not make a sum a maximum
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<3xf32, #dist.sharding<@mesh, [{"x"}], partial=sum{"y"}, global=[5]>>) {
  // expected-error @+1 {{result must be partial over {y}, not {y}, with the operand's kind}}
  %0 = dist.grouped_send %x : tensor<3xf32, #dist.sharding<@mesh, [{"x"}], partial=sum{"y"}, global=[5]>> -> tensor<2xf32, #dist.sharding<@mesh, [{"z"}], partial=max{"y"}, global=[5]>>
  return
}

// -----

// grouped sends of what everybody has: a slice
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<5x8xf32, #dist.sharding<@mesh, [{}, {}], global=[5, 8]>>) {
  // expected-error @+1 {{sends nothing: every rank has what it wants of [x/y]}}
  %0 = dist.grouped_send %x : tensor<5x8xf32, #dist.sharding<@mesh, [{}, {}], global=[5, 8]>> -> tensor<3x2xf32, #dist.sharding<@mesh, [{"x"}, {"y"}], global=[5, 8]>>
  return
}

// -----

// grouped sends to nowhere
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>>) {
  // expected-error @+1 {{sends nothing: every rank has what it wants of [x/-]}}
  %0 = dist.grouped_send %x : tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>> -> tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>>
  return
}

// -----

// grouped sends of another tensor
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>>) {
  // expected-error @+1 {{changes the global sizes}}
  %0 = dist.grouped_send %x : tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>> -> tensor<2x8xf32, #dist.sharding<@mesh, [{"z"}, {}], global=[6, 8]>>
  return
}

// -----

// grouped sends of more than there is
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>>) {
  // expected-error @+1 {{takes 4 elements at 2 of dimension 0, which has 5}}
  %0 = dist.grouped_send %x at [2, 0] : tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>> -> tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>
  return
}

// -----

// grouped sends of a slice that every rank has
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>>) {
  // expected-error @+1 {{sends nothing: every rank has what it wants of [x/-]}}
  %0 = dist.grouped_send %x at [0, 3] : tensor<3x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 8]>> -> tensor<3x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>>
  return
}

// -----

// grouped sends before rung spmd
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<5xf32, #dist.sharding<@mesh, [{"x"}]>>) {
  // expected-error @+1 {{operand has no global sizes: collectives stand on rung spmd}}
  %0 = dist.grouped_send %x : tensor<5xf32, #dist.sharding<@mesh, [{"x"}]>> -> tensor<5xf32, #dist.sharding<@mesh, [{"z"}]>>
  return
}

// -----

// element type
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{changes the element type from 'f32' to 'f16'}}
  %0 = dist.all_gather %x dim = 0 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf16, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// global sizes
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{changes the global sizes}}
  %0 = dist.all_gather %x dim = 0 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<3x8xf32, #dist.sharding<@mesh, [{}, {}], global=[3, 8]>>
  return
}

// -----

// collectives on global types
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) {
  // expected-error @+1 {{operand has no global sizes: collectives stand on rung spmd}}
  %0 = dist.all_gather %x dim = 0 axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// local size of the result
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result: dimension 1 has local size 7, but a global size of 8 over 2 shards makes 4}}
  %0 = dist.all_slice %x dim = 1 axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>> -> tensor<4x7xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 8]>>
  return
}

// -----

// no sharding on the result
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result carries no sharding}}
  %0 = dist.all_gather %x dim = 0 axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32>
  return
}
