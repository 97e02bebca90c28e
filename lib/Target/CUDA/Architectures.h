// Which GPUs a program holds code for.
#ifndef TESSERA_LIB_TARGET_CUDA_ARCHITECTURES_H
#define TESSERA_LIB_TARGET_CUDA_ARCHITECTURES_H

#include "llvm/ADT/StringRef.h"

namespace tessera {

/// Cubins: A100, H100 and H200, B200.
inline constexpr llvm::StringLiteral kCubinChips[] = {"sm_80", "sm_90a", "sm_100"};
/// PTX for everything from there on that has no cubin.
inline constexpr llvm::StringLiteral kPTXChip = "sm_80";
/// The one with products of warpgroups (wgmma).
inline constexpr llvm::StringLiteral kWarpgroupChip = "sm_90a";

/// Bytes of shared memory that a block may have; of no chip in particular: on all of them.
inline int64_t sharedBytesOf(llvm::StringRef chip = "") { return (chip == kWarpgroupChip ? 227 : 99) * 1024; }

} // namespace tessera

#endif
