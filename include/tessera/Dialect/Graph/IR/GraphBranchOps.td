#ifndef TESSERA_DIALECT_GRAPH_GRAPHBRANCHOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHBRANCHOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_IfOp : Op<Graph_Dialect, "if", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"BranchYieldOp">,
    DeclareOpInterfaceMethods<DataFlowOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "One of two branches, by a condition that is data";
  let description = [{
    Gives what the first branch yields where `condition` is true, else what the second one does. Branches take no arguments: they read values around them. A result has one
    sharding, whichever branch makes it; what a branch reads lies as it does outside, and is resharded inside if the branch needs it otherwise. The condition is whole on every rank, so
    that all ranks take one branch, and may communicate in it. Of more than two branches, one stands in the second branch of another.

    The branch that is taken runs, and nothing of the other one: `spmd-to-kernels` makes two `exec.for` of it, of which one runs. No gradients flow through it, and an attention in
    it has no KV cache.
    ```mlir
    // given %c: tensor<i1>, %x: tensor<4x8xf32>
    %r = graph.if %c : tensor<i1> -> (tensor<4x8xf32>) {
      %y = graph.tanh %x : tensor<4x8xf32>
      graph.branch_yield %y : tensor<4x8xf32>
    } else {
      graph.branch_yield %x : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Graph_BoolTensor:$condition);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$taken, SizedRegion<1>:$other);
  let assemblyFormat = "$condition `:` type($condition) `->` `(` type($results) `)` attr-dict-with-keyword $taken `else` $other";
  let hasRegionVerifier = 1;
}

def Graph_BranchYieldOp : Op<Graph_Dialect, "branch_yield", [Pure, Terminator, HasParent<"IfOp">]> {
  let summary = "Ends a branch: the results";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>]; // of a branch that gives nothing
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif
