//===- Templates.h - Plans with a name --------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_TEMPLATES_H
#define TESSERA_LIB_PIPELINES_TEMPLATES_H

#include "tessera/Pipelines/CompileOptions.h"

namespace tessera {

/// A partial plan with a name: the axes that a mesh must have for it, and what it adds to --shard. Weights
/// and states over fsdp, and all that tp shards, are what these axes mean anyhow.
struct Template {
  llvm::StringLiteral name, axes, shard; ///< no axes: not implemented
  llvm::StringLiteral trainShard;        ///< besides, with --task=train
  /// In place of trainShard where weights are rounded to be computed with: masters lie as states do, and half
  /// as much is gathered. Not on a mesh with fsdp, which shards weights already. Empty: trainShard.
  llvm::StringLiteral narrowShard{""};
};

inline constexpr Template kTemplates[] = {
    {"ddp", "dp", "", ""},
    {"zero1", "dp", "", "states:largest=dp", "weights:largest=dp,states:largest=dp,computed:largest=-"},
    {"zero2", "dp", "", "states:largest=dp,gradients:largest=dp",
     "weights:largest=dp,states:largest=dp,computed:largest=-,gradients:largest=dp"},
    {"fsdp", "fsdp", "", "gradients:largest=fsdp"},
    {"hsdp", "dp,fsdp", "", "gradients:largest=fsdp"},
    {"tp", "tp", "", ""},
    {"megatron", "tp", "residual:seq=tp", ""}, // sequence parallelism: the stream between blocks
    {"2d", "fsdp,tp", "", "gradients:largest=fsdp"},
    {"3d", "", "", ""},
    {"ring", "", "", ""},
    {"ulysses", "", "", ""},
    {"moe", "", "", ""},
};

/// Adds what the template means to options.shard. What is said there of the same dimension of the same value
/// stays in its place. Fails if the mesh lacks an axis, or the task has nothing that the template shards; a
/// mesh that cannot be read is left to whoever reads it.
Status fillIn(const Template &chosen, CompileOptions &options);

} // namespace tessera
#endif
