#ifndef TESSERA_DIALECT_DIST_DISTROWOPS_TD
#define TESSERA_DIALECT_DIST_DISTROWOPS_TD

// Included by DistOps.td, which defines the classes used here. Its code is generated apart (DistRowOps.h.inc):
// few files name these ops.

include "tessera/Interfaces/ChosenRowsOpInterface.td"

def Dist_ExchangeRowsOp : Dist_CollectiveOp<"exchange_rows", [DeclareOpInterfaceMethods<ChosenRowsOpInterface>]> {
  let summary = "An all_to_all of rows that were chosen: how many go where is data";
  let description = [{
    `input` is [n..., e, d], and of its rows (n, e) those count whose e is among the ids of n. As `all_to_all` does, it moves `axes` between dimension `dim` of n... and e: `to_experts` they leave
    `dim`, where they are the minor-most, and come to e; without, they leave e and come to `dim`. Only rows that were chosen travel, and arrive; what the others of the result hold is
    nobody's business, and all that reads it has to choose by `received_ids`. `sent_ids` are the ids of the tokens that the operand has, `received_ids` those of the result's; they are
    the same choices, so that both sides know how many rows go where, and nobody sends a count.

    Buffers hold the worst case, no row is dropped, and bytes follow the rows that there are: `getBytesSent` is that of even routing, `getMostBytesSent` what no choice exceeds. Tokens have to divide:
    what one rank has of `dim` is a whole number of what the other side has. Experts need not (5 over 2).

    Rung `spmd`; made by `dist-optimize-collectives` of an `all_to_all` whose readers choose, lowered by forms of the target.
    ```mlir
    // given %rows: tensor<2x8x6xf32, #dist.sharding<@mesh, [{"ep"}, {}, {} ], global=[4, 8, 6]>>, %own: tensor<2x3xi32, #dist.sharding<@mesh, [{"ep"}, {} ], global=[4, 3]>>, %all: tensor<4x3xi32, #dist.sharding<@mesh, [{}, {} ], global=[4, 3]>>
    dist.mesh @mesh = <["ep"=2]>
    %1 = dist.exchange_rows %rows, %own, %all dim = 0 axes = {"ep"} to_experts
        : (tensor<2x8x6xf32, #dist.sharding<@mesh, [{"ep"}, {}, {} ], global=[4, 8, 6]>>, tensor<2x3xi32, #dist.sharding<@mesh, [{"ep"}, {} ], global=[4, 3]>>,
           tensor<4x3xi32, #dist.sharding<@mesh, [{}, {} ], global=[4, 3]>>) -> tensor<4x4x6xf32, #dist.sharding<@mesh, [{}, {"ep"}, {} ], global=[4, 8, 6]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$sent_ids, AnyRankedTensor:$received_ids, I64Attr:$dim, ArrayAttr:$axes, UnitAttr:$to_experts,
      OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $input `,` $sent_ids `,` $received_ids `dim` `=` $dim `axes` `=` custom<Axes>($axes) (`to_experts` $to_experts^)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Rows that a rank sends if every expert has as many, and those that it sends whatever the choices are.
    int64_t getEvenRows();
    int64_t getMostRows();
    /// Bytes of the latter.
    int64_t getMostBytesSent();
    /// Ranks that exchange with each other.
    int64_t getGroupSize();
  }];
}

#endif
