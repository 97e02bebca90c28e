// Product kernels over packed weights and over plain rows, written once with vector extensions and compiled
// once per instruction set (GemmKernels<ISA>.cpp define TESSERA_ISA and nothing else). Only these files see
// the ISA's flags: no header with inline functions may be included here, or the linker could keep the wrong
// copy.
#include "GemmKernels.h"

namespace tessera::runtime {
namespace {

typedef float Vec __attribute__((vector_size(64), aligned(4)));
inline Vec load(const float *p) { return *reinterpret_cast<const Vec *>(p); }
inline void store(float *p, Vec v) { *reinterpret_cast<Vec *>(p) = v; }
inline Vec splat(float x) { return Vec{} + x; }

// y[r, 0..16 V) = x[r, :] . w[:, 0..16 V): w has rows of `stride` floats, one for each k. R * V accumulators
// stay in registers; two sets of them where few would leave the multipliers waiting.
template <int R, int V>
void tile(const float *x, int64_t ldx, const float *w, int64_t stride, int64_t k, float *y, int64_t ldy,
          int64_t columns) {
  constexpr int U = R * V >= 8 ? 1 : R * V >= 4 ? 2 : 4;
  Vec acc[U][R][V] = {};
  int64_t i = 0;
  for (; i + U <= k; i += U)
    for (int u = 0; u < U; ++u)
      for (int v = 0; v < V; ++v) {
        Vec b = load(w + (i + u) * stride + v * 16);
        for (int r = 0; r < R; ++r)
          acc[u][r][v] += splat(x[r * ldx + i + u]) * b;
      }
  for (; i < k; ++i)
    for (int v = 0; v < V; ++v)
      for (int r = 0; r < R; ++r)
        acc[0][r][v] += splat(x[r * ldx + i]) * load(w + i * stride + v * 16);
  for (int u = 1; u < U; ++u)
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v)
        acc[0][r][v] += acc[u][r][v];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) {
      int64_t left = columns - v * 16;
      if (left >= 16)
        store(y + r * ldy + v * 16, acc[0][r][v]);
      else
        for (int64_t c = 0; c < left; ++c)
          y[r * ldy + v * 16 + c] = acc[0][r][v][c];
    }
}

// Largest tile whose accumulators stay in registers: rows, and vectors for one row and for several.
#if defined(__AVX512F__)
constexpr int mostRows = 6, mostVectorsOfOneRow = 4, mostVectors = 4;
#elif defined(__AVX2__)
constexpr int mostRows = 6, mostVectorsOfOneRow = 4, mostVectors = 1;
#else
constexpr int mostRows = 2, mostVectorsOfOneRow = 2, mostVectors = 1;
#endif

// The m < R + 1 rows that are left.
template <int R, int V>
void lastRows(int64_t m, const float *x, int64_t ldx, const float *w, int64_t stride, int64_t k, float *y,
              int64_t ldy, int64_t columns) {
  if (m == R)
    return tile<R, V>(x, ldx, w, stride, k, y, ldy, columns);
  if constexpr (R > 1)
    lastRows<R - 1, V>(m, x, ldx, w, stride, k, y, ldy, columns);
}

template <int V>
void tileRows(int64_t m, const float *x, int64_t ldx, const float *w, int64_t stride, int64_t k, float *y,
              int64_t ldy, int64_t columns) {
  constexpr int R = V > mostVectors ? 1 : mostRows;
  for (; m >= R; m -= R, x += R * ldx, y += R * ldy)
    tile<R, V>(x, ldx, w, stride, k, y, ldy, columns);
  if constexpr (R > 1)
    if (m > 0)
      lastRows<R - 1, V>(m, x, ldx, w, stride, k, y, ldy, columns);
}

// `count` vectors, at most V.
template <int V>
void tileColumns(int64_t count, int64_t m, const float *x, int64_t ldx, const float *w, int64_t stride,
                 int64_t k, float *y, int64_t ldy, int64_t columns) {
  if (count == V)
    return tileRows<V>(m, x, ldx, w, stride, k, y, ldy, columns);
  if constexpr (V > 1)
    tileColumns<V - 1>(count, m, x, ldx, w, stride, k, y, ldy, columns);
}

void packedColumns(const PackedWeight &w, const float *data, int64_t m, const float *x, float *y,
                   int64_t begin, int64_t end) {
  // Neighbouring vectors of a block go through one tile: the weights are read once, in the order they lie in.
  int64_t perBlock = w.block / 16, most = m == 1 ? mostVectorsOfOneRow : mostVectors;
  for (int64_t unit = begin; unit < end;) {
    int64_t block = unit / perBlock, first = unit % perBlock;
    int64_t count = perBlock - first < end - unit ? perBlock - first : end - unit;
    count = count < most ? count : most;
    const float *panel = data + block * w.block * w.paddedK + first * 16;
    tileColumns<4>(count, m, x, w.k, panel, w.block, w.k, y + unit * 16, w.n, w.n - unit * 16);
    unit += count;
  }
}

inline float sum(Vec v) {
  float total = 0;
  for (int i = 0; i < 16; ++i)
    total += v[i];
  return total;
}

// R rows of x against C rows of w.
template <int R, int C> void dotTile(const float *x, const float *w, int64_t k, float *y, int64_t n) {
  Vec acc[R][C] = {};
  int64_t i = 0;
  for (; i + 16 <= k; i += 16)
    for (int c = 0; c < C; ++c) {
      Vec b = load(w + c * k + i);
      for (int r = 0; r < R; ++r)
        acc[r][c] += load(x + r * k + i) * b;
    }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) {
      float total = sum(acc[r][c]);
      for (int64_t j = i; j < k; ++j)
        total += x[r * k + j] * w[c * k + j];
      y[r * n + c] = total;
    }
}

template <int R>
void dotColumns(const float *x, const float *w, int64_t n, int64_t k, float *y, int64_t begin, int64_t end) {
  int64_t j = begin;
  for (; j + 4 <= end; j += 4)
    dotTile<R, 4>(x, w + j * k, k, y + j, n);
  for (; j < end; ++j)
    dotTile<R, 1>(x, w + j * k, k, y + j, n);
}

void plainColumns(int64_t m, int64_t n, int64_t k, const float *x, const float *w, float *y, int64_t begin,
                  int64_t end) {
  for (; m >= 4; m -= 4, x += 4 * k, y += 4 * n)
    dotColumns<4>(x, w, n, k, y, begin, end);
  for (; m > 0; --m, x += k, y += n)
    dotColumns<1>(x, w, n, k, y, begin, end);
}

} // namespace

extern const GemmKernels TESSERA_ISA;
const GemmKernels TESSERA_ISA = {packedColumns, plainColumns};

} // namespace tessera::runtime
