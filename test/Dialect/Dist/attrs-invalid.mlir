// RUN: llm-opt %s --split-input-file --verify-diagnostics

// rank
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{sharding has 1 dimensions, the tensor 2}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}]>>)

// -----

// one axis on two dimensions
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{axis "x" is used twice}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {"x"}]>>)

// -----

// one axis twice in a dimension
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{axis "x" is used twice}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"x", "x"}, {}]>>)

// -----

// an axis that splits cannot be replicated
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{axis "x" is used twice}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], replicated={"x"}>>)

// -----

// an axis that splits cannot be partial
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{axis "x" is used twice}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"x"}>>)

// -----

// overlapping sub-axes
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{axis "y" is used twice}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)4}, {"y":(2)2}]>>)

// -----

// a whole axis overlaps its pieces
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{axis "y" is used twice}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {"y":(2)2}]>>)

// -----

// sub-axis of size 1
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{the part before must be at least 1, the size at least 2}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)1}, {}]>>)

// -----

// sub-axis before the first digit
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{the part before must be at least 1, the size at least 2}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(0)2}, {}]>>)

// -----

// priority without a number
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{expected a priority: p and a number}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}q1, {}]>>)

// -----

// partial kind
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{a partial value is a sum or a max, not 'mean'}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=mean{"x"}>>)

// -----

// partial without axes
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{partial without axes}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{}>>)

// -----

// unknown word
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{expected replicated, partial or global, each once, not 'local'}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], local=[4]>>)

// -----

// one word twice
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{expected replicated, partial or global, each once, not 'partial'}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, partial=sum{"y"}>>)

// -----

// global rank
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{global has 1 sizes, the tensor 2 dimensions}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4]>>)

// -----

// local larger than global
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{dimension 1: local size 8 is larger than the global size 6}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 6]>>)

// -----

// whole dimension with another local size
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{dimension 0: local size 4, but a global size of 6 over 1 shards makes 6}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[6, 8]>>)

// -----

// sub-axes tell the number of shards
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{dimension 0: local size 4, but a global size of 6 over 2 shards makes 3}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{"y":(1)2}, {}], global=[6, 8]>>)

// -----

// open comes last
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{expected '}'}}
func.func private @f(tensor<4x8xf32, #dist.sharding<@mesh, [{?, "x"}, {}]>>)

// -----

// size 0
// expected-error @+1 {{mesh axis "x" has size 0, less than 1}}
dist.mesh @mesh = <["x"=0]>

// -----

// repeated name
// expected-error @+1 {{mesh axis "x" stands twice}}
dist.mesh @mesh = <["x"=2, "x"=3]>

// -----

// too many ranks
// expected-error @+1 {{mesh has more than 1048576 ranks}}
dist.mesh @mesh = <["x"=1048576, "y"=2]>

// -----

// axis without a name
// expected-error @+1 {{mesh has an axis without a name}}
dist.mesh @mesh = <[""=2]>

// -----

// one mesh a program
// expected-note @+1 {{the first one}}
dist.mesh @a = <["x"=2]>
// expected-error @+1 {{is the second mesh: a program runs on one mesh}}
dist.mesh @b = <["x"=2]>

// -----

// sizes whose products would overflow
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
// expected-error @+1 {{sub-axis of "x": no axis is larger than 1048576}}
func.func private @f(tensor<2xf32, #dist.sharding<@mesh, [{"x":(1)99999999999999999}], global=[9223372036854775807]>>)

// -----

// the same in a collective
dist.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{sub-axis of "x": no axis is larger than 1048576}}
  %0 = dist.all_gather %x dim = 0 axes = {"x":(99999999999999999)2} : tensor<2xf32> -> tensor<4xf32>
  return
}
