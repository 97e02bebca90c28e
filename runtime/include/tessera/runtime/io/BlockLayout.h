// How a matrix of quantized blocks is held: 16 rows side by side, so that one vector is one column of them.
// Sizes are here, for the runtime that holds it and for the compiler that plans with it
// (docs/Quantization.md).
#ifndef TESSERA_RUNTIME_IO_BLOCKLAYOUT_H
#define TESSERA_RUNTIME_IO_BLOCKLAYOUT_H

#include "tessera/runtime/io/DType.h"

#include <cstdint>
#include <vector>

namespace tessera::io {

constexpr int64_t kUnitRows = 16; // rows that are laid out together
constexpr int64_t kSubBlock =
    32; // columns that stay together: a shard may begin within one, and holds all of it
// Sub-blocks that a block has, which share what stands once in it: of K-quants the scales of their scales.
inline int64_t superBlock(DType type) { return blockElements(type) / kSubBlock; }

// Bytes that a row has of each part of its blocks: of a sub-block its codes and its scales, of a super-block
// what stands once for all of its sub-blocks.
struct BlockParts {
  int64_t codes, scales, supers;
};
// Of a quantized type.
BlockParts blockParts(DType type);

// Where the columns of a shard lie in the rows of the file: `chunks` stretches of `length` columns, each
// beginning at a multiple of `granule`; 0: at the beginning. Several where a dimension that is split stands
// behind others.
struct BlockColumns {
  // Of columns that are dimensions of these sizes, of which each rank has `local`.
  BlockColumns(const std::vector<int64_t> &global, const std::vector<int64_t> &local);
  int64_t chunks = 1, length = 1, granule = 0;
};

// One layer: a header (BlockHeader), then units of 16 rows. A unit is the codes of all its sub-blocks, then
// their scales, then those of super-blocks; in each, 16 rows of words (codes), of scales, of minima stand
// side by side. As large on every rank: sub-blocks that a rank has none of are zero.
struct BlockLayout {
  BlockLayout(DType type, int64_t rows, const BlockColumns &columns);
  int64_t units, blocks, supers; // sub- and super-blocks of a chunk
  int64_t columns;               // of all sub-blocks: `blocks` x 32 for each chunk
  int64_t headerBytes, unitBytes, bytes;
};

// What the first bytes of a layer say: its type, and the chunks of this rank.
struct BlockHeader {
  // Of a chunk: its first column in the file, modulo a super-block; how many columns it has (the rest of
  // `length` is padding).
  struct Chunk {
    int32_t place, count;
  };
  int32_t type, chunks;
  const Chunk *of() const { return reinterpret_cast<const Chunk *>(this + 1); }
  Chunk *of() { return reinterpret_cast<Chunk *>(this + 1); }
};

} // namespace tessera::io
#endif
