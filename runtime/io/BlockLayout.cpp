#include "tessera/runtime/io/BlockLayout.h"

#include <cassert>
#include <numeric>

namespace tessera::io {

BlockParts blockParts(DType type) {
  switch (type) {
  case DType::Q8_0:
    return {32, 2, 0};
  case DType::Q4_0:
    return {16, 2, 0};
  case DType::Q4_1:
    return {16, 4, 0};
  case DType::Q5_0:
    return {20, 2, 0};
  case DType::Q5_1:
    return {20, 4, 0};
  case DType::Q4_K: // 6 bits of scale and of minimum are bytes here
    return {16, 2, 4};
  case DType::Q5_K:
    return {20, 2, 4};
  case DType::Q6_K:
    return {24, 2, 2};
  case DType::MXFP4:
    return {16, 1, 0};
  case DType::FP8:
    return {32, 0, 4};
  case DType::INT4_32:
  case DType::INT4_64:
  case DType::INT4_128:
    return {16, 0, 3};
  default:
    assert(false && "no type of blocks");
    return {0, 0, 0};
  }
}

BlockColumns::BlockColumns(const std::vector<int64_t> &global, const std::vector<int64_t> &local) {
  size_t split = global.size(); // the innermost dimension that is split, from behind
  while (split > 0 && global[split - 1] == local[split - 1])
    length *= global[--split];
  if (split == 0)
    return;
  granule = std::gcd(local[split - 1] * length, global[split - 1] * length);
  length *= local[split - 1];
  for (size_t d = 0; d + 1 < split; ++d)
    chunks *= local[d];
}

static int64_t wholeLines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

BlockLayout::BlockLayout(DType type, int64_t rows, const BlockColumns &c) {
  BlockParts parts = blockParts(type);
  const int64_t super = superBlock(type);
  units = (rows + kUnitRows - 1) / kUnitRows;
  // One more than the columns need where a chunk may begin within a sub-block.
  blocks = (c.length + kSubBlock - std::gcd(c.granule, kSubBlock) + kSubBlock - 1) / kSubBlock;
  supers = parts.supers == 0                      ? 0
           : c.granule % (super * kSubBlock) == 0 ? (blocks + super - 1) / super
                                                  : (blocks + super - 2) / super + 1;
  columns = c.chunks * blocks * kSubBlock;
  headerBytes = wholeLines(int64_t(sizeof(BlockHeader)) + c.chunks * int64_t(sizeof(BlockHeader::Chunk)));
  unitBytes =
      wholeLines(kUnitRows * c.chunks * (blocks * (parts.codes + parts.scales) + supers * parts.supers));
  bytes = headerBytes + units * unitBytes;
}

} // namespace tessera::io
