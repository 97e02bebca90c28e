//===- HeadGroups.h - Axes dealt between KV heads and their groups -*- C++ -*-===//
//
// Query heads are kv_heads x group. Axes that shard heads are cut in two: the major part shards kv_heads, the
// rest group, over which keys and values are copies. More on kv_heads pads whole KV heads, more on group
// copies them; what a rank then holds decides. Plain data, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_HEADGROUPS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_HEADGROUPS_H

#include "tessera/Analysis/Sharding/Mesh.h"

namespace tessera::dist {

/// A tensor that heads stand in: a weight or a cache.
struct HeadTensor {
  double otherBytes = 0; ///< bytes of one head of one group: all other dimensions
  int64_t kvHeads = 1;
  int64_t group = 1;
  bool hasGroup = false;
};

struct HeadSplit {
  AxisList kvHeads, group; ///< major to minor; together the axes that were dealt
  double bytesPerRank = 0; ///< of all tensors, padding and copies included
  double evenBytes = 0;    ///< had every tensor been cut without padding or copies
};

/// The split of `axes` with which a rank holds the fewest bytes; of equals the one that gives kv_heads most.
HeadSplit splitHeads(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<HeadTensor> tensors);

} // namespace tessera::dist
#endif
