// Packing of matrices, in tiles of 16 by 16: both sides stay in the cache's lines.
#include "DTypeFunctions.h"

#include <algorithm>
#include <cstring>

namespace tessera::io {

static constexpr int64_t tile = 16;

// T: an unsigned integer of the element's width. `group` divides `tile`.
template <typename T, int64_t group, void (*narrow)(const float *, int64_t, void *)>
static void packAs(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block,
                   void *dst) {
  T *to = static_cast<T *>(dst);
  T narrowed[tile][tile];
  for (int64_t i0 = 0; i0 < rows; i0 += tile)
    for (int64_t j0 = 0; j0 < columns; j0 += tile) {
      int64_t height = std::min(tile, rows - i0), width = std::min(tile, columns - j0);
      for (int64_t i = 0; i < height; ++i)
        narrow(src + (i0 + i) * stride + j0, width, narrowed[i]);
      for (int64_t j = 0; j < width; ++j)
        for (int64_t i = 0; i < height; ++i)
          to[((j0 + j) / group * block + i0 + i) * group + (j0 + j) % group] = narrowed[i][j];
    }
}

template <typename T, int64_t group>
static void unpackRowAs(const void *src, int64_t i, int64_t columns, int64_t block, void *dst) {
  const T *from = static_cast<const T *>(src) + i * group;
  T *row = static_cast<T *>(dst);
  int64_t j = 0;
  for (; j + group <= columns; j += group)
    std::memcpy(row + j, from + j * block, group * sizeof(T));
  std::memcpy(row + j, from + j * block, size_t(columns - j) * sizeof(T));
}

void packF32(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block, void *dst) {
  packAs<uint32_t, 1, narrowF32>(src, stride, rows, columns, block, dst);
}
void packF16(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block, void *dst) {
  packAs<uint16_t, 1, narrowF16>(src, stride, rows, columns, block, dst);
}
void packBF16(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block, void *dst) {
  packAs<uint16_t, 2, narrowBF16>(src, stride, rows, columns, block, dst);
}

void unpackRow32(const void *src, int64_t i, int64_t columns, int64_t block, void *dst) {
  unpackRowAs<uint32_t, 1>(src, i, columns, block, dst);
}
void unpackRow16(const void *src, int64_t i, int64_t columns, int64_t block, void *dst) {
  unpackRowAs<uint16_t, 1>(src, i, columns, block, dst);
}
void unpackRowPairs16(const void *src, int64_t i, int64_t columns, int64_t block, void *dst) {
  unpackRowAs<uint16_t, 2>(src, i, columns, block, dst);
}

} // namespace tessera::io
