// The arithmetic both communicators share: blocks of a tensor along a dimension, and reductions in rank
// order.
#ifndef TESSERA_RUNTIME_COMM_BLOCKS_H
#define TESSERA_RUNTIME_COMM_BLOCKS_H

#include "tessera/runtime/core/Manifest.h"

#include <cstdint>

namespace tessera::runtime {

// A row-major tensor seen as [outer, along, inner] around one dimension.
struct Strips {
  int64_t outer = 1, along = 1, inner = 1;
  Strips(const Shape &shape, int64_t dim);
  int64_t elements() const { return outer * along * inner; }
};

// Block `part` of `parts` along the dimension of `strips`, as a strided run: `outer` pieces of `piece`
// elements, the first at `offset`, each `stride` after the last.
struct Block {
  int64_t offset, outer, piece, stride;
  Block(const Strips &strips, int64_t parts, int64_t part)
      : offset(strips.along / parts * strips.inner * part), outer(strips.outer),
        piece(strips.along / parts * strips.inner), stride(strips.along * strips.inner) {}
  int64_t elements() const { return outer * piece; }
};

// Copies a block to a block of the same number of elements (pieces may differ in size if one side is
// contiguous).
void copyBlock(const void *src, const Block &from, void *dst, const Block &to, int64_t elementBytes);
Block contiguousBlock(int64_t elements);

// Part of [0, n) that member `index` of `size` reduces in an all_reduce: whole cache lines.
ShardRange reducePart(int64_t n, int64_t size, int64_t index);

// dst[i] = op over s of sources[s][i], s ascending; dst may be one of the sources.
inline void reduce(ReduceOp op, io::DType type, const void *const *sources, int64_t count, void *dst, int64_t n) {
  io::traits(type).reduce(op, sources, count, dst, n);
}

} // namespace tessera::runtime
#endif
