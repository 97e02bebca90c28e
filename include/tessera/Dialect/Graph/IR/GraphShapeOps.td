#ifndef TESSERA_DIALECT_GRAPH_GRAPHSHAPEOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHSHAPEOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"

def Graph_ConstantOp : Graph_Op<"constant", [ConstantLike]> {
  let summary = "A constant: a splat, or all elements written out";
  let description = "A dense (not splat) constant needs replication on rung `spmd`; splats may be sharded on every dimension.";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_IotaOp : Graph_Op<"iota"> {
  let summary = "0, 1, 2, ... along one dimension";
  let description = "On rung `spmd` it counts from where the rank's shard begins.";
  let arguments = (ins I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_CompareOp : Graph_Op<"compare", [DeclareOpInterfaceMethods<ElementwiseScalarOpInterface>]> {
  let summary = "Elementwise comparison with trailing broadcast; i1 result";
  let arguments = (ins Graph_CompareKind:$kind, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SelectOp : Graph_Op<"select", [Graph_Derivative, DeclareOpInterfaceMethods<ElementwiseScalarOpInterface>]> {
  let summary = "Elementwise: condition ? lhs : rhs, with trailing broadcast";
  let arguments = (ins Graph_BoolTensor:$condition, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ReshapeOp : Graph_Op<"reshape", [Graph_Derivative, SameElementsOpInterface]> {
  let summary = "The same elements in row-major order in another shape";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", [Graph_Derivative]> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_BroadcastOp : Graph_Op<"broadcast", [Graph_Derivative]> {
  let summary = "operand dimension i becomes result dimension dims[i]; the rest repeats";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Graph_Derivative]> {
  let summary = "Elements [offset, offset + size) of every dimension (size: the result's)";
  let description = [{A dimension that is cut needs replication, or `dist-partition` makes grouped sends of the op that bring the part's pieces to their places;
    dimensions taken whole pass through.}];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$offsets);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `at` $offsets attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ReverseOp : Graph_Op<"reverse", [Graph_Derivative, AllTypesMatch<["input", "result"]>]> {
  let summary = "Elements along `dim` in reverse order";
  let description = [{
    Sharded over `dim` (a permutation factor: where it divides) ranks exchange whole pieces in pairs before. On rung `spmd` it reverses what a rank holds; the
    operand's pieces lie in reverse order by then.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_ConcatOp : Graph_Op<"concat", [Graph_Derivative]> {
  let summary = "Operands one after another along `dim`";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ReduceOp : Graph_Op<"reduce", [Graph_Derivative]> {
  let summary = "Sum or maximum over `dims`, which disappear";
  let description = [{Sharded over a reduced dimension, the result is partial. Elements are the input's, or f32 for a sum of bf16 or f16, which is
    computed in f32 and then not rounded.}];
  let arguments = (ins Graph_ReduceKind:$kind, AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_TakeOp : Graph_Op<"take", [Graph_Derivative]> {
  let summary = "One position per row: input [b, n, d...], index [b] i32 -> [b, 1, d...]";
  let description = "An index outside [0, n) gives zeros. Sharded along n, ranks give zeros for positions of others: a partial sum.";
  let arguments = (ins AnyRankedTensor:$input, Graph_I32Tensor:$index);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $index attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_LayerSliceOp : Graph_Op<"layer_slice", [Graph_Derivative]> {
  let summary = "stack [n, d...], index scalar i32 -> [d...]";
  let description = "Reads one layer of a stacked state; bufferizes to a view.";
  let arguments = (ins AnyRankedTensor:$stack, Graph_I32Tensor:$index);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$stack `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_StackLayerOp : Graph_Op<"stack_layer", [AllTypesMatch<["index", "result"]>]> {
  let summary = "The number that a layer has in a stack of some bodies' layers: index scalar i32 -> scalar i32";
  let description = [{
    Of every `period` layers of a `graph.repeat` the stack holds `held`, of which `before` stand in front of this one: index / period * held + before. Made by
    `graph-build-generate-step` for caches that only some bodies of a period have. It becomes a number of the host (`exec.stack_layer`) and is gone after `spmd-to-kernels`.
    ```mlir
    // given %i: tensor<i32>
    %n = graph.stack_layer %i period = 6 held = 5 before = 3 : tensor<i32>
    ```
  }];
  let arguments = (ins Graph_I32Tensor:$index, I64Attr:$period, I64Attr:$held, I64Attr:$before);
  let results = (outs Graph_I32Tensor:$result);
  let assemblyFormat = "$index `period` `=` $period `held` `=` $held `before` `=` $before attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_MaskPaddingOp : Graph_Op<"mask_padding", [Graph_Derivative, AllTypesMatch<["input", "result"]>]> {
  let summary = "Writes `value` where an index along one of `dims` lies outside the global size";
  let description = [{
    The identity on rungs `graph` to `sharded`. On `spmd`, where a sharded dimension that does not divide is padded, it makes padding
    neutral before a reduction. Made by `dist-partition`.
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims, F64Attr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dims` `=` $dims `value` `=` $value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_NameOp : Graph_Op<"name", [Graph_Derivative, Graph_DropSite, SameElementsOpInterface, AllTypesMatch<["input", "result"]>]> {
  let summary = "Names a value and, if given, its dimensions";
  let description = [{
    What `--shard=residual:seq=tp` refers to. Importers make it; `dist-annotate` reads it; removed when the program is partitioned. An
    `inner` value is sharded as propagation finds best unless an item names it (`dist-annotate` removes the name); the others take the meaning of standard axes, too.
    `drops`: of a value that training may drop elements of (docs/Dropout.md). It says so on rung `graph` alone, and a program that generates drops nothing.
    ```mlir
    // given %0: tensor<1x16x64xf32>
    %1 = graph.name %0 "residual" ["batch", "seq", "hidden"] : tensor<1x16x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$name, OptionalAttr<StrArrayAttr>:$dims, UnitAttr:$inner, UnitAttr:$drops);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input (`inner` $inner^)? $name ($dims^)? (`drops` $drops^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
