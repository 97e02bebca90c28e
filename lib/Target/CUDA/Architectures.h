// Which GPUs a program holds code for.
#ifndef TESSERA_LIB_TARGET_CUDA_ARCHITECTURES_H
#define TESSERA_LIB_TARGET_CUDA_ARCHITECTURES_H

#include "llvm/ADT/StringRef.h"

namespace tessera {

/// Cubins: A100, H100 and H200, B200.
inline constexpr llvm::StringLiteral kCubinChips[] = {"sm_80", "sm_90a", "sm_100"};
/// PTX for everything from there on that has no cubin, and its name in the program.
inline constexpr llvm::StringLiteral kPTXChip = "sm_80";
inline constexpr llvm::StringLiteral kPTXArchitecture = "compute_80";

} // namespace tessera

#endif
