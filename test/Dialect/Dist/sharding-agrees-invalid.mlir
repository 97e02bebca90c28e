// An op whose types disagree with its rule does not verify.
// RUN: llm-opt %s --split-input-file --verify-diagnostics

// no such mesh
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) {
  // expected-error @+1 {{refers to mesh @mesh, but there is no such dist.mesh}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return
}

// -----

// axis that the mesh lacks
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"w"}, {}]>>) {
  // expected-error @+1 {{operand #0: axis "w" is not in the mesh}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{"w"}, {}]>>
  return
}

// -----

// sub-axis that does not divide
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)3}, {}]>>) {
  // expected-error @+1 {{operand #0: dimension 0: sub-axis y:(1)3 does not divide axis y of size 4}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)3}, {}]>>
  return
}

// -----

// sub-axis that is the axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)4}, {}]>>) {
  // expected-error @+1 {{operand #0: sub-axis "y":(1)4 is the whole axis: write "y"}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)4}, {}]>>
  return
}

// -----

// neighbours that are one
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)2, "y":(2)2}, {}]>>) {
  // expected-error @+1 {{sub-axes y:(1)2 and y:(2)2 stand side by side and must be written as one}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)2, "y":(2)2}, {}]>>
  return
}

// -----

// replicated axes out of order
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], replicated={"y", "x"}>>) {
  // expected-error @+1 {{replicated axes are not in mesh order}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], replicated={"y", "x"}>>
  return
}

// -----

// partial axes out of order
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y", "x"}>>) {
  // expected-error @+1 {{partial axes are not in mesh order}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y", "x"}>>
  return
}

// -----

// priority of nothing
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}p1, {}]>>) {
  // expected-error @+1 {{an empty, closed dimension has no priority}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{}p1, {}]>>
  return
}

// -----

// local size
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"y"}], global=[4, 8]>>) {
  // expected-error @+1 {{operand #0: dimension 1 has local size 3, but a global size of 8 over 4 shards makes 2}}
  %0 = graph.relu %x : tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"y"}], global=[4, 8]>>
  return
}

// -----

// not all carry a sharding
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{has a tensor without a sharding}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<16x8xf32>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// another encoding
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %w: tensor<16x8xf32, "csr">) {
  // expected-error @+1 {{which is no #dist.sharding}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<16x8xf32, "csr">) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// local and global types
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{mixes local types}}
  %0 = graph.transpose %x [1, 0] : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 4]>>
  return
}

// -----

// contraction sharded on one side
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{operand #0 dimension 1 is sharded over {x}, but operand #1 dimension 1, the same factor of the op, over {}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// rows in, nothing out
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{operand #0 dimension 0 is sharded over {x}, but result #0 dimension 0, the same factor of the op, over {}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// columns of the weight lost
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) {
  // expected-error @+1 {{operand #1 dimension 0 is sharded over {y}, but result #0 dimension 1, the same factor of the op, over {}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// a piece of the axis
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) {
  // expected-error @+1 {{operand #1 dimension 0 is sharded over {y}, but result #0 dimension 1, the same factor of the op, over {y:(1)2}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {"y":(1)2}]>>
  return
}

// -----

// order of axes
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}]>>) {
  // expected-error @+1 {{operand #1 dimension 0 is sharded over {x, y}, but result #0 dimension 1, the same factor of the op, over {y, x}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {"y", "x"}]>>
  return
}

// -----

// the forgotten all_reduce
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>) {
  // expected-error @+1 {{result #0 must be partial over {y} (what the op reduces over and what its operands are partial over), its type says {}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// partial over too little
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>) {
  // expected-error @+1 {{result #0 must be partial over {x, y}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// partial over too much
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{result #0 must be partial over {}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// a sum, not a maximum
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>) {
  // expected-error @+1 {{result #0 must be a partial sum}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"y"}>>
  return
}

// -----

// a partial factor of a product passes through
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{result #0 must be partial over {y}}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// two partial factors
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>) {
  // expected-error @+1 {{operand #0 is a partial sum over {y} and must be reduced before}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>
  return
}

// -----

// partial maximum into a product
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"y"}>>, %w: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{operand #0 is a partial max over {y} and must be reduced before}}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"y"}>>, tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x16xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"y"}>>
  return
}

// -----

// partial plus whole
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{operand #0 is a partial sum over {x} and must be reduced before: the op is not linear in this operand alone}}
  %0 = graph.add %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// a part of the partial axes
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y":(1)2}>>) {
  // expected-error @+1 {{operand #0 is a partial sum over {y:(2)2} and must be reduced before}}
  %0 = graph.add %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y":(1)2}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}>>
  return
}

// -----

// sum of partials forgets
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{result #0 must be partial over {x}}}
  %0 = graph.add %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}

// -----

// product of partials
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{must be reduced before: the op is not linear in these operands}}
  %0 = graph.mul %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// division by a partial
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{operand #1 is a partial sum over {x} and must be reduced before}}
  %0 = graph.div %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// sum and maximum
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>) {
  // expected-error @+1 {{mixes a partial sum and a partial maximum over {x}}}
  %0 = graph.add %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// maximum of a partial sum
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.maximum %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// dimensions of an elementwise op
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) {
  // expected-error @+1 {{operand #0 dimension 0 is sharded over {x}, but operand #1 dimension 0, the same factor of the op, over {}}}
  %0 = graph.mul %x, %y : (tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return
}

// -----

// a non-linear function of a partial sum
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>) {
  // expected-error @+1 {{operand #0 is a partial sum over {x} and must be reduced before}}
  %0 = graph.relu %x : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// -----

// softmax over a sharded dimension
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) {
  // expected-error @+1 {{dimension 1 is sharded over {x}, but the op needs it whole}}
  %0 = graph.softmax %x : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
  return
}

// -----

// sum over a sharded dimension
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) {
  // expected-error @+1 {{result #0 must be partial over {y}}}
  %0 = graph.reduce sum %x dims = [0] : (tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{}]>>
  return
}

// -----

// maximum over a sharded dimension
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) {
  // expected-error @+1 {{result #0 must be a partial max}}
  %0 = graph.reduce max %x dims = [0] : (tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"y"}>>
  return
}

// -----

// a reshape that merges a minor factor
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<4x9xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) {
  // expected-error @+1 {{operand #0 dimension 0 is sharded over {}, but result #0 dimension 0, the same factor of the op, over {x}}}
  %0 = graph.reshape %x : (tensor<4x9xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<36xf32, #dist.sharding<@mesh, [{"x"}]>>
  return
}

// -----

// a reshape with padding inside
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2x9xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) {
  // expected-error @+1 {{cuts through one of size 9}}
  %0 = graph.reshape %x : (tensor<2x9xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) -> tensor<18xf32, #dist.sharding<@mesh, [{"y"}]>>
  return
}

// -----

// a broadcast dimension cannot be sharded
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<1x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, %y: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) {
  // expected-error @+1 {{dimension 0 is sharded over {x}}}
  %0 = graph.mul %x, %y : (tensor<1x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return
}

// -----

// rows of a sharded table
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%t: tensor<16x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, %i: tensor<4xi32, #dist.sharding<@mesh, [{}]>>) {
  // expected-error @+1 {{result #0 must be partial over {x}}}
  %0 = graph.embedding %t, %i : (tensor<16x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<4xi32, #dist.sharding<@mesh, [{}]>>) -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}]>>
  return
}
