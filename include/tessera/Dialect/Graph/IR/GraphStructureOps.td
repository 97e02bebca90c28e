#ifndef TESSERA_DIALECT_GRAPH_GRAPHSTRUCTUREOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHSTRUCTUREOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"
include "tessera/Dialect/Graph/IR/GraphAttrs.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Graph_ParameterOp : Op<Graph_Dialect, "parameter", [Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A weight: its shape and where it comes from in the checkpoint";
  let description = [{
    Functions take the weight as an argument with `graph.kind = #graph.kind<parameter>` and `graph.name` = the symbol. A stacked weight's leading
    dimension is `layer`: `{}` in the source name stands for the layer's number, `{i+4}` for those of a stack that begins with layer 4, `{2i+1}` for every
    second one from layer 1 on.
    ```mlir
    graph.parameter @layers.q : tensor<4x2x3x8x48xf32> stacked
        from [#graph.source<"model.layers.{}.self_attn.q_proj.weight", file = [48, 48], reshape = [2, 3, 8, 48]>]
    ```
    Per layer: file tensor -> `reshape` -> `slice` ([begin, end) pairs, empty: all) -> `permute` (empty: none) -> reshape to the parameter's shape. Several
    sources are concatenated along the first dimension (after `layer`) before the last step.

    A `variable` is updated in place by entries and can be read back by the host, for saving: it is always held plain, and a packed form beside it is a cached
    view, which `exec.pack` makes again. Any other parameter is only read. An entry that updates it returns its next value as a result of kind `parameter` with its name.

    `graph.state_of = #graph.state_of<"exp_avg" of @w>` says that it is what an optimizer keeps beside the weight @w (docs/TrainStep.md).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, UnitAttr:$stacked,
      TypedArrayAttrBase<Graph_Source, "sources">:$sources, UnitAttr:$variable);
  let assemblyFormat = "$sym_name `:` $type (`stacked` $stacked^)? (`variable` $variable^)? `from` $sources attr-dict";
  let hasVerifier = 1;
}

def Graph_RepeatOp : Op<Graph_Dialect, "repeat", [AttrSizedOperandSegments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<DataFlowOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "Equal layers, run one after another";
  let description = [{
    Runs `count` iterations over a period of one or more bodies: layer i runs body i mod (number of bodies). Every body takes
    (layer index i as tensor<i32>, carried values..., slice i of every stack...) and yields the next carried values, then slices of the stacks that the
    loop returns. Carried values have the types of `inits` and of the first results; a stack [count, d...] is seen as [d...]; a result after the carried ones is a
    stack whose slice i iteration i yields (what forward keeps for backward, gradients of stacked weights). `reverse`: layers from the last
    to the first (backward).
    One body stands for all equal layers on every rung, into the binary.
    ```mlir
    // given %x: tensor<1x16x48xf32>, %w: tensor<4x48xf32>
    %r = graph.repeat 4 carry(%x : tensor<1x16x48xf32>) stack(%w : tensor<4x48xf32>) -> (tensor<1x16x48xf32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<1x16x48xf32>, %wi: tensor<48xf32>):
      %y = graph.mul %h, %wi : (tensor<1x16x48xf32>, tensor<48xf32>) -> tensor<1x16x48xf32>
      graph.yield %y : tensor<1x16x48xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$count, UnitAttr:$reverse, Variadic<AnyRankedTensor>:$inits, Variadic<AnyRankedTensor>:$stacks);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$resultTypes, "int64_t":$count, "::mlir::ValueRange":$inits, "::mlir::ValueRange":$stacks,
      "unsigned":$bodies, CArg<"bool", "false">:$reverse), [{
    build($_builder, $_state, resultTypes, uint64_t(count), reverse, inits, stacks, bodies);
  }]>];
  let assemblyFormat = [{
    $count (`reverse` $reverse^)? `carry` `(` ($inits^ `:` type($inits))? `)` (`stack` `(` $stacks^ `:` type($stacks) `)`)? `->` `(` type($results) `)` attr-dict-with-keyword $bodies
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBody(unsigned i) { return getBodies()[i].front(); }
    ::mlir::BlockArgument getIndex(unsigned body) { return getBody(body).getArgument(0); }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getCarried(unsigned body) {
      return getBody(body).getArguments().slice(1, getInits().size());
    }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getSlices(unsigned body) {
      return getBody(body).getArguments().drop_front(1 + getInits().size());
    }
    /// Results that are stacks, and the slices of them that a body yields.
    ::mlir::ResultRange getCollected() { return getResults().drop_front(getInits().size()); }
    ::mlir::OperandRange getCollectedSlices(unsigned body) {
      return getBody(body).getTerminator()->getOperands().drop_front(getInits().size());
    }
    /// The layer that iteration `i` is about.
    int64_t getLayer(int64_t i) { return getReverse() ? int64_t(getCount()) - 1 - i : i; }
  }];
}

def Graph_YieldOp : Op<Graph_Dialect, "yield", [Pure, Terminator, HasParent<"RepeatOp">]> {
  let summary = "Ends a body: the next carried values, then slices of returned stacks";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>]; // of a body that carries nothing
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif
