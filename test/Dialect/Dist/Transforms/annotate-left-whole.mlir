// What was asked for and could not be had is never silent: each dimension that stays whole although an item or an axis means it, and each
// large weight that is the same on all ranks along an axis, with bytes.
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,sp=2,tp=4 shard=x:seq=sp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,tp=4 shard=up:hidden=dp,both:ffn=dp,both:vocab=tp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=ASKED

// One position cannot be spread, whether an item asks for it or an axis means it.
// CHECK-DAG: Missed{{.*}}left-whole{{.*}}x: seq of size 1 does not lie over sp: --shard item 'x:seq=sp' asks for it, but one position cannot be spread; a rank holds 32 bytes, spread over it they would be 16
// CHECK-DAG: Missed{{.*}}left-whole{{.*}}y: seq of size 1 does not lie over sp: sp means it, but one position cannot be spread; a rank holds 32 bytes, spread over it they would be 16
// An axis shards one dimension of a tensor.
// CHECK-DAG: Missed{{.*}}left-whole{{.*}}both: vocab of size 32 does not lie over tp: tp means it, but lies over another dimension of the same tensor"
// A large weight along an axis that means none of its dimensions; the small one is not worth a remark.
// CHECK-DAG: Missed{{.*}}replicated{{.*}}up [ffn, hidden] is the same on all ranks along dp: dp means no dimension of weights, and no item gives it to ffn, hidden; a rank holds 256 bytes, spread over it they would be 128
// CHECK-NOT: bias [hidden] is the same
// A rank holds its padding, too: 22 rows of 64 over three ranks.
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,tp=3" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=PADDED
// PADDED: Missed{{.*}}replicated{{.*}}up [ffn, hidden] is the same on all ranks along dp: {{.*}}; a rank holds 352 bytes, spread over it they would be 176

// Asked for otherwise, nothing is left.
// ASKED-NOT: [Missed] left-whole
// ASKED-NOT: [Missed] replicated
func.func @f(%x: tensor<4x1x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
             %y: tensor<4x1x4xf32> {graph.kind = #graph.kind<input>, graph.name = "y", graph.dims = ["batch", "seq", "hidden"]},
             %up: tensor<64x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
             %both: tensor<8x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "both", graph.dims = ["ffn", "vocab"]},
             %bias: tensor<4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias", graph.dims = ["hidden"]}) {
  return
}
