// Names of dimensions become shardings of arguments and of named values.
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,fsdp=3,tp=2" | FileCheck %s --check-prefix=ALL
// RUN: llm-opt %s --dist-annotate="mesh=tp=4 shard=kv_heads=tp:(1)2,w:ffn=tp:(2)2" | FileCheck %s --check-prefix=SUB
// RUN: llm-opt %s --dist-annotate="mesh=tp=4 shard=w:ffn=tp:(2)2,ffn=tp:(1)2" | FileCheck %s --check-prefix=NARROW
// RUN: llm-opt %s --dist-annotate="mesh=tp=4 shard=ffn=tp:(1)2,w:ffn=tp:(2)2" | FileCheck %s --check-prefix=NARROW
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,tp=2 shard=residual:seq=tp" | FileCheck %s --check-prefix=MEGATRON
// RUN: llm-opt %s --dist-annotate="mesh=sp=2,cp=3" | FileCheck %s --check-prefix=SEQ
// RUN: llm-opt %s --dist-annotate="mesh=a=2,b=2 shard=batch=a+b" | FileCheck %s --check-prefix=OWN
// RUN: llm-opt %s --dist-annotate="mesh=tp=2 shard=w:ffn=-,residual:seq=-" | FileCheck %s --check-prefix=WHOLE
// RUN: llm-opt %s --dist-annotate="mesh=tp=1" | FileCheck %s --check-prefix=ONE

// ALL: dist.mesh @mesh = <["dp"=2, "fsdp"=3, "tp"=2]>
// ONE: dist.mesh @mesh = <["tp"=1]>

// Asked to be whole: the weight lacks what tp means, and propagation may not shard the named value there.
// WHOLE: [{}, {}]>, graph.dims = ["ffn", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "w"
// WHOLE: dist.constraint {{.*}} <@mesh, [{?}, {}, {?}]>

// Activations: dp and fsdp share the batch. Weights: tp its dimension, fsdp the largest that is left, never the layer, after activations.
// ALL-LABEL: func.func @f
// ALL-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}, {}]>
// ALL-SAME: %arg1: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"tp"}, {"fsdp"}p1]>
// ALL-SAME: %arg2: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}, {"fsdp"}p1]>
// ALL-SAME: %arg3: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {"dp", "fsdp"}, {}, {"tp"}, {}]>
// The name that no item speaks of constrains nothing.
// ALL-NOT: dist.constraint

// An item for one value goes before one for all, in either order.
// NARROW-LABEL: func.func @f
// NARROW-SAME: %arg1: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"tp":(2)2}, {}]>
// NARROW-SAME: %arg2: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {"tp":(1)2}, {}]>

// An item replaces the default for that value and dimension only.
// SUB-LABEL: func.func @f
// SUB-SAME: %arg1: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"tp":(2)2}, {}]>
// SUB-SAME: %arg2: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}, {}]>
// SUB-SAME: %arg3: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"tp":(1)2}, {}]>

// MEGATRON: dist.constraint %{{.*}} <@mesh, [{"dp"}, {"tp"}, {?}]>

// cp has the sequence everywhere and the context of caches; sp only the sequence, which cp left nothing of.
// SEQ-LABEL: func.func @f
// SEQ-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {"sp", "cp"}]>
// SEQ-SAME: %arg3: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {}, {"cp"}, {}, {}]>

// OWN-LABEL: func.func @f
// OWN-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"a", "b"}, {}]>

// ONE-NOT: {"tp"}
func.func @f(%tokens: tensor<4x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
             %w: tensor<8x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["ffn", "hidden"]},
             %stack: tensor<64x8x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.w", graph.dims = ["layer", "ffn", "hidden"]},
             %cache: tensor<64x4x16x4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
             %x: tensor<4x8x32xf32>) {
  %0 = graph.name %x "residual" ["batch", "seq", "hidden"] : tensor<4x8x32xf32>
  return
}

// One position stays whole; what a person wrote stays too; what has no names is left to propagation.
// SEQ-LABEL: func.func @decode
// SEQ-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {}]>
// SEQ-SAME: %arg1: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"sp"}, {?}]>
// SEQ-SAME: %arg2: tensor<4xf32>)
func.func @decode(%tokens: tensor<4x1xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                  %mine: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"sp"}, {?}]>, graph.dims = ["batch", "seq"]},
                  %plain: tensor<4xf32>) {
  return
}
