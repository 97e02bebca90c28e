//===- MeshSpec.h - What --mesh and --shard say -----------------*- C++ -*-===//
//
// Plain data and text, no IR. `dp=2,tp=4` names axes; `batch=dp,residual:seq=tp,kv_heads=tp:(1)2` says which
// dimension each one shards. An axis with a standard name shards its standard dimensions without being told.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_MESHSPEC_H
#define TESSERA_DIALECT_DIST_TRANSFORMS_MESHSPEC_H

#include "tessera/Analysis/Sharding/Mesh.h"

#include <vector>

namespace tessera::dist {

/// Classes of values of a program, each a VALUE of --shard: weights, what an optimizer keeps of them, their
/// gradients summed up over micro-batches, and the 16-bit form that weights are computed with.
inline constexpr llvm::StringLiteral kWeights = "weights", kStates = "states", kGradients = "gradients",
                                     kComputed = "computed";
/// The DIM that is the largest one of a value that nothing else shards. `largest=-`: what no other item and
/// no standard axis shards is whole.
inline constexpr llvm::StringLiteral kLargest = "largest";

/// One item of --shard: `[VALUE:]DIM=AXIS[+AXIS...]`, or `[VALUE:]DIM=-`: whole.
struct ShardItem {
  std::string value; ///< a value, or a class of values; empty: every value
  std::string dim;
  AxisList axes;    ///< major to minor; none: whole, whatever standard axes mean
  std::string text; ///< as written
};

/// `dp=2,tp=4`; empty text: no axes, one rank. None, and one line in `error`, for an axis of size < 1, a
/// repeated name, more than kMaxRanks ranks or malformed text.
std::optional<Mesh> parseMeshSpec(llvm::StringRef text, std::string &error);
/// None, and one line in `error`, for malformed text, an axis that `mesh` lacks, sub-axes that do not divide,
/// one axis twice in an item, one dimension (of one value) twice.
std::optional<std::vector<ShardItem>> parseShardSpec(llvm::StringRef text, const Mesh &mesh,
                                                     std::string &error);

/// What an axis of this name shards if nobody says otherwise.
struct StandardAxis {
  llvm::StringRef name;
  llvm::ArrayRef<llvm::StringRef> activationDims; ///< of inputs, states and named values
  llvm::ArrayRef<llvm::StringRef> weightDims;     ///< of parameters
  bool largestFreeWeightDim = false; ///< of parameters, besides: the largest dimension no other axis shards
};
/// The meaning of `name`, or null.
const StandardAxis *findStandardAxis(llvm::StringRef name);
/// `dp, fsdp, ...`, for messages.
std::string standardAxisNames();

/// `error` text if an axis of `mesh` has neither a standard name nor an item that uses it; empty if all have.
std::string checkAxesUsed(const Mesh &mesh, llvm::ArrayRef<ShardItem> items);

} // namespace tessera::dist
#endif
