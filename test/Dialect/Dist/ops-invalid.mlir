// RUN: llm-opt %s --split-input-file --verify-diagnostics

// reshard of nothing
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{operand carries no sharding}}
  %0 = dist.reshard %x : tensor<4x8xf32> -> tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return
}

// -----

// reshard on spmd
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{stands on rung sharded only}}
  %0 = dist.reshard %x : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>
  return
}

// -----

// reshard changes the shape
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) {
  // expected-error @+1 {{only the sharding may change}}
  %0 = dist.reshard %x : tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>> -> tensor<8x4xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return
}

// -----

// reshard into a sum of booleans
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{makes a partial sum of 'i1', which cannot be added up}}
  %0 = dist.reshard %x : tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}]>> -> tensor<4x8xi1, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// contribute over an axis that splits the value
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{contribute' op axis x is in use already: ranks along it hold no copies to contribute}}
  %0 = dist.contribute %x axes = {"x"} : tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 8]>>
  return
}

// -----

// contribute over an axis over which the value is partial already
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>>) {
  // expected-error @+1 {{axis y:(2)2 is in use already}}
  %0 = dist.contribute %x axes = {"y":(2)2} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>>
  return
}

// -----

// contribute of nothing new
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result must be partial over {x}, not {}}}
  %0 = dist.contribute %x axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
  return
}

// -----

// contribute over fewer axes than the result says
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>) {
  // expected-error @+1 {{result must be partial over {x}, not {x, z}}}
  %0 = dist.contribute %x axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "z"}, global=[4, 8]>>
  return
}

// -----

// contribute to a maximum of sums
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>>) {
  // expected-error @+1 {{makes a partial sum and a partial maximum at once; reduce one before}}
  %0 = dist.contribute %x axes = {"x"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x", "y"}, global=[4, 8]>>
  return
}

// -----

// contribute to a sum of booleans
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4xi1, #dist.sharding<@mesh, [{}], global=[4]>>) {
  // expected-error @+1 {{makes a sum of 'i1', which cannot be added up}}
  %0 = dist.contribute %x axes = {"x"} : tensor<4xi1, #dist.sharding<@mesh, [{}], global=[4]>> -> tensor<4xi1, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[4]>>
  return
}

// -----

// constraint on a sharded value
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{its operand must not carry a sharding yet}}
  %0 = dist.constraint %x <@mesh, [{"x"}, {}]> : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// constraint of another rank
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{sharding has 1 dimensions, the tensor 2}}
  %0 = dist.constraint %x <@mesh, [{"x"}]> : tensor<4x8xf32>
  return
}

// -----

// constraint with an unknown axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{axis "w" is not in the mesh}}
  %0 = dist.constraint %x <@mesh, [{"w"}, {}]> : tensor<4x8xf32>
  return
}

// -----

// constraint asks for a partial value
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{cannot ask for a partial value}}
  %0 = dist.constraint %x <@mesh, [{}, {}], partial=sum{"x"}> : tensor<4x8xf32>
  return
}

// -----

// constraint with global sizes
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{takes a sharding without global sizes}}
  %0 = dist.constraint %x <@mesh, [{}, {}], global=[4, 8]> : tensor<4x8xf32>
  return
}

// -----

// a barrier behind propagation
dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) {
  // expected-error @+1 {{stands before propagation: its operand must not carry a sharding yet}}
  %0 = dist.propagation_barrier %x : tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return
}

// -----

// a member of no group
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{names no group}}
  %0 = dist.sharding_group %x "" : tensor<4x8xf32>
  return
}

// -----

// a member of a group behind propagation
dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) {
  // expected-error @+1 {{stands before propagation: its operand must not carry a sharding yet}}
  %0 = dist.sharding_group %x "g" : tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return
}
