// Reductions over arrays of several ranks, in tiles: a sum over many ranks reads and writes memory once.
#include "DTypeFunctions.h"

#include <algorithm>
#include <cstring>

namespace tessera::io {

static constexpr int64_t tile = 512;

namespace {
struct Sum {
  template <typename T> T operator()(T a, T b) const { return a + b; }
};
struct Max {
  template <typename T> T operator()(T a, T b) const { return b > a || b != b ? b : a; }
};
} // namespace

template <typename T, typename Op>
static void reduceAs(const void *const *sources, int64_t count, void *dst, int64_t n, Op op) {
  T acc[tile];
  for (int64_t begin = 0; begin < n; begin += tile) {
    int64_t size = std::min(tile, n - begin);
    std::memcpy(acc, static_cast<const T *>(sources[0]) + begin, size_t(size) * sizeof(T));
    for (int64_t s = 1; s < count; ++s) {
      const T *source = static_cast<const T *>(sources[s]) + begin;
      for (int64_t i = 0; i < size; ++i)
        acc[i] = op(acc[i], source[i]);
    }
    std::memcpy(static_cast<T *>(dst) + begin, acc, size_t(size) * sizeof(T));
  }
}

template <void (*widen)(const void *, int64_t, float *), void (*narrow)(const float *, int64_t, void *),
          typename Op>
static void reduceWide(const void *const *sources, int64_t count, void *dst, int64_t n, Op op) {
  float acc[tile], next[tile];
  for (int64_t begin = 0; begin < n; begin += tile) {
    int64_t size = std::min(tile, n - begin);
    widen(static_cast<const uint16_t *>(sources[0]) + begin, size, acc);
    for (int64_t s = 1; s < count; ++s) {
      widen(static_cast<const uint16_t *>(sources[s]) + begin, size, next);
      for (int64_t i = 0; i < size; ++i)
        acc[i] = op(acc[i], next[i]);
    }
    narrow(acc, size, static_cast<uint16_t *>(dst) + begin);
  }
}

void reduceF32(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n) {
  op == ReduceOp::Sum ? reduceAs<float>(sources, count, dst, n, Sum())
                      : reduceAs<float>(sources, count, dst, n, Max());
}
void reduceF16(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n) {
  op == ReduceOp::Sum ? reduceWide<widenF16, narrowF16>(sources, count, dst, n, Sum())
                      : reduceWide<widenF16, narrowF16>(sources, count, dst, n, Max());
}
void reduceBF16(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n) {
  op == ReduceOp::Sum ? reduceWide<widenBF16, narrowBF16>(sources, count, dst, n, Sum())
                      : reduceWide<widenBF16, narrowBF16>(sources, count, dst, n, Max());
}
void reduceI32(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n) {
  op == ReduceOp::Sum ? reduceAs<uint32_t>(sources, count, dst, n, Sum())
                      : reduceAs<int32_t>(sources, count, dst, n, Max());
}
void reduceI64(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n) {
  op == ReduceOp::Sum ? reduceAs<uint64_t>(sources, count, dst, n, Sum())
                      : reduceAs<int64_t>(sources, count, dst, n, Max());
}

} // namespace tessera::io
