#ifndef TESSERA_DIALECT_GRAPH_GRAPHATTRS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHATTRS_TD

include "tessera/Dialect/Graph/IR/GraphDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Graph_Kind : I32EnumAttr<"Kind", "what an argument or result of a function is", [
    I32EnumAttrCase<"Input", 0, "input">, I32EnumAttrCase<"Parameter", 1, "parameter">, I32EnumAttrCase<"State", 2, "state">,
    I32EnumAttrCase<"Output", 3, "output">]> {
  let cppNamespace = "::tessera::graph";
  let genSpecializedAttr = 0;
}
def Graph_KindAttr : EnumAttr<Graph_Dialect, Graph_Kind, "kind"> {
  let summary = "What an argument or result of a function is";
  let description = [{
    `#graph.kind<input>`, `parameter` (a weight; argument `graph.name` names its `graph.parameter`), `state` (carried from call to call; an argument and
    the result with the same `graph.name`) or `output`. Read through `graph::argumentKind` and `graph::resultKind`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// What an executable can do (docs/Step.md, "Entries")
//===----------------------------------------------------------------------===//

def Graph_Role : I32EnumAttr<"Role", "what an entry is for", [
    I32EnumAttrCase<"Prompt", 0, "prompt">, I32EnumAttrCase<"Next", 1, "next">, I32EnumAttrCase<"Logits", 2, "logits">,
    I32EnumAttrCase<"Draw", 3, "draw">, I32EnumAttrCase<"Train", 4, "train">, I32EnumAttrCase<"Evaluate", 5, "evaluate">,
    I32EnumAttrCase<"TrainDropout", 6, "train_dropout">]> {
  let cppNamespace = "::tessera::graph";
  let genSpecializedAttr = 0;
}
def Graph_RoleAttr : EnumAttr<Graph_Dialect, Graph_Role, "role"> {
  let summary = "What an entry is for";
  let description = [{
    Function attribute `graph.role`: `#graph.role<prompt>` consumes a chunk of prompts, `<next>` one token of every row, `<logits>` gives logits of more
    positions of the last chunk, `<draw>` draws tokens from the logits that the call before it gave; `<train>` makes one update of the weights (docs/TrainStep.md), `<evaluate>`
    gives the loss of the same rows and changes nothing, `<train_dropout>` trains with elements dropped (docs/Dropout.md). Made by the pass that builds the step; the manifest carries it. An entry without a role is called by whoever knows it.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Graph_StagePart : I32EnumAttr<"StagePart", "which part of a stage's step an entry is", [
    I32EnumAttrCase<"Begin", 0, "begin">, I32EnumAttrCase<"Forward", 1, "forward">, I32EnumAttrCase<"Backward", 2, "backward">,
    I32EnumAttrCase<"InputGradient", 3, "input_gradient">, I32EnumAttrCase<"WeightGradient", 4, "weight_gradient">,
    I32EnumAttrCase<"Share", 5, "share">, I32EnumAttrCase<"Sum", 6, "sum">, I32EnumAttrCase<"Update", 7, "update">]> {
  let cppNamespace = "::tessera::graph";
  let genSpecializedAttr = 0;
}
def Graph_StagePartAttr : EnumAttr<Graph_Dialect, Graph_StagePart, "stage_part"> {
  let summary = "Which part of a stage's step an entry is";
  let description = [{
    Function attribute `graph.stage_part`, beside the role of the step: `#graph.stage_part<begin>` runs once before the micro-batches, `<forward>` and `<backward>` (or
    `<input_gradient>`, then `<weight_gradient>`) once for each of them, `<share>` (gives the gradients of parameters that several stages have), `<sum>` (gives what is added up over stages) and `<update>` once behind them. docs/Pipelines.md.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Graph_Slot : I32EnumAttr<"Slot", "how long a micro-batch has a state", [
    I32EnumAttrCase<"Whole", 0, "whole">, I32EnumAttrCase<"UntilInputGradient", 1, "until_input_gradient">,
    I32EnumAttrCase<"FromInputGradient", 2, "from_input_gradient">]> {
  let cppNamespace = "::tessera::graph";
  let genSpecializedAttr = 0;
}
def Graph_SlotAttr : EnumAttr<Graph_Dialect, Graph_Slot, "slot"> {
  let summary = "How long a micro-batch has a state";
  let description = [{
    Attribute `graph.slot` of states of which each micro-batch that is under way, or each group of rows, has its own: `#graph.slot<whole>` from its forward to the end of its
    backward, `<until_input_gradient>` to the end of `input_gradient`, `<from_input_gradient>` from the beginning of that to the end of `weight_gradient`. docs/Pipelines.md.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Graph_FillSource : I32EnumAttr<"FillSource", "where an input's content comes from", [
    I32EnumAttrCase<"TokenIds", 0, "token_ids">, I32EnumAttrCase<"Positions", 1, "positions">,
    I32EnumAttrCase<"LastIndex", 2, "last_index">, I32EnumAttrCase<"Output", 3, "output">,
    I32EnumAttrCase<"Logits", 4, "logits">, I32EnumAttrCase<"PromptNumbers", 5, "prompt_numbers">,
    I32EnumAttrCase<"PromptLengths", 6, "prompt_lengths">, I32EnumAttrCase<"Seed", 7, "seed">,
    I32EnumAttrCase<"Temperature", 8, "temperature">, I32EnumAttrCase<"TopK", 9, "top_k">, I32EnumAttrCase<"TopP", 10, "top_p">,
    I32EnumAttrCase<"EndTokens", 11, "end_tokens">, I32EnumAttrCase<"DrawnEndTokens", 12, "drawn_end_tokens">,
    I32EnumAttrCase<"Targets", 13, "targets">, I32EnumAttrCase<"TokenWeight", 14, "token_weight">,
    I32EnumAttrCase<"LearningRate", 15, "learning_rate">, I32EnumAttrCase<"WeightDecay", 16, "weight_decay">,
    I32EnumAttrCase<"Beta1", 17, "beta1">, I32EnumAttrCase<"Beta2", 18, "beta2">, I32EnumAttrCase<"Epsilon", 19, "epsilon">,
    I32EnumAttrCase<"Momentum", 20, "momentum">, I32EnumAttrCase<"Clip", 21, "clip">,
    I32EnumAttrCase<"FirstCorrection", 22, "first_correction">, I32EnumAttrCase<"SecondCorrection", 23, "second_correction">,
    I32EnumAttrCase<"Pages", 24, "pages">, I32EnumAttrCase<"LossScale", 25, "loss_scale">,
    I32EnumAttrCase<"DropoutKey", 26, "dropout_key">, I32EnumAttrCase<"Dropout", 27, "dropout">,
    I32EnumAttrCase<"Received", 28, "received">, I32EnumAttrCase<"FirstLayer", 29, "first_layer">,
    I32EnumAttrCase<"ReceivedGradient", 30, "received_gradient">, I32EnumAttrCase<"MicroBatch", 31, "micro_batch">,
    I32EnumAttrCase<"StageSum", 32, "stage_sum">, I32EnumAttrCase<"SharedGradient", 33, "shared_gradient">,
    I32EnumAttrCase<"MinP", 34, "min_p">, I32EnumAttrCase<"RepeatPenalty", 35, "repeat_penalty">,
    I32EnumAttrCase<"SeenTokens", 36, "seen_tokens">]> {
  let cppNamespace = "::tessera::graph";
  let genSpecializedAttr = 0;
}
def Graph_Fill : AttrDef<Graph_Dialect, "Fill"> {
  let mnemonic = "fill";
  let summary = "What fills an input of an entry";
  let description = [{
    Argument attribute `graph.fill`: `#graph.fill<token_ids>` and `<positions>` (of the same places, -1: inert), `<last_index>` (for each row the index within
    the chunk of the position whose logits are wanted), or `<output "hidden" of @prefill>`, what another entry gave last; `<logits>`: those that the call before gave, in their place. States are filled by `<token_ids>`, `<positions>` (what the next step takes),
    `<end_tokens>` and `<drawn_end_tokens>` (ids behind which a row is inert, chosen or drawn; -1: none), `<pages>` (where each page of a row of KV caches stands: `graph.cache_update`; zeros, as a state begins: in its own place), and how tokens are drawn: `<seed>`, `<temperature>`, `<top_k>`, `<top_p>`, `<min_p>`, `<repeat_penalty>` (of tokens that stand in the text, which `<seen_tokens>` says, [batch, 1, vocab]), and for each row `<prompt_numbers>` and `<prompt_lengths>` (-1: it draws nothing). A step of training
    takes `<targets>` (-1: no loss) beside token ids and positions, `<token_weight>` (1 / targets that count in the step), and single numbers, its hyperparameters (docs/TrainStep.md). A stage of a pipeline takes `<received>`, what its neighbour gives under the same name, `<received_gradient>`, that of what it sent, `<first_layer>` i32 [], the number of its first layer, `<micro_batch>` i32 [], `<stage_sum>`, the sum of what all stages give under this name, and `<shared_gradient>`, what the other stages with a copy of the same parameter give (docs/Pipelines.md). An importer says what fills
    the inputs of `@forward`, `graph-build-generate-step` what fills those of the entries. Without it the caller fills the input.
  }];
  let parameters = (ins EnumParameter<Graph_FillSource>:$source, OptionalParameter<"::mlir::StringAttr">:$output,
      OptionalParameter<"::mlir::FlatSymbolRefAttr">:$entry);
  let builders = [AttrBuilder<(ins "FillSource":$source), [{
    return Base::get($_ctxt, source, ::mlir::StringAttr(), ::mlir::FlatSymbolRefAttr());
  }]>];
  // <SOURCE>, or <output "NAME" of @ENTRY>.
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Graph_Gives : I32EnumAttr<"Gives", "what an output holds", [
    I32EnumAttrCase<"Logits", 0, "logits">, I32EnumAttrCase<"NextTokens", 1, "next_tokens">,
    I32EnumAttrCase<"Loss", 2, "loss">, I32EnumAttrCase<"GradNorm", 3, "grad_norm">, I32EnumAttrCase<"Sent", 4, "sent">,
    I32EnumAttrCase<"SentGradient", 5, "sent_gradient">, I32EnumAttrCase<"StageSum", 6, "stage_sum">,
    I32EnumAttrCase<"SharedGradient", 7, "shared_gradient">]> {
  let cppNamespace = "::tessera::graph";
  let genSpecializedAttr = 0;
}
def Graph_GivesAttr : EnumAttr<Graph_Dialect, Graph_Gives, "gives"> {
  let summary = "What an output of an entry holds";
  let description = [{
    Result attribute `graph.gives`: `#graph.gives<logits>` [batch, 1, vocab], `<next_tokens>` [batch, 1], the likeliest ids; `<loss>` of a step of training, `<grad_norm>`, the norm of all
    gradients before clipping, single numbers; `<sent>`: what the next stage of a pipeline receives under the same name, `<sent_gradient>`: what the one before receives; `<stage_sum>`, `<shared_gradient>`: what inputs of all stages, or of the
    other stages with the parameter, are filled with under the same name. Without it: what the name says to whoever asks.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Graph_Clear : I32EnumAttr<"Clear", "when a state is set to zero", [
    I32EnumAttrCase<"AtStart", 0, "at_start">, I32EnumAttrCase<"BeforePrompts", 1, "before_prompts">]> {
  let cppNamespace = "::tessera::graph";
  let genSpecializedAttr = 0;
}
def Graph_ClearAttr : EnumAttr<Graph_Dialect, Graph_Clear, "clear"> {
  let summary = "When a state is set to zero";
  let description = [{
    Attribute `graph.clear` of state arguments: `#graph.clear<before_prompts>` (KV caches: before each batch of prompts) or `<at_start>`, once, which is also the
    meaning of a state that does not say.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Graph_Generate : AttrDef<Graph_Dialect, "Generate"> {
  let mnemonic = "generate";
  let summary = "How an executable generates text: its sizes";
  let description = [{
    Module attribute `graph.generate`, made by `graph-build-generate-step`: rows of a batch, positions of a chunk of prompts, the longest context, ids of the
    vocabulary. With the entries' roles it is all that `generate` knows of a program.
    `#graph.generate<batch = 1, chunk = 128, max_seq_len = 2048, vocab = 49152>`
    `rewind`, of a program with caches in rings: by how many positions a row may be set back from the end of what was written of it, other than to its beginning; -1: by any number.
  }];
  let parameters = (ins "int64_t":$batch, "int64_t":$chunk, "int64_t":$max_seq_len, "int64_t":$vocab,
      DefaultValuedParameter<"int64_t", "-1">:$rewind);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Graph_Train : AttrDef<Graph_Dialect, "Train"> {
  let mnemonic = "train";
  let summary = "How an executable trains: its sizes";
  let description = [{
    Module attribute `graph.train`, made by `graph-build-train-step`: rows of a step over all ranks, positions of a row, micro-batches of a step, ids of the vocabulary. With the
    entries' roles it is all that `train` knows of a program. `loss_scale`: the first one, of a step whose loss is scaled (docs/Precision.md). `flops_per_token`: what
    the model takes for a token of a whole row, forward and backward (docs/TrainStep.md, "FLOPs"); 0: nobody says. `gradient_state`: the state of the optimizer that an update leaves the
    gradient in where all numbers that it takes are 0 (`--grads` writes that one); missing: there is none.
    `#graph.train<batch = 8, seq = 16, micro_batches = 2, vocab = 389>`
  }];
  let parameters = (ins "int64_t":$batch, "int64_t":$seq, "int64_t":$micro_batches, "int64_t":$vocab,
      OptionalParameter<"::mlir::FloatAttr">:$loss_scale, DefaultValuedParameter<"int64_t", "0">:$flops_per_token,
      OptionalParameter<"::mlir::StringAttr">:$gradient_state);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Graph_StateOf : AttrDef<Graph_Dialect, "StateOf"> {
  let mnemonic = "state_of";
  let summary = "Which state of which weight a parameter is";
  let description = [{
    Attribute `graph.state_of` of a `graph.parameter` that an optimizer keeps beside a weight: `#graph.state_of<"exp_avg" of @layers.q>`. It has the weight's type and sources, is a variable,
    begins as zeros and is saved under the weight's names in a file of the state's name.
  }];
  let parameters = (ins "::mlir::StringAttr":$state, "::mlir::FlatSymbolRefAttr":$weight);
  let assemblyFormat = "`<` $state `of` $weight `>`";
  let genVerifyDecl = 1;
}

def Graph_Source : AttrDef<Graph_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "How a tensor of a checkpoint becomes a parameter";
  let description = [{
    Tensor `name` (`{}`, `{i+4}`, `{2i+1}` = layer number) of shape `file` -> `reshape` (empty: none) -> `slice` ([begin, end) pairs, flat; empty: all) -> `permute` (empty: none).
  }];
  let parameters = (ins StringRefParameter<"tensor name">:$name, ArrayRefParameter<"int64_t">:$file,
      OptionalArrayRefParameter<"int64_t">:$reshape, OptionalArrayRefParameter<"int64_t">:$slice,
      OptionalArrayRefParameter<"int64_t">:$permute);
  // <"name", file = [..], reshape = [..], slice = [..], permute = [..]>; the last three are optional.
  let hasCustomAssemblyFormat = 1;
}

#endif
