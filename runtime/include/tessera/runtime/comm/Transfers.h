// Who sends what to whom where a tensor goes from one sharding to another, for one rank: from mesh arithmetic
// alone, in time linear in what that rank sends and receives; nothing is listed in the manifest.
#ifndef TESSERA_RUNTIME_COMM_TRANSFERS_H
#define TESSERA_RUNTIME_COMM_TRANSFERS_H

#include "tessera/runtime/core/Mesh.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace tessera::runtime {

using Shape = std::vector<int64_t>;

// A box of this rank's piece. [begin, begin + size) in it, not empty.
struct Box {
  Shape begin, size;
};
// ... that goes to another rank, or comes from one. At most one between two ranks.
struct BoxTransfer {
  int64_t peer;
  Box box;
};

struct Transfers {
  Shape src, dst; // shapes of this rank's pieces
  std::vector<BoxTransfer> goes, comes;
  // What this rank has of its own: a box of src, and where it begins in dst.
  std::optional<Box> kept;
  Shape keptAt;
  bool padded = false; // the boxes do not fill dst: the rest becomes zero
};

// grouped_send of a tensor of sizes `global`: each rank gets the boxes of its new piece from those that hold
// them, of several holders from the one with its own coordinates on all axes that do not split the old piece.
// Padding does not travel. With `part` only that box of the tensor goes, as a tensor of its own.
Transfers groupedSend(const Mesh &mesh, const Shape &global, const Sharding &from, const Sharding &to,
                      int64_t rank, const Box &part);
Transfers groupedSend(const Mesh &mesh, const Shape &global, const Sharding &from, const Sharding &to,
                      int64_t rank);

// collective_permute of pieces of `elements`: who has the piece that it needs keeps it. Of the ranks with
// equal coordinates on all axes that neither sharding uses, the first in rank order of those that hold a
// piece and do not need it gives it to the first of those that need it and do not hold it, and so on. Throws
// Error if these are not as many.
Transfers permute(const Mesh &mesh, int64_t elements, const Sharding &from, const Sharding &to, int64_t rank);

// collective_permute in which the sharding stays: piece i of n along `axes` takes the place of piece n - 1 -
// i.
Transfers mirror(const Mesh &mesh, int64_t elements, const AxisList &axes, int64_t rank);

// Copies a box of `size` between row-major arrays of shapes `from` and `to`.
void copyBox(const void *src, const Shape &from, const Shape &fromBegin, void *dst, const Shape &to,
             const Shape &toBegin, const Shape &size, size_t elementBytes);

} // namespace tessera::runtime
#endif
