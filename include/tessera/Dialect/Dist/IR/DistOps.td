#ifndef TESSERA_DIALECT_DIST_DISTOPS_TD
#define TESSERA_DIALECT_DIST_DISTOPS_TD

include "tessera/Dialect/Dist/IR/DistAttrs.td"
include "tessera/Dialect/Dist/IR/PropagationWordOpInterface.td"
include "tessera/Interfaces/ShardingRuleOpInterface.td"
include "tessera/Interfaces/CollectiveOpInterface.td"
include "tessera/Interfaces/CostOpInterface.td"
include "tessera/Interfaces/DerivativeOpInterface.td"
include "tessera/Interfaces/ReferenceOpInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;

/// The operand, with something that is said to propagation. What such an op is to all others the interface says, once.
class Dist_WordOp<string mnemonic> : Dist_Op<mnemonic, [Pure, AllTypesMatch<["input", "result"]>, PropagationWordOpInterface,
    DerivativeOpInterface, ShardingRuleOpInterface, CostOpInterface, ReferenceOpInterface]> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

def Dist_MeshOp : Dist_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "The mesh of devices: named axes, major to minor in device order";
  let description = [{
    ```mlir
    dist.mesh @mesh = <["dp"=2, "tp"=4]>
    ```
    Created by `dist-annotate` from `--mesh`; stays to the end of rung `spmd`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
  let hasVerifier = 1;
}

def Dist_PipelineOp : Dist_Op<"pipeline", [Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The stages of a pipeline, in order, and where each lies";
  let description = [{
    The table of docs/Pipelines.md. Every stage is a module beside this op, with a program of its own: no op can use values of two stages. Layers follow each other without a gap; a stage may hold none.
    What a stage sends under a name (results with `graph.gives = #graph.gives<sent>`) its neighbour receives under the same name (arguments with
    `graph.fill = #graph.fill<received>`), once, and with the same global type and sharding: `dist-verify-stages` holds them to it on each rung. `lists` has for each coordinate on the axis what its ranks do, in order (docs/Schedules.md), `schedule` what the
    lists are called, `send_buffers` how many values that are sent a rank holds at once: as `times` want it, from rung `spmd` on. `times` has seconds that are predicted
    of one rank, by what is done: a number a stage (`forward`, `input_gradient` with a whole backward's, `weight_gradient` of a micro-batch, `once` a step, `shared` while gradients of weights that a stage on another rank has too travel; of stages that generate `chunk` and `token`),
    and `link`, from each stage to the next one.
    ```mlir
    dist.pipeline @pipeline over "pp" = [#dist.stage<@first, first = 0, layers = 2, at = 0>, #dist.stage<@last, first = 2, layers = 2, at = 1>]
    module @first {}
    module @last {}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$axis, TypedArrayAttrBase<Dist_Stage, "stages">:$stages,
      OptionalAttr<StrAttr>:$schedule, OptionalAttr<StrArrayAttr>:$lists, OptionalAttr<I64Attr>:$send_buffers,
      OptionalAttr<DictionaryAttr>:$times);
  let assemblyFormat = "$sym_name `over` $axis `=` $stages attr-dict";
  let hasVerifier = 1;
}

def Dist_ConstraintOp : Dist_WordOp<"constraint"> {
  let summary = "A value with a sharding that somebody asked for";
  let description = [{
    On rung `step`, before propagation: `dist-annotate` makes it from `--shard`, or a person writes it. A closed dimension
    is a pin that propagation may not override. Consumed by `dist-propagate`.
    ```mlir
    // given %0: tensor<4x16x64xf32>
    dist.mesh @mesh = <["dp"=2]>
    %1 = dist.constraint %0 <@mesh, [{"dp"}, {}, {?} ]> : tensor<4x16x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_Sharding:$sharding);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<ReferenceOpInterface>]> {
  let summary = "The same value in another sharding";
  let description = [{
    Rung `sharded` only. Made by `dist-insert-reshards` where an op needs another sharding than the value has, partial axes included (a value that becomes
    partial is contributed by one rank); `dist-partition` replaces it by collectives that the reshard planner chooses. `why` names the two ops and the dimension that disagree.
    ```mlir
    // given %0: tensor<8x4xf32, #dist.sharding<@mesh, [{"x"}, {} ]>>
    dist.mesh @mesh = <["x"=2]>
    %1 = dist.reshard %0 : tensor<8x4xf32, #dist.sharding<@mesh, [{"x"}, {} ]>> -> tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

class Dist_CollectiveOp<string mnemonic, list<Trait> traits = []> : Dist_Op<mnemonic, !listconcat([Pure,
    DeclareOpInterfaceMethods<CollectiveOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>], traits)> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather"> {
  let summary = "Gathers the minor-most axes of one dimension";
  let description = [{
    `axes` (major to minor) are the minor-most axes of dimension `dim` in the operand's sharding; the result lacks them there.
    Local size along `dim`: ceil(global / shards) before and after; where the pieces do not divide, padding inside is dropped by
    the lowering. Why minor-most ones: docs/RationaleDist.md. Rung `spmd`; made by `dist-partition` (docs/Partition.md), lowered by `spmd-to-kernels`.
    ```mlir
    // given %0: tensor<2x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {} ], global=[8, 4]>>
    dist.mesh @mesh = <["x"=2, "y"=2]>
    %1 = dist.all_gather %0 dim = 0 axes = {"y"} : tensor<2x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {} ], global=[8, 4]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{"x"}, {} ], global=[8, 4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, ArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input `dim` `=` $dim `axes` `=` custom<Axes>($axes) attr-dict `:` type($input) `->` type($result)";
}

def Dist_AllSliceOp : Dist_CollectiveOp<"all_slice"> {
  let summary = "Keeps this rank's piece along one dimension: no communication";
  let description = [{
    `axes` (major to minor) become the minor-most axes of dimension `dim`. Rung `spmd`; made by `dist-partition` (docs/Partition.md), lowered by
    `spmd-to-kernels` (a copy).
    ```mlir
    // given %0: tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ], global=[8, 4]>>
    dist.mesh @mesh = <["x"=2, "y"=2]>
    %1 = dist.all_slice %0 dim = 0 axes = {"x", "y"} : tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ], global=[8, 4]>> -> tensor<2x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {} ], global=[8, 4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, ArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input `dim` `=` $dim `axes` `=` custom<Axes>($axes) attr-dict `:` type($input) `->` type($result)";
}

def Dist_ContributeOp : Dist_CollectiveOp<"contribute"> {
  let summary = "Makes a value partial: one rank of each group contributes it: no communication";
  let description = [{
    The result is partial over `axes`, over which the operand's ranks hold copies. Of a sum the rank with index 0 in the group keeps the value and
    the others hold zeros; of a maximum all keep it, which is the same maximum. So a bias or a residual joins sums that are open
    already, and one reduction serves all of them. Rung `spmd`; made by `dist-partition`, lowered by `spmd-to-kernels` (a copy or zeros, by the
    rank's coordinates).
    ```mlir
    // given %0: tensor<4xf32, #dist.sharding<@mesh, [{} ], global=[4]>>
    dist.mesh @mesh = <["tp"=2]>
    %1 = dist.contribute %0 axes = {"tp"} : tensor<4xf32, #dist.sharding<@mesh, [{} ], global=[4]>> -> tensor<4xf32, #dist.sharding<@mesh, [{} ], partial=sum{"tp"}, global=[4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, ArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input `axes` `=` custom<Axes>($axes) attr-dict `:` type($input) `->` type($result)";
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce"> {
  let summary = "Combines a partial value over axes";
  let description = [{
    `axes` are partial axes of the operand (sum or max, as its type says); the result is no longer partial over them. Rung `spmd`; made by
    `dist-partition` (docs/Partition.md), lowered by `spmd-to-kernels`.
    ```mlir
    // given %0: tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"x", "y"}, global=[8, 4]>>
    dist.mesh @mesh = <["x"=2, "y"=2]>
    %1 = dist.all_reduce %0 axes = {"x"} : tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"x", "y"}, global=[8, 4]>> -> tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"y"}, global=[8, 4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, ArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input `axes` `=` custom<Axes>($axes) attr-dict `:` type($input) `->` type($result)";
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter"> {
  let summary = "Combines a partial value over axes and keeps one piece along a dimension";
  let description = [{
    `axes` are partial axes of the operand; in the result they are the minor-most axes of dimension `dim`. Rung `spmd`; made by `dist-partition`
    (docs/Partition.md), lowered by `spmd-to-kernels`.
    ```mlir
    // given %0: tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"x"}, global=[8, 4]>>
    dist.mesh @mesh = <["x"=2]>
    %1 = dist.reduce_scatter %0 dim = 1 axes = {"x"} : tensor<8x4xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"x"}, global=[8, 4]>> -> tensor<8x2xf32, #dist.sharding<@mesh, [{}, {"x"} ], global=[8, 4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, ArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input `dim` `=` $dim `axes` `=` custom<Axes>($axes) attr-dict `:` type($input) `->` type($result)";
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all"> {
  let summary = "Moves axes between dimensions, all in one exchange";
  let description = [{
    `axes` are, taken together, the minor-most axes of the dimensions that they leave (`from`); in the result they are the minor-most of those
    that they come to (`to`), in the order given: `from` grows, `to` is split. One entry of `from` and `to` for each axis; the group is all of
    them, first one major. Rung `spmd`.
    ```mlir
    // given %0: tensor<2x12x2xf32, #dist.sharding<@mesh, [{"y"}, {}, {"x"} ], global=[4, 12, 4]>>
    dist.mesh @mesh = <["x"=2, "y"=2]>
    %1 = dist.all_to_all %0 from = 2 to = 1 axes = {"x"}, from = 0 to = 1 axes = {"y"}
        : tensor<2x12x2xf32, #dist.sharding<@mesh, [{"y"}, {}, {"x"} ], global=[4, 12, 4]>>
        -> tensor<4x3x4xf32, #dist.sharding<@mesh, [{}, {"x", "y"}, {} ], global=[4, 12, 4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$from, DenseI64ArrayAttr:$to, ArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input custom<AxisMoves>($from, $to, $axes) attr-dict `:` type($input) `->` type($result)";
}

def Dist_CollectivePermuteOp : Dist_CollectiveOp<"collective_permute"> {
  let summary = "Exchanges whole local pieces so that the value has another sharding with equal local shape";
  let description = [{
    Which device sends to which follows from the two shardings. With `mirrored` axes the sharding stays and the value changes: along them piece i of
    n takes the place of piece n - 1 - i (what an op with a sharded permutation factor works on). Rung `spmd`; made by `dist-partition`
    (docs/Partition.md), lowered by `spmd-to-kernels`.
    ```mlir
    // given %0: tensor<2x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {} ], global=[8, 4]>>
    dist.mesh @mesh = <["x"=2, "y"=2]>
    %1 = dist.collective_permute %0 : tensor<2x4xf32, #dist.sharding<@mesh, [{"x", "y"}, {} ], global=[8, 4]>> -> tensor<2x4xf32, #dist.sharding<@mesh, [{"y", "x"}, {} ], global=[8, 4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<ArrayAttr>:$mirrored, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input (`mirrored` `=` custom<Axes>($mirrored)^)? attr-dict `:` type($input) `->` type($result)";
}

def Dist_GroupedSendOp : Dist_CollectiveOp<"grouped_send"> {
  let summary = "Every rank gets what it lacks of its new piece from those that have it, one message each";
  let description = [{
    From any sharding to any other that is partial alike: where pieces do not line up (sizes that do not divide, axes cut as 2 x 3 and as 3 x 2) no
    other collective gets there without making a dimension whole. Who sends which box to whom follows from the two shardings (`GroupedSends.h`);
    no op lists ranks. With `at` the result is a part of the value, the elements that begin there: a slice of sharded dimensions, which every rank
    takes from its own piece as far as it has it. Messages have a latency each and are of many sizes, so the planner takes it last. Rung `spmd`; made by `dist-partition`,
    lowered by `spmd-to-kernels`; the runtime lists each rank's messages when the program starts.
    ```mlir
    // given %0: tensor<3xf32, #dist.sharding<@mesh, [{"x"} ], global=[6]>>
    dist.mesh @mesh = <["x"=2, "y"=3]>
    %1 = dist.grouped_send %0 : tensor<3xf32, #dist.sharding<@mesh, [{"x"} ], global=[6]>> -> tensor<2xf32, #dist.sharding<@mesh, [{"y"} ], global=[6]>>
    %2 = dist.grouped_send %0 at [1] : tensor<3xf32, #dist.sharding<@mesh, [{"x"} ], global=[6]>> -> tensor<2xf32, #dist.sharding<@mesh, [{"x"} ], global=[4]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<DenseI64ArrayAttr>:$at, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$input (`at` $at^)? attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    int64_t getMessages(const ::tessera::Mesh &mesh);
    /// Not where each rank has its piece of the part itself.
    bool communicates();
  }];
}

include "tessera/Dialect/Dist/IR/DistManualOps.td"
include "tessera/Dialect/Dist/IR/DistPropagationOps.td"
include "tessera/Dialect/Dist/IR/DistRowOps.td"

#endif
