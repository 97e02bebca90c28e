//===- ShardedShape.h - Global values and the pieces of ranks --------*- C++ -*-===//
//
// Which elements of a global tensor lie where on which rank of an `spmd` program (docs/Architecture.md,
// "Sharding and padding"): a dimension of n elements over k shards lies in pieces of c = ceil(n / k), shard i
// holds [i * c, min((i + 1) * c, n)), the rest of its c places is padding.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_REFERENCE_SHARDEDSHAPE_H
#define TESSERA_REFERENCE_SHARDEDSHAPE_H

#include "tessera/Analysis/Sharding/Sharding.h"
#include "tessera/Reference/Tensor.h"

#include <string>

namespace tessera {

/// One value on every rank.
using RankValues = std::vector<ReferenceTensor>;

/// A local tensor type as plain data.
struct ShardedShape {
  Mesh mesh;
  Sharding sharding;
  llvm::SmallVector<int64_t> global; ///< unpadded sizes
  mlir::Type elementType;

  llvm::SmallVector<int64_t> localShape() const { return sharding.localShape(global); }
  /// Number of `rank`'s shard along `dim`.
  int64_t shard(int dim, int64_t rank) const;
};

/// What stands in the padding of a new value. Padding is unspecified but finite; the judge fills it with
/// numbers that show in the result if anything reads them.
enum class Padding { Zero, Poison };

/// A piece for every rank. A partial sharding gives the value to the first rank of each group over the
/// partial axes and the neutral element (0, or the least number) to the others.
RankValues shard(const ReferenceTensor &global, const ShardedShape &sharded, Padding padding);

/// The global value of pieces. Partial pieces are combined; copies of an element on several ranks must agree
/// within `tolerance` times the largest element, else `error` names the element and the ranks.
llvm::FailureOr<ReferenceTensor> unshard(const RankValues &pieces, const ShardedShape &sharded,
                                         double tolerance, std::string &error);

/// Moves values from `from` to `to` (equal meshes; equal global sizes, or `to` has the elements from `at`
/// on), as a collective does: a rank may read only ranks that differ from it in the digits of `axes`; partial
/// axes of `from` that `to` lacks are combined over them, and of those that only `to` has one rank
/// contributes the value. Padding of the result is poisoned. Error if an element would have to come from
/// another rank: a step that the named collective cannot do.
llvm::FailureOr<RankValues> exchange(const RankValues &pieces, const ShardedShape &from,
                                     const ShardedShape &to, llvm::ArrayRef<AxisRef> axes, std::string &error,
                                     llvm::ArrayRef<int64_t> at = {});

/// Fills `tensor` at `index` with the next number of a fixed pseudo-random sequence, no number that data is
/// likely to be.
void poison(ReferenceTensor &tensor, int64_t index);

} // namespace tessera
#endif
