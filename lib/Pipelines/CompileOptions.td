//===- CompileOptions.td - The flags of llm-compile --------*- tablegen -*-===//
//
// LLVM's option tables make the parser, the help and the search for the nearest flag from this file. What a value may be is
// checked in CompileOptions.cpp. The flags of targets (--cpu) come from the list of targets instead.
//
//===----------------------------------------------------------------------===//
include "llvm/Option/OptParser.td"

/// `--name=VALUE`, also as `--name VALUE`.
multiclass Value<string name, string value, string help> {
  def NAME : Joined<["--"], name # "=">, MetaVarName<value>, HelpText<help>;
  def NAME # _separate : Separate<["--"], name>, Alias<!cast<Option>(NAME)>;
}

/// Part of the command line that has no meaning yet: refused by name, not listed.
multiclass Later<string name> {
  def NAME : Joined<["--"], name # "=">, Flags<[HelpHidden]>;
  def NAME # _separate : Separate<["--"], name>, Alias<!cast<Option>(NAME)>, Flags<[HelpHidden]>;
}

def output : Separate<["-"], "o">, MetaVarName<"OUT">, HelpText<"the executable, or the text of a rung">;
defm mesh : Value<"mesh", "AXIS=SIZE,...", "named axes and their sizes, as dp=2,tp=2 (default: one rank)">;
defm shard : Value<"shard", "ITEMS", "[VALUE:]DIM=AXIS[+AXIS...] or [VALUE:]DIM=- (whole), separated by commas">;
defm template : Value<"template", "NAME", "a partial plan: ddp, zero1, zero2, fsdp, hsdp, tp, megatron or 2d">;
defm batch : Value<"batch", "N", "sequences a step over all ranks (default 1)">;
defm max_seq_len : Value<"max-seq-len", "N", "longest context (default: the smaller of 2048 and the model's)">;
defm dtype : Value<"dtype", "f32|bf16|f16", "weights, activations and caches (sums are kept in f32; training updates weights in f32)">;
defm cache : Value<"cache", "f32|bf16|f16|q8_0", "what keys and values are kept in from step to step (default: as --dtype)">;
defm task : Value<"task", "generate|train", "what OUT does (default generate)">;
defm target : Value<"target", "TARGET", "what to compile for (default cpu); its own flags are below">;
defm micro_batches : Value<"micro-batches", "N", "parts that a step of training takes its batch in (default 1, of a pipeline the fastest); of a pipeline that generates, groups of rows that are on their way at once (default: one a stage)">;
defm pipeline : Value<"pipeline", "SCHEDULE", "in which order stages over the axis pp compute: auto (the default), gpipe, 1f1b, looped-bfs:V, interleaved:V, zb1p:V, zbv, dualpipev or a file of lists">;
defm stages : Value<"stages", "N,...", "layers of each stage of a pipeline (default: so that no stage takes longer than it must)">;
defm optimizer : Value<"optimizer", "adamw|sgd", "how training updates weights (default adamw)">;
defm grad_dtype : Value<"grad-dtype", "f32|bf16", "type of the gradients of training (default f32)">;
defm loss_scale : Value<"loss-scale", "X", "what training in f16 first multiplies its loss with (default 65536)">;
defm recompute : Value<"recompute", "WHAT", "what training computes twice to save memory: none (the default), full or NAME,... of values">;
defm loss_chunks : Value<"loss-chunks", "N", "parts of the positions in which training makes logits and loss (default: so many that logits are not what needs most memory)">;
defm overlap : Value<"overlap", "on|off", "communication beside computation, one layer ahead (default on); off needs less memory">;
defm memory : Value<"memory", "BYTES", "what a rank may take at most, weights, states and arena together: training then computes or gathers again what does not fit, and weights are sharded that would be whole; also 2K, 2Ki, 2M, ...">;
defm machine : Value<"machine", "NAME|FILE", "what placement weighs and times are predicted for: nodes of a100, h100, h200 or b200 (h100:4: of 4 GPUs), or a file (OUT bench --machine=FILE writes one)">;
def embed_weights : Flag<["--"], "embed-weights">, HelpText<"put the model's files into OUT">;
def check : Flag<["--"], "check">, HelpText<"compare OUT with one device before it appears: on its mesh, with random inputs">;
defm compile_to : Value<"compile-to", "RUNG", "stop at graph, step, sharded, spmd, kernels or exec and print it to OUT or standard output (default: binary)">;
defm dump_rungs : Value<"dump-rungs", "DIR", "write every rung to DIR/RUNG.mlir">;
def explain : Flag<["--"], "explain">, HelpText<"print the reason of every decision">;
defm report : Value<"report", "FILE.html", "write one page: graph, shardings, collectives, memory">;
def help : Flag<["--"], "help">, MetaVarName<"man">, HelpText<"print this (also -h), or the whole as a page for man">;
def help_page : Joined<["--"], "help=">, Flags<[HelpHidden]>;
def help_short : Flag<["-"], "h">, Alias<help>;
def version : Flag<["--"], "version">, HelpText<"print the version">;
defm completion : Value<"completion", "bash|zsh|fish", "print a script that completes flags in bash, zsh or fish">;

defm cluster : Later<"cluster">;
defm plan : Later<"plan">;
