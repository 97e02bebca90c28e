//===- Holds.h - What a place of the arena is for ---------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_HOLDS_H
#define TESSERA_DIALECT_EXEC_IR_HOLDS_H

#include "llvm/ADT/StringRef.h"

namespace tessera::exec {

/// What memory is counted as. A byte that several kinds of values lie in, one after another, counts for the
/// first of these, which are held longest.
enum class Held {
  Caches,     ///< states of generation
  Gradients,  ///< what updates of weights read, as a rank keeps it
  Parameters, ///< weights in the type that they are computed with
  Gathered,   ///< weights that ranks exchanged, until they are used
  Saved,      ///< made by forward, read by backward
  Loss,       ///< logits, and what the loss is made of
  Scratch,    ///< all else: activations, gradients of activations, inputs and outputs
};
inline constexpr llvm::StringLiteral kHeldNames[] = {"caches", "gradients", "parameters", "gathered",
                                                     "saved",  "loss",      "scratch"};

/// On an exec.buffer: [what it holds, the name of the value]. Missing: scratch.
inline constexpr llvm::StringLiteral kHoldsAttr = "exec.holds";

} // namespace tessera::exec
#endif
