// Grouped sends: a tensor goes from one layout to another, each rank getting the boxes of its new piece from those that hold them. Who sends what
// follows from the two layouts; nothing is listed in the manifest.
#ifndef TESSERA_RUNTIME_CORE_SENDS_H
#define TESSERA_RUNTIME_CORE_SENDS_H

#include "tessera/runtime/core/Manifest.h"

namespace tessera::runtime {

// What one rank holds of another's new piece: one box for each sender. [begin, begin + size) in the whole tensor, without padding, not empty.
struct SentBox {
  int64_t sender;
  Shape begin, size;
};

// Sizes of a rank's piece: each dimension divided by its shards, rounded up.
Shape localShape(const Shape &global, const Sharding &sharding);

// The boxes that make up the new piece of `receiver`, its own included, by the senders' places in the tensor. A sender has the receiver's coordinates
// on every axis that does not split its piece.
std::vector<SentBox> boxesReceived(const Mesh &mesh, const CollectiveSpec &sends, int64_t receiver);

// Elements that the busiest rank receives from others, or sends to them.
int64_t mostMoved(const Mesh &mesh, const CollectiveSpec &sends);

// Copies a box between row-major arrays of shapes `from` and `to`.
void copyBox(const void *src, const Shape &from, const Shape &fromBegin, void *dst, const Shape &to, const Shape &toBegin, const Shape &size,
             int64_t elementBytes);

// Zeros in a new piece that the boxes do not fill: what memory held before may be no number.
void clearPadding(const std::vector<SentBox> &boxes, const Shape &local, void *dst, int64_t elementBytes);

// Where a box that lies within one piece begins in it, for pieces of shape `local`.
Shape withinPiece(const Shape &begin, const Shape &local);

} // namespace tessera::runtime
#endif
