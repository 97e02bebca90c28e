#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_PASSES_TD
#define TESSERA_DIALECT_DIST_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistAnnotatePass : Pass<"dist-annotate", "::mlir::ModuleOp"> {
  let summary = "Creates the mesh and seeds shardings on arguments and named values from the names of their dimensions";
  let description = [{
    An axis with a standard name shards its standard dimensions (dp: batch; fsdp: batch, and of every weight the largest dimension no other
    axis shards; tp: heads, kv_heads, ffn, vocab; cp: seq and context; sp: seq; ep: expert; pp: layer). `shard` items
    `[VALUE:]DIM=AXIS[+AXIS...]` replace the default for that value and dimension; `DIM=-` leaves it whole. `heads` is `kv_heads` where a program groups its heads. A `seq` dimension of size 1 (decode) stays whole.
    Arguments get the attribute `dist.sharding`, closed where all dimensions have names (open where no name shards them in inputs that another function of the
    program gives); values named by `graph.name` get a `dist.constraint`.
    Outputs, and inputs that are one, of which neither the program nor an item says how they lie get `dist.unasked`.
    fsdp's sharding of weights has user priority 1: activations decide first. Options are checked here; every error is one line.

    With `mesh="tp=2"`,
    ```mlir
    func.func private @f(%w: tensor<8x4xf32> {graph.kind = #graph.kind<parameter>, graph.dims = ["ffn", "hidden"]})
    ```
    becomes
    ```mlir
    dist.mesh @mesh = <["tp"=2]>
    func.func private @f(%w: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {} ]>, graph.kind = #graph.kind<parameter>, graph.dims = ["ffn", "hidden"]})
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "", "Axes and sizes, major to minor: dp=2,tp=4">,
    Option<"shard", "shard", "std::string", "", "Items [VALUE:]DIM=AXIS[+AXIS...] or [VALUE:]DIM=- (whole), separated by commas">,
    Option<"machine", "machine", "std::string", "", "Name of a machine, or JSON file that describes it (docs/Machines.md); it becomes the module's dist.machine">,
  ];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def DistCheckShardItemsPass : Pass<"dist-check-shard-items", "::mlir::ModuleOp"> {
  let summary = "Refuses items of --shard about what no stage of a pipeline has";
  let description = [{
    On the module that has the stages, behind `dist-annotate` of each. A middle stage has no vocabulary, a stage without layers no ffn: `dist-annotate` notes in `tessera.unknown_items` of
    a stage what that lacks. What all of them lack is an error; the notes are taken away.
  }];
}

def DistPropagatePass : Pass<"dist-propagate", "::mlir::ModuleOp"> {
  let summary = "Spreads shardings from annotated values to all values of all functions";
  let description = [{
    Builds the propagation graph (`tessera/Analysis/Sharding/Propagation.h`) from the rules of ops and the edges of region ops, runs the full ladder,
    and writes what it found as attributes: `dist.sharding` on arguments and results of functions, `dist.shardings` (one per result) and
    `dist.block_shardings` (one list per region) on ops. Types stay as they are. Arguments and results of the same `graph.name` and shape
    form one sharding group across functions: prefill and decode hold one cache, in one layout.
    ```mlir
    // given %x: tensor<4x8xf32>
    %0 = graph.relu %x : tensor<4x8xf32>
    ```
    becomes, if `%x` is sharded over dp,
    ```mlir
    // given %x: tensor<4x8xf32>
    dist.mesh @mesh = <["dp"=2]>
    %0 = graph.relu %x {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {} ]>]} : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def DistInsertReshardsPass : Pass<"dist-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "Gives every tensor type its sharding and reshards where an op needs another one than a value has";
  let description = [{
    Rung `step` to rung `sharded`. How each op of a block runs is chosen for all of them at once, by the total time of work and reshards
    (`placeProgram`); operands that lie otherwise go through a `dist.reshard`. Annotations and the function's
    arguments and results lie as propagation wants, but for outputs with `dist.unasked`, which lie where they cost least in all functions; what loops carry and stack lies as it wants unless less time is taken and less sent otherwise. A sharded reduction makes a partial type; it stays so through linear ops as long as that
    pays. With `live-bytes` a block keeps to so many bytes that a rank has at once of what it makes, in more time, or has few where it cannot. A weight sharded by fsdp keeps its sharding as a stack; its slice is gathered inside the body, just before use, unless
    moving the activations is faster.
    ```mlir
    // given %x: tensor<4x16xf32>, %w: tensor<8x16xf32>
    dist.mesh @mesh = <["tp"=2]>
    %0 = graph.linear %x, %w contract = 1 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]}
        : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>   // both sharded over tp where they contract
    ```
    becomes
    ```mlir
    // given %x: tensor<4x16xf32, #dist.sharding<@mesh, [{}, {"tp"} ]>>, %w: tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"tp"} ]>>
    dist.mesh @mesh = <["tp"=2]>
    %0 = graph.linear %x, %w contract = 1 : (tensor<4x16xf32, #dist.sharding<@mesh, [{}, {"tp"} ]>>, tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"tp"} ]>>)
        -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}>>
    %1 = dist.reshard %0 {why = "linear contracts ffn, sharded over {tp}"}
        : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ]>>
    ```
  }];
  let options = [
    Option<"liveBytes", "live-bytes", "int64_t", "-1", "That a rank may have at once of what a block makes; negative: as many as it likes">,
  ];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def DistWidenInputsPass : Pass<"dist-widen-inputs", "::mlir::ModuleOp"> {
  let summary = "Hands inputs whole to every rank where ranks would gather them";
  let description = [{
    Rung `sharded`. Ids and positions come from the host, which has all of them: an integer input that a reshard gathers comes without the axes it loses there,
    and who wants its part slices it, which moves nothing. Only arguments that dist-annotate marked `dist.widenable`: integer inputs whose sharding
    neither the program nor an item for this value asks for. `dist.seeded` keeps what was asked, for who explains the program.
    ```mlir
    // given %p: tensor<4x16xi32, #dist.sharding<@mesh, [{}, {"sp"} ]>> {dist.widenable}
    dist.mesh @mesh = <["sp"=2]>
    %1 = dist.reshard %p : tensor<4x16xi32, #dist.sharding<@mesh, [{}, {"sp"} ]>> -> tensor<4x16xi32, #dist.sharding<@mesh, [{}, {} ]>>
    ```
    becomes
    ```mlir
    // given %p: tensor<4x16xi32, #dist.sharding<@mesh, [{}, {} ]>>
    dist.mesh @mesh = <["sp"=2]>
    %0 = dist.reshard %p : tensor<4x16xi32, #dist.sharding<@mesh, [{}, {} ]>> -> tensor<4x16xi32, #dist.sharding<@mesh, [{}, {"sp"} ]>>  // for all other users
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def DistPartitionPass : Pass<"dist-partition", "::mlir::ModuleOp"> {
  let summary = "Makes the program of one rank: local shapes, reshards become collectives";
  let description = [{
    Rung `sharded` to rung `spmd`. Types become local and keep their global sizes in the encoding; each `dist.reshard` becomes the cheapest chain
    of collectives the reshard planner finds; where an op reduces over a sharded dimension that does not divide, a
    `graph.mask_padding` writes the neutral element into the padding (unless the op is multilinear and an operand is a parameter, whose padding is zero, or the
    op knows where its shard begins); `graph.name` goes away.
    ```mlir
    // given %0: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}>>
    dist.mesh @mesh = <["tp"=2]>
    %1 = dist.reshard %0 : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ]>>
    ```
    becomes
    ```mlir
    // given %0: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>>
    dist.mesh @mesh = <["tp"=2]>
    %1 = dist.all_reduce %0 axes = {"tp"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], global=[4, 8]>>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect", "::tessera::graph::GraphDialect"];
}

def DistOptimizeCollectivesPass : Pass<"dist-optimize-collectives", "::mlir::ModuleOp"> {
  let summary = "Fuses neighbouring collectives and merges equal ones";
  let description = [{
    all_reduce then all_slice over the same axes: reduce_scatter, if nobody else reads the whole value. all_gather then all_slice of the same axes and
    dimension, or the other way round: nothing. Equal collectives of one value: one. Where nobody reads the value between: two all_reduces, two gathers
    or slices of one dimension, two all_to_alls between different dimensions: one. Sums over the same axes that an op only adds up (its rule is linear in
    them together): added first, reduced once. An op that reduces slices of what every rank has whole, then all_reduce: the whole is reduced, where that takes no longer
    on the machine. An all_to_all between tokens and experts whose readers choose rows: dist.exchange_rows (docs/Experts.md).
    Neutral elements (zeros that begin a sum) that ranks would exchange are made where they are wanted. A collective in a loop whose operand comes from
    outside runs once, before the loop, unless the operand is a weight: gathered weights would then be held for the whole loop, which is what
    sharding them was to avoid.
    ```mlir
    // given %0: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>>
    dist.mesh @mesh = <["tp"=2]>
    %1 = dist.all_reduce %0 axes = {"tp"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], global=[4, 8]>>
    %2 = dist.all_slice %1 dim = 1 axes = {"tp"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], global=[4, 8]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"tp"} ], global=[4, 8]>>
    ```
    becomes
    ```mlir
    // given %0: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>>
    dist.mesh @mesh = <["tp"=2]>
    %2 = dist.reduce_scatter %0 dim = 1 axes = {"tp"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>> -> tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"tp"} ], global=[4, 8]>>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def DistWidenPartialSumsPass : Pass<"dist-widen-partial-sums", "::mlir::ModuleOp"> {
  let summary = "Keeps the terms of 16-bit sums over ranks in float32 until they are summed";
  let description = [{
    A product split over what it sums up gives each rank one term of the sum. Rounded to 16 bits, terms that cancel leave an error which one device does
    not have. So products whose results are partial sums give them in float32, what passes sums on (a rotary embedding, an addition) and the collectives
    do too, and the sum is rounded once. Lookups in a split table and contributions of one rank stay as they are: the other terms are zeros. Which ops
    take mixed types their verifiers say. A term that somebody takes in 16 bits all the same, as a loop that carries it, stays narrow with all that makes it.
    So does one whose op has `graph.terms`: its type was chosen for what ranks exchange, too (docs/Precision.md).
    ```mlir
    // given %x: tensor<4x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[4, 16]>>, %w: tensor<6x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[6, 16]>>
    dist.mesh @mesh = <["tp"=2]>
    %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[4, 16]>>, tensor<6x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[6, 16]>>) -> tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 6]>>
    %1 = dist.all_reduce %0 axes = {"tp"} : tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 6]>> -> tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {} ], global=[4, 6]>>
    ```
    becomes
    ```mlir
    // given %x: tensor<4x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[4, 16]>>, %w: tensor<6x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[6, 16]>>
    dist.mesh @mesh = <["tp"=2]>
    %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[4, 16]>>, tensor<6x8xbf16, #dist.sharding<@mesh, [{}, {"tp"} ], global=[6, 16]>>) -> tensor<4x6xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 6]>>
    %1 = dist.all_reduce %0 axes = {"tp"} : tensor<4x6xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 6]>> -> tensor<4x6xf32, #dist.sharding<@mesh, [{}, {} ], global=[4, 6]>>
    %2 = graph.cast %1 : (tensor<4x6xf32, #dist.sharding<@mesh, [{}, {} ], global=[4, 6]>>) -> tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {} ], global=[4, 6]>>
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
}

def DistChooseSavedPass : Pass<"dist-choose-saved", "::mlir::ModuleOp"> {
  let summary = "Chooses what loops save for backward, within so many bytes of a rank, in the least time";
  let description = [{
    Rung `spmd`, before collectives are bundled: bytes and times are those of one rank, and what ranks exchange are ops like others. Of each pair of a loop
    with `graph.saved` and the loop that reads it, what backward needs of forward's body is saved, as stacks that forward returns, or made again in
    backward's body, weights that were gathered included. `bytes` is for the stacks of all loops together; docs/Memory.md says how it is chosen. With
    `keep` all that is saved stays so, and gathered weights may be kept besides.
    ```mlir
    // given %x: tensor<2x8xf32>, %u: tensor<4x32x8xf32>, %d: tensor<4x8x32xf32>
    %f:2 = graph.repeat 4 carry(%x : tensor<2x8xf32>) stack(%u, %d : tensor<4x32x8xf32>, tensor<4x8x32xf32>)
        -> (tensor<2x8xf32>, tensor<4x2x32xf32>) attributes {graph.saved = ["y"]} {
    ^bb0(%i: tensor<i32>, %h: tensor<2x8xf32>, %ui: tensor<32x8xf32>, %di: tensor<8x32xf32>):
      %y = graph.linear %h, %ui contract = 1 : (tensor<2x8xf32>, tensor<32x8xf32>) -> tensor<2x32xf32>
      %z = graph.linear %y, %di contract = 1 : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
      graph.yield %z, %y : tensor<2x8xf32>, tensor<2x32xf32>
    }
    %b = graph.repeat 4 reverse carry(%x : tensor<2x8xf32>) stack(%f#1 : tensor<4x2x32xf32>) -> (tensor<2x8xf32>) {
    ^bb0(%i: tensor<i32>, %g: tensor<2x8xf32>, %y: tensor<2x32xf32>):
      %s = graph.reduce sum %y dims = [1] : (tensor<2x32xf32>) -> tensor<2xf32>
      %r = graph.reshape %s : (tensor<2xf32>) -> tensor<2x1xf32>
      %q = graph.mul %g, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
      graph.yield %q : tensor<2x8xf32>
    }
    ```
    with `bytes=256` saves `h`, the carried value, whose stack has 256 bytes, and makes `y`, of 1024, again from it.
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0", "Of saved stacks, at most">,
    Option<"keep", "keep", "bool", "false", "What is saved stays so">,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
}

def DistSplitStagePass : Pass<"dist-split-stage", "::mlir::ModuleOp"> {
  let summary = "Cuts the step of a pipeline's stage into the entries that a schedule calls";
  let description = [{
    Rung `spmd` (docs/Pipelines.md, "Entries"). A stage's step is one function up to here; its loop over micro-batches, marked `graph.micro_batches`, goes, and
    what stands before it, its body, and what stands behind it become entries with `graph.stage_part`. `forward` is what values that are sent and the loss need, `backward` the rest; with `splits-backward`
    `input_gradient` is what gradients that are sent need, `weight_gradient` the rest. What one part makes and another reads is a state, of a micro-batch (`graph.slot` says how long it has it) or of the step; what follows from inputs alone is made again.
    ```mlir
    func.func private @train(%x: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>, graph.dims = ["micro", "hidden"]})
        -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>}
    // to
    func.func private @train_forward(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>, graph.dims = ["hidden"]})
        -> (tensor<4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<train>, graph.stage_part = #graph.stage_part<forward>}
    ```
  }];
  let options = [Option<"splitsBackward", "splits-backward", "bool", "false", "Gradients of weights after those of the input.">];
  let dependentDialects = ["::tessera::dist::DistDialect", "::tessera::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

def DistVerifyStagesPass : Pass<"dist-verify-stages", "::mlir::ModuleOp"> {
  let summary = "Checks that what a stage of a pipeline sends its neighbour receives, once, with the same type";
  let description = [{
    On the module that has the stages and their `dist.pipeline`, behind rungs `step`, `sharded` and `spmd` (docs/Pipelines.md, "Stages are programs of their own"). Of the functions of each role, which are one or a step's parts:
    what a stage sends (`graph.gives`) the next one receives (`graph.fill`) under the same name, gradients likewise the other way round, with the same global type and sharding; nothing is sent, or received by one function, twice;
    the first stage receives nothing and the last one sends nothing; a gradient that two stages share is given and taken by both; what is summed up over stages has a term; meshes are the same. Without a `dist.pipeline` it does nothing. Below rung `spmd`
    values are places in memory, and the runtime checks what the manifests say of them.
    ```mlir
    dist.pipeline @pipeline over "pp" = [#dist.stage<@first, first = 0, layers = 1, at = 0>, #dist.stage<@last, first = 1, layers = 1, at = 1>]
    module @first {
      func.func private @evaluate() -> (tensor<2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>}) attributes {graph.role = #graph.role<evaluate>}
    }
    module @last {
      func.func private @evaluate(%x: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>}) attributes {graph.role = #graph.role<evaluate>}
    }
    ```
  }];
}

def DistBundleCollectivesPass : Pass<"dist-bundle-collectives", "::mlir::ModuleOp"> {
  let summary = "Makes one collective of several small ones that do not wait for each other";
  let description = [{
    Collectives of one kind, over the same axes and in the same block, none of which needs another's result: their operands go side by side into one buffer
    (sums of unsplit tensors flat, others of equal type stacked), one collective runs over it, and each gets its piece back. Small means: copying in and
    out takes less time on the module's machine than the latency saved. What used the earlier ones waits for the last, if that is little too. `why` lists
    all reasons.
    ```mlir
    // given %0: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>>, %1: tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>>
    dist.mesh @mesh = <["tp"=2]>
    %2 = dist.all_reduce %0 axes = {"tp"} {why = "a"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], global=[4, 8]>>
    %3 = dist.all_reduce %1 axes = {"tp"} {why = "b"} : tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], partial=sum{"tp"}, global=[4, 8]>> -> tensor<4x8xf32, #dist.sharding<@mesh, [{}, {} ], global=[4, 8]>>
    ```
    becomes
    ```mlir
    // given %a: tensor<32xf32, #dist.sharding<@mesh, [{} ], partial=sum{"tp"}, global=[32]>>, %b: tensor<32xf32, #dist.sharding<@mesh, [{} ], partial=sum{"tp"}, global=[32]>>
    dist.mesh @mesh = <["tp"=2]>
    %2 = graph.concat %a, %b dim = 0 : (tensor<32xf32, #dist.sharding<@mesh, [{} ], partial=sum{"tp"}, global=[32]>>, tensor<32xf32, #dist.sharding<@mesh, [{} ], partial=sum{"tp"}, global=[32]>>) -> tensor<64xf32, #dist.sharding<@mesh, [{} ], partial=sum{"tp"}, global=[64]>> // reshaped to one dimension
    %3 = dist.all_reduce %2 axes = {"tp"} {why = "a; b"} : tensor<64xf32, #dist.sharding<@mesh, [{} ], partial=sum{"tp"}, global=[64]>> -> tensor<64xf32, #dist.sharding<@mesh, [{} ], global=[64]>>
    %4 = graph.slice %3 at [0] : (tensor<64xf32, #dist.sharding<@mesh, [{} ], global=[64]>>) -> tensor<32xf32, #dist.sharding<@mesh, [{} ], global=[32]>> // and reshaped back, as the other
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect", "::tessera::graph::GraphDialect"];
}

def DistStageCollectivesPass : Pass<"dist-stage-collectives", "::mlir::ModuleOp"> {
  let summary = "Does collectives over several nodes within nodes and between them, where that is faster";
  let description = [{
    Rung `spmd`, where the module's machine has nodes (`ranks_per_node`, docs/Machines.md). The axes of a collective are cut into digits whose groups stay
    on a node and digits between nodes. An all_gather goes between nodes first, while pieces are small, then within; a reduce_scatter within, then between;
    an all_reduce is scattered within, reduced between, and gathered within. Each is done so where the cost model says that it takes less time, and
    stays one op otherwise. On nodes of two ranks
    ```mlir
    // given %0: tensor<8xf32, #dist.sharding<@mesh, [{} ], partial=sum{"dp", "tp"}, global=[8]>>
    dist.mesh @mesh = <["dp"=2, "tp"=2]>
    %1 = dist.all_reduce %0 axes = {"dp", "tp"} : tensor<8xf32, #dist.sharding<@mesh, [{} ], partial=sum{"dp", "tp"}, global=[8]>> -> tensor<8xf32, #dist.sharding<@mesh, [{} ], global=[8]>>
    ```
    becomes
    ```mlir
    // given %0: tensor<8xf32, #dist.sharding<@mesh, [{} ], partial=sum{"dp", "tp"}, global=[8]>>
    dist.mesh @mesh = <["dp"=2, "tp"=2]>
    %1 = dist.reduce_scatter %0 dim = 0 axes = {"tp"} : tensor<8xf32, #dist.sharding<@mesh, [{} ], partial=sum{"dp", "tp"}, global=[8]>> -> tensor<4xf32, #dist.sharding<@mesh, [{"tp"} ], partial=sum{"dp"}, global=[8]>>
    %2 = dist.all_reduce %1 axes = {"dp"} : tensor<4xf32, #dist.sharding<@mesh, [{"tp"} ], partial=sum{"dp"}, global=[8]>> -> tensor<4xf32, #dist.sharding<@mesh, [{"tp"} ], global=[8]>>
    %3 = dist.all_gather %2 dim = 0 axes = {"tp"} : tensor<4xf32, #dist.sharding<@mesh, [{"tp"} ], global=[8]>> -> tensor<8xf32, #dist.sharding<@mesh, [{} ], global=[8]>>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect", "::tessera::graph::GraphDialect"];
}

def DistReportPaddingPass : Pass<"dist-report-padding", "::mlir::ModuleOp"> {
  let summary = "Says what sizes that do not divide cost, dimension by dimension";
  let description = [{
    Rung `spmd`. One missed remark `padding` for each dimension that is padded: from which size to which, and what of a rank's weights, states,
    results, collectives and FLOPs is padding. Functions that compute on padding get `dist.padding_flops`, for the manifest: how many FLOPs
    of one run are padding, and how many there are.
    ```
    kv_heads over tp: from 3 to 4, 2 a rank (25.0 % padding); of each rank's 1024 of 8192 weight bytes (12.5 %), ... are padding
    ```
  }];
}

def DistReportWeightsPass : Pass<"dist-report-weights", "::mlir::ModuleOp"> {
  let summary = "Says how often each stored weight is gathered and how much of it is held; changes nothing";
  let description = [{
    Rung `spmd`. One remark `weight` for each parameter that is gathered: over which axes, once or several times (forward, backward), and for how long the
    whole is held. Without somebody who listens to remarks it does nothing.
    ```
    up in @layers: gathered over {fsdp} twice, in loops of 3 iterations: one layer is held at a time, 16384 bytes; all layers, kept ..., would be 49152
    ```
  }];
}

def VerifyRungPass : Pass<"verify-rung", "::mlir::ModuleOp"> {
  let summary = "Checks that only the ops and types of one rung of the ladder stand in the module";
  let description = [{
    Stands between phases (docs/Architecture.md has the table). Names the first op that does not belong and the pass that should have removed it.
  }];
  let options = [Option<"rung", "rung", "std::string", "\"graph\"", "graph, step, sharded, spmd, kernels or exec">];
}

#endif
