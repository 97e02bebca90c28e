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

template <typename T, typename Op>
static void reduceAs(const void *const *sources, int64_t count, void *dst, int64_t n, Op op) {
  // In tiles, so that a sum over many ranks reads and writes memory once.
  constexpr int64_t tile = 512;
  T acc[tile];
  for (int64_t begin = 0; begin < n; begin += tile) {
    int64_t size = std::min(tile, n - begin);
    memcpy(acc, static_cast<const T *>(sources[0]) + begin, size * sizeof(T));
    for (int64_t s = 1; s < count; ++s) {
      const T *source = static_cast<const T *>(sources[s]) + begin;
      for (int64_t i = 0; i < size; ++i)
        acc[i] = op(acc[i], source[i]);
    }
    memcpy(static_cast<T *>(dst) + begin, acc, size * sizeof(T));
  }
}

void reduce(ReduceOp op, ElementType type, const void *const *sources, int64_t count, void *dst, int64_t n) {
  auto sum = [](auto a, auto b) { return a + b; };
  auto max = [](auto a, auto b) { return b > a ? b : a; };
  bool sums = op == ReduceOp::Sum;
  switch (type) {
  case ElementType::F32:
    return sums ? reduceAs<float>(sources, count, dst, n, sum) : reduceAs<float>(sources, count, dst, n, max);
  case ElementType::I32: // integer sums wrap round, as the hardware's do
    return sums ? reduceAs<uint32_t>(sources, count, dst, n, sum)
                : reduceAs<int32_t>(sources, count, dst, n, max);
  case ElementType::I64:
    return sums ? reduceAs<uint64_t>(sources, count, dst, n, sum)
                : reduceAs<int64_t>(sources, count, dst, n, max);
  }
}

} // namespace tessera::runtime
