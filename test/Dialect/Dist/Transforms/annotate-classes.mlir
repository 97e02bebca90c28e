// Items of --shard for classes of values: weights, what an optimizer keeps of them, gradients; each in its largest dimension that is left.
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,tp=2 shard=states:largest=dp" | FileCheck %s --check-prefix=ZERO1 --implicit-check-not=dist.constraint --implicit-check-not='graph.name %'
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,tp=2 shard=states:largest=dp,gradients:largest=dp" | FileCheck %s --check-prefix=ZERO2
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,fsdp=2 shard=weights:largest=dp+fsdp,exp_avg.w:largest=fsdp,states:largest=dp" | FileCheck %s --check-prefix=OVER
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,fsdp=2 shard=weights:hidden=fsdp,w:ffn=dp,weights:largest=dp,exp_avg.w:largest=-" | FileCheck %s --check-prefix=NAMED
// RUN: llm-opt %s --dist-annotate="mesh=dp=2 shard=w:ffn=dp,weights:largest=dp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEFT
// RUN: llm-opt %s --dist-annotate="mesh=fsdp=2" | FileCheck %s --check-prefix=FSDP
// RUN: llm-opt %s --dist-annotate="mesh=fsdp=2 shard=gradients:largest=-" | FileCheck %s --check-prefix=WHOLE
// RUN: not llm-opt %s --dist-annotate="mesh=dp=2 shard=largest=dp" 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not llm-opt %s --dist-annotate="mesh=dp=2 shard=tokens:largest=dp" 2>&1 | FileCheck %s --check-prefix=NONE

// ZERO1-LABEL: func.func @train
// ZERO1-SAME: [{"dp"}, {}]>, graph.dims = ["batch", "seq"]
// ZERO1-SAME: [{"tp"}, {}]>, graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "w"
// ZERO1-SAME: [{"tp"}, {"dp"}p1]>, graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "exp_avg.w"

// ZERO2: dist.constraint %{{.*}} <@mesh, [{"tp"}, {"dp"}p1]>

// The axis that stores weights and states in pieces stores gradients so, unless somebody asks for something else.
// FSDP: dist.constraint %{{.*}} <@mesh, [{?}, {"fsdp"}p1]>
// WHOLE: dist.constraint %{{.*}} <@mesh, [{}, {}]>

// What is said of a value itself goes before its class, and both before what fsdp means.
// OVER-LABEL: func.func @train
// OVER-SAME: [{}, {"dp", "fsdp"}p1]>, graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "w"
// OVER-SAME: [{}, {"fsdp"}p1]>, graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "exp_avg.w"

// A dimension's name goes before `largest`, which is another one then, and an axis that it took is taken.
// NAMED-LABEL: func.func @train
// NAMED-SAME: [{"dp"}, {"fsdp"}]>, graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "w"
// NAMED-SAME: [{}, {}]>, graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "exp_avg.w"

// LEFT: w: --shard item 'weights:largest=dp' finds no dimension and axis that nothing else uses

// ALL: error: largest dimension of nothing (--shard item 'largest=dp'): it is another one in every value; write weights:largest=dp
// NONE: error: unknown dimension 'largest' (--shard item 'tokens:largest=dp'): tokens has none of this name; its dimensions are

graph.parameter @w : tensor<8x12xf32> variable from [#graph.source<"w", file = [8, 12]>]
graph.parameter @exp_avg.w : tensor<8x12xf32> variable from [#graph.source<"w", file = [8, 12]>] {graph.state_of = #graph.state_of<"exp_avg" of @w>}
func.func @train(%tokens: tensor<4x6xf32> {graph.dims = ["batch", "seq"], graph.kind = #graph.kind<input>, graph.name = "tokens"},
    %w: tensor<8x12xf32> {graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "w"},
    %m: tensor<8x12xf32> {graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "exp_avg.w"})
    -> (tensor<8x12xf32> {graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "exp_avg.w"}) {
  %g = graph.name %w inner "grad.w" ["ffn", "hidden"] : tensor<8x12xf32>
  %next = graph.add %m, %g : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x12xf32>
  return %next : tensor<8x12xf32>
}
