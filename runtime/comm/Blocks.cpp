#include "tessera/runtime/comm/Blocks.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

Strips::Strips(const Shape &shape, int64_t dim) {
  for (int64_t i = 0; i < int64_t(shape.size()); ++i)
    (i < dim ? outer : i == dim ? along : inner) *= shape[i];
}

Block contiguousBlock(int64_t elements) { return Block(Strips({elements}, 0), 1, 0); }

void copyBlock(const void *src, const Block &from, void *dst, const Block &to, int64_t elementBytes) {
  const char *s = static_cast<const char *>(src) + from.offset * elementBytes;
  char *d = static_cast<char *>(dst) + to.offset * elementBytes;
  int64_t piece = std::min(from.piece, to.piece);
  if (piece == 0)
    return;
  int64_t fromPieces = from.piece / piece, toPieces = to.piece / piece; // one of them is 1
  int64_t total = from.outer * fromPieces;
  for (int64_t i = 0; i < total; ++i)
    memcpy(d + (i / toPieces * to.stride + i % toPieces * piece) * elementBytes,
           s + (i / fromPieces * from.stride + i % fromPieces * piece) * elementBytes, piece * elementBytes);
}

ShardRange reducePart(int64_t n, int64_t size, int64_t index) {
  int64_t part = (n + size - 1) / size;
  part = (part + 15) / 16 * 16;
  return shardRange(n, part, index);
}

} // namespace tessera::runtime
