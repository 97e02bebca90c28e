#ifndef TESSERA_DIALECT_DIST_DISTMANUALOPS_TD
#define TESSERA_DIALECT_DIST_DISTMANUALOPS_TD

// Included by DistOps.td, which defines the classes used here. Its code is generated apart (DistManualOps.h.inc):
// few files name these ops.

def Dist_ManualComputationOp : Dist_Op<"manual_computation", [IsolatedFromAbove, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"ManualYieldOp">, DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "A program that is written for one rank, over some axes";
  let description = [{
    Along `axes` the body is the program of each rank: it takes the rank's pieces of the operands and yields its pieces of the results. Along all other axes it is a program like any other, which is propagated
    through, placed and partitioned. `in` and `out` say how operands and results lie around it: in each dimension manual axes come first, and have pieces of one size. Of a manual axis that a result does not
    have the body promises that ranks along it hold the same, or, where the result is partial over it (`partial=sum{"x"}`), terms: whoever reads the result closes the sum.

    Nothing in the body lies over a manual axis, and nothing is read from around it. On rung `step` `in` and `out` are annotations, open or closed in the other axes; from rung `sharded` on types say
    what they did. The judge runs the body for all ranks.
    ```mlir
    // given %x: tensor<8x16xf32>, %w: tensor<16x16xf32>
    dist.mesh @mesh = <["x"=2, "y"=2]>
    %r = dist.manual_computation over {"x"} (%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) -> (tensor<8x16xf32>)
        in [#dist.sharding<@mesh, [{}, {"x"} ]>, #dist.sharding<@mesh, [{?}, {"x"} ]>] out [#dist.sharding<@mesh, [{?}, {?} ], partial=sum{"x"}>] {
    ^bb0(%piece: tensor<8x8xf32>, %columns: tensor<16x8xf32>):
      %t = graph.linear %piece, %columns contract = 1 : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<8x16xf32>
      dist.manual_yield %t : tensor<8x16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, ArrayAttr:$axes, OptionalAttr<ArrayAttr>:$in_shardings, OptionalAttr<ArrayAttr>:$out_shardings);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` custom<Axes>($axes) ` ` `(` ($inputs^ `:` type($inputs))? `)` `->` `(` type($results) `)` (`in` $in_shardings^)? (`out` $out_shardings^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getProgram() { return getBody().front(); }
    ::tessera::AxisList getManualAxes(const ::tessera::Mesh &mesh);
    /// How operand (result) `i` lies around the body: what its type says, or an annotation.
    ShardingAttr getInSharding(unsigned i);
    ShardingAttr getOutSharding(unsigned i);
    /// What `sharding`, of an operand or a result, is in the body: all but the manual axes.
    ::tessera::Sharding inside(::tessera::Sharding sharding, const ::tessera::Mesh &mesh);
  }];
}

def Dist_ManualYieldOp : Dist_Op<"manual_yield", [Pure, Terminator, HasParent<"ManualComputationOp">]> {
  let summary = "Ends a manual computation: this rank's pieces of the results";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>]; // of a body that gives nothing
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif
