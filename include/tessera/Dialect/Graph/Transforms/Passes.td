#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NameCalls : Pass<"graph-name-calls", "::mlir::ModuleOp"> {
  let summary = "Puts into the location of every op the name of the value that it makes";
  let description = [{
    Rung `graph`, before anything is made of the program. The name is what `graph.name` or the function's result says, or else that of the parameter or of the named value
    that the op reads first. Passes hand locations on, so a call of the compiled program still knows it: the manifest's `calls`, for traces and for messages.
    ```mlir
    func.func private @forward(%x: tensor<4x8xf32>, %w: tensor<6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q"}) -> tensor<4x6xf32> {
      %y = graph.linear %x, %w contract = 1 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    // to
    func.func private @forward(%x: tensor<4x8xf32>, %w: tensor<6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q"}) -> tensor<4x6xf32> {
      %y = graph.linear %x, %w contract = 1 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32> loc(fused<"q">[unknown])
      return %y : tensor<4x6xf32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
}

def BuildGenerateStep : Pass<"graph-build-generate-step", "::mlir::ModuleOp"> {
  let summary = "Turns @forward into @prefill, @decode and @head with a KV cache";
  let description = [{
    Rung `graph` to rung `step` (docs/Step.md). Every `graph.attention` over the sequence gets two stacked caches as states; the functions work on
    `chunk` positions (@prefill) or one (@decode); the position-wise ops between the last mixing of positions and the logits run for
    one position per row only. @prefill_short is @prefill for fewer positions; @head knows nothing of it.
    With `cache` keys and values are rounded once, by a `graph.cast` in front of `graph.cache_update`, and attention reads those of its own chunk rounded, too. With `cache=q8_0` the update rounds, to blocks that the states say they are held in (`graph.held`).
    ```mlir
    func.func private @forward(%tokens: tensor<1x64xi32>, %positions: tensor<1x64xi32>, %w: tensor<99x48xf32>)
        -> (tensor<1x64x99xf32> {graph.name = "logits"})
    // to, for chunk=16 (and @decode, @head)
    func.func private @prefill(%tokens: tensor<1x16xi32>, %positions: tensor<1x16xi32>, %index: tensor<1xi32>, %w: tensor<99x48xf32>, %k: tensor<4x1x64x2x8xf32>)
        -> (tensor<1x16x48xf32> {graph.name = "hidden"}, tensor<1x1x99xf32> {graph.name = "logits"}, tensor<1x1xi32> {graph.name = "next"},
            tensor<4x1x64x2x8xf32> {graph.name = "layers.k_cache"})
    ```
  }];
  let options = [
    Option<"batch", "batch", "int64_t", "0", "Rows of a step; 0: those of @forward">,
    Option<"maxSeqLen", "max-seq-len", "int64_t", "0", "Positions of the caches, at most those of @forward; 0: those of @forward">,
    Option<"chunk", "chunk", "int64_t", "0", "Positions of one @prefill; 0: the larger of largest-chunk and chunk-tokens / batch, max-seq-len where that is smaller">,
    Option<"largestChunk", "largest-chunk", "int64_t", "128", "Positions of one @prefill at most, if chunk does not say: the target's choice">,
    Option<"chunkTokens", "chunk-tokens", "int64_t", "0", "Tokens of all rows that one @prefill takes, where that is more for a row than largest-chunk: the target's choice">,
    Option<"shortChunk", "short-chunk", "int64_t", "0", "Positions of one @prefill_short, for short prompts and the ends of long ones, where @prefill takes eight times as many or more; 0: there is none. The target's choice">,
    Option<"page", "page", "int64_t", "0", "Positions of a page of the caches, which a table of pages finds; 0: caches have no pages. The target's choice">,
    Option<"cache", "cache", "std::string", "\"\"", "f32, bf16, f16 or q8_0 (blocks): what caches keep keys and values in; empty: in their own type">,
    Option<"rings", "rings", "bool", "false", "Caches of attentions with a window are rings, where window and chunk are less than max-seq-len. The target's choice">,
    Option<"draws", "draws", "bool", "false", "Adds @sample, which draws tokens from the logits of the step before it">,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

def BuildTrainStep : Pass<"graph-build-train-step", "::mlir::ModuleOp"> {
  let summary = "Turns @forward into @train, one update of the weights, and @evaluate";
  let description = [{
    Rung `graph` to rung `step` (docs/TrainStep.md). @train runs @forward, the cross entropy of its logits and the gradients of all parameters over the micro-batches, adds
    the gradients up, clips them by their norm and updates the weights, which become variables; what the optimizer keeps are variables beside them. @evaluate gives the
    loss alone. Of a program that says where elements may be dropped, @train is called @train_dropout and takes the key and the probability of dropout (docs/Dropout.md).
    ```mlir
    func.func private @forward(%tokens: tensor<4x16xi32>, %w: tensor<99x48xf32>) -> (tensor<4x16x99xf32> {graph.name = "logits"})
    // to, for micro-batches=2 and optimizer=sgd (and @evaluate)
    func.func private @train(%tokens: tensor<2x2x16xi32>, %targets: tensor<2x2x16xi32>, %token_weight: tensor<f32>, %learning_rate: tensor<f32>,
        %weight_decay: tensor<f32>, %momentum: tensor<f32>, %clip: tensor<f32>, %w: tensor<99x48xf32>, %momentum_buffer.w: tensor<99x48xf32>)
        -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "grad_norm"}, tensor<99x48xf32> {graph.name = "w"},
            tensor<99x48xf32> {graph.name = "momentum_buffer.w"})
    ```
  }];
  let options = [
    Option<"batch", "batch", "int64_t", "0", "Rows of a step; 0: those of @forward">,
    Option<"maxSeqLen", "max-seq-len", "int64_t", "0", "Positions of a row, at most those of @forward; 0: those of @forward">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "Micro-batches that a step runs one after another">,
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw or sgd">,
    Option<"moments", "moments", "std::string", "\"f32\"", "f32, bf16 or f16: what the optimizer keeps is stored in">,
    Option<"lossScale", "loss-scale", "double", "0", "The first scale of the loss, whose gradients are divided by it; 0: it has none">,
    Option<"recompute", "recompute", "std::string", "\"none\"", "What backward computes again instead of reading what loops save: none, full (all that they do not carry), or names of values, separated by commas">,
    Option<"lossChunks", "loss-chunks", "int64_t", "0", "Parts of the positions that logits, loss and their gradients are made in, one after another; 0: as many as keep logits from being the largest values of a step">,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

def LeaveOutDropout : Pass<"graph-leave-out-dropout", "::mlir::ModuleOp"> {
  let summary = "Makes @train of @train_dropout: the same program with nothing dropped";
  let description = [{
    End of rung `spmd` (docs/Dropout.md). A family with dropout has one program up to here, in which one placement is found for both entries. @train is a copy without `graph.dropout`,
    keys of rows and the inputs that they are made of: what it computes is what it would be if there were no dropout, and it costs as little.
    ```mlir
    func.func private @train_dropout(%x: tensor<4x8xf32>, %key: tensor<i64> {graph.fill = #graph.fill<dropout_key>}, %p: tensor<f32> {graph.fill = #graph.fill<dropout>}) -> tensor<4x8xf32>
        attributes {graph.role = #graph.role<train_dropout>}
    // to: it gets a companion
    func.func private @train(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {graph.role = #graph.role<train>}
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

def SetPrecision : Pass<"graph-set-precision", "::mlir::ModuleOp"> {
  let summary = "Writes into @forward, a program in float32, the types it is computed in";
  let description = [{
    Rung `graph`, before a step is built (docs/Precision.md). Arguments and constants are cast once; what is computed from them has the type `compute`, and sums stay float32
    inside of every op. Parameters stay float32, the masters that a step updates. Results stay float32 with all that leads to them from the last op that may have narrower
    operands. Each cast says, in `graph.gradient`, the type of its result's gradient: `gradients`.
    ```mlir
    func.func @forward(%x: tensor<4x8xf32>, %w: tensor<6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> tensor<4x6xf32> {
      %e = graph.exp %x : tensor<4x8xf32>
      %y = graph.linear %e, %w contract = 1 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    // to, for compute=bf16
    func.func @forward(%x: tensor<4x8xf32>, %w: tensor<6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> tensor<4x6xf32> {
      %0 = graph.cast %x {graph.gradient = f32} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
      %1 = graph.cast %w {graph.gradient = f32} : (tensor<6x8xf32>) -> tensor<6x8xbf16>
      %e = graph.exp %0 : tensor<4x8xbf16>
      %y = graph.linear %e, %1 contract = 1 : (tensor<4x8xbf16>, tensor<6x8xbf16>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"forward\"", "The function">,
    Option<"compute", "compute", "std::string", "\"bf16\"", "bf16 or f16: what is computed has this type">,
    Option<"gradients", "gradients", "std::string", "\"f32\"", "f32 or the type of `compute`: gradients of parameters and constants as backward makes them">,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
}

def Differentiate : Pass<"graph-differentiate", "::mlir::ModuleOp"> {
  let summary = "Adds to a function the gradients of its loss: results, one for each parameter";
  let description = [{
    Rung `graph` or `step`, before anything is sharded (docs/Derivatives.md). The result called `loss`, a scalar, is differentiated in reverse mode; behind the
    results there are come the gradients of parameters, in the order of the arguments. Ops say what their gradients are made of (`DerivativeOpInterface`);
    what backward reads of a loop that loop returns as stacks, or it is computed again. A parameter that the loss does not depend on has none: a remark says so.
    ```mlir
    func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}) {
      %p = graph.mul %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      %l = graph.reduce sum %p dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
      return %l : tensor<f32>
    }
    // to a function that gives (tensor<f32> {graph.name = "loss"}, tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.w"})
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"forward\"", "The function">,
    Option<"loss", "loss", "std::string", "\"loss\"", "graph.name of the result that gradients are of: one float, unless there is a seed">,
    Option<"seed", "seed", "std::string", "\"\"", "graph.name of the argument that is the gradient of that result, which may then have any shape; none: 1">,
    ListOption<"of", "of", "std::string", "graph.name of arguments whose gradients are wanted; none given: all parameters">,
    Option<"prefix", "prefix", "std::string", "\"grad.\"", "Of the results' names, before the arguments'. Empty: results are called as their arguments, and lie as they do">,
    Option<"recompute", "recompute", "std::string", "\"none\"", "What backward computes again instead of reading what loops save: none, full (all that they do not carry), or names of values, separated by commas">,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

def CutStages : Pass<"graph-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Cuts @forward into the stages of a pipeline: a module each, and the table of stages";
  let description = [{
    Rung `graph` (docs/Pipelines.md). Before: @forward with one `graph.repeat` over layers. After: `dist.pipeline`, and beside it a module with a @forward for each stage that
    differs from those before it; stages that differ in the numbers of their layers alone share one. The first stage has what stands before the loop, the last one what stands
    behind it. Values that the loop carries over a cut are sent and received; so are those of the first stage that later ones read. What follows from inputs alone, without a
    parameter, each stage computes for itself. A body that uses the layer's number adds the stage's first one, an input.
  }];
  let options = [
    ListOption<"stages", "stages", "int64_t", "Layers of each stage, in order">,
    ListOption<"at", "at", "int64_t", "Coordinate of each stage on the axis; none given: stage s at s">,
    Option<"axis", "axis", "std::string", "\"pp\"", "The mesh axis along which stages lie">,
    Option<"recompute", "recompute", "std::string", "\"none\"", "What graph-build-train-step will be told: names that no value in the loop has are an error, for a stage need not have them all">,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::tessera::dist::DistDialect", "::mlir::func::FuncDialect"];
}

#endif
