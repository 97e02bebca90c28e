// Product kernels over packed weights and over plain rows, written once with vector extensions and compiled
// once per instruction set (GemmKernels<ISA>.cpp define TESSERA_ISA and nothing else). Only these files see
// the ISA's flags: no header with inline functions may be included here, or the linker could keep the wrong
// copy.
#include "GemmKernels.h"

namespace tessera::runtime {
namespace {

typedef float Vec __attribute__((vector_size(64), aligned(4)));
typedef uint32_t Bits __attribute__((vector_size(64), aligned(4)));
typedef uint16_t Halves __attribute__((vector_size(32), aligned(2)));
inline Vec load(const float *p) { return *reinterpret_cast<const Vec *>(p); }
inline void store(float *p, Vec v) { *reinterpret_cast<Vec *>(p) = v; }
inline Vec splat(float x) { return Vec{} + x; }

// What is stored: 16 elements of a row side by side (`row`), `group` elements of each of 16 packed rows
// (`packed`), widened.
struct F32 {
  typedef float Element;
  static constexpr int group = 1;
  static Vec row(const Element *p) { return load(p); }
  static float one(const Element *p) { return *p; }
  static void packed(const Element *p, Vec *w) { w[0] = load(p); }
};
struct BF16 {
  typedef uint16_t Element;
  static constexpr int group = 2;
  static Vec row(const Element *p) {
    return reinterpret_cast<Vec>(__builtin_convertvector(*reinterpret_cast<const Halves *>(p), Bits) << 16);
  }
  static float one(const Element *p) {
    uint32_t word = uint32_t(*p) << 16;
    float value;
    __builtin_memcpy(&value, &word, 4);
    return value;
  }
  // The low half of every word is the group's first element, the high half its second.
  static void packed(const Element *p, Vec *w) {
    Bits pairs = *reinterpret_cast<const Bits *>(p);
    w[0] = reinterpret_cast<Vec>(pairs << 16);
    w[1] = reinterpret_cast<Vec>(pairs & 0xFFFF0000u);
  }
};
// 16 neighbours of a row where they are columns of a product: as a packed group of one.
struct BF16Across : BF16 {
  static constexpr int group = 1;
  static void packed(const Element *p, Vec *w) { w[0] = row(p); }
};
struct F16 {
  typedef uint16_t Element;
  static constexpr int group = 1;
#if defined(__F16C__)
  typedef _Float16 HalfVec __attribute__((vector_size(32), aligned(2)));
  static Vec row(const Element *p) {
    return __builtin_convertvector(*reinterpret_cast<const HalfVec *>(p), Vec);
  }
#else
  // The exponent moves over by a product, which also makes subnormal numbers normal; infinities and NaN keep
  // theirs full.
  static Vec row(const Element *p) {
    Bits half = __builtin_convertvector(*reinterpret_cast<const Halves *>(p), Bits);
    Bits magnitude = (half & 0x7FFFu) << 13;
    Bits full = reinterpret_cast<Bits>(magnitude >= 0x0F800000u) & 0x7F800000u;
    Bits value = reinterpret_cast<Bits>(reinterpret_cast<Vec>(magnitude) * 0x1p112f);
    return reinterpret_cast<Vec>(value | full | (half & 0x8000u) << 16);
  }
#endif
  static float one(const Element *p) {
    Element sixteen[16] = {*p};
    return row(sixteen)[0];
  }
  static void packed(const Element *p, Vec *w) { w[0] = row(p); }
};

// y[r, 0..16 V) = x[r, :] . w[:, 0..16 V): w has rows of `stride` groups, one for each group of k. R * V
// accumulators stay in registers; several sets of them where few would leave the multipliers waiting.
template <typename W, int R, int V>
void tile(const float *x, int64_t ldx, const typename W::Element *w, int64_t stride, int64_t k, float *y,
          int64_t ldy, int64_t columns) {
  constexpr int U = R * V >= 8   ? 1
                    : R * V >= 4 ? 2
                                 : 4,
                G = W::group, S = U > G ? U : G; // S: elements of k in a step
  Vec acc[U][R][V] = {};
  Vec b[G];
  int64_t i = 0;
  for (; i + S <= k; i += S)
    for (int s = 0; s < S; s += G)
      for (int v = 0; v < V; ++v) {
        W::packed(w + (i + s) * stride + v * 16 * G, b);
        for (int g = 0; g < G; ++g)
          for (int r = 0; r < R; ++r)
            acc[(s + g) % U][r][v] += splat(x[r * ldx + i + s + g]) * b[g];
      }
  for (; i < k; i += G)
    for (int v = 0; v < V; ++v) {
      W::packed(w + i * stride + v * 16 * G, b);
      for (int g = 0; g < G && i + g < k; ++g)
        for (int r = 0; r < R; ++r)
          acc[0][r][v] += splat(x[r * ldx + i + g]) * b[g];
    }
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
template <typename W, int R, int V>
void lastRows(int64_t m, const float *x, int64_t ldx, const typename W::Element *w, int64_t stride, int64_t k,
              float *y, int64_t ldy, int64_t columns) {
  if (m == R)
    return tile<W, R, V>(x, ldx, w, stride, k, y, ldy, columns);
  if constexpr (R > 1)
    lastRows<W, R - 1, V>(m, x, ldx, w, stride, k, y, ldy, columns);
}

template <typename W, int V>
void tileRows(int64_t m, const float *x, int64_t ldx, const typename W::Element *w, int64_t stride, int64_t k,
              float *y, int64_t ldy, int64_t columns) {
  constexpr int R = V > mostVectors ? 1 : mostRows;
  for (; m >= R; m -= R, x += R * ldx, y += R * ldy)
    tile<W, R, V>(x, ldx, w, stride, k, y, ldy, columns);
  if constexpr (R > 1)
    if (m > 0)
      lastRows<W, R - 1, V>(m, x, ldx, w, stride, k, y, ldy, columns);
}

// `count` vectors, at most V.
template <typename W, int V>
void tileColumns(int64_t count, int64_t m, const float *x, int64_t ldx, const typename W::Element *w,
                 int64_t stride, int64_t k, float *y, int64_t ldy, int64_t columns) {
  if (count == V)
    return tileRows<W, V>(m, x, ldx, w, stride, k, y, ldy, columns);
  if constexpr (V > 1)
    tileColumns<W, V - 1>(count, m, x, ldx, w, stride, k, y, ldy, columns);
}

template <typename W>
void packedColumns(const PackedWeight &w, const void *data, int64_t m, const float *x, float *y,
                   int64_t begin, int64_t end) {
  // Neighbouring vectors of a block go through one tile: the weights are read once, in the order they lie in.
  int64_t perBlock = w.block / 16, most = m == 1 ? mostVectorsOfOneRow : mostVectors;
  for (int64_t unit = begin; unit < end;) {
    int64_t block = unit / perBlock, first = unit % perBlock;
    int64_t count = perBlock - first < end - unit ? perBlock - first : end - unit;
    count = count < most ? count : most;
    auto *panel =
        static_cast<const typename W::Element *>(data) + block * w.block * w.paddedK + first * 16 * W::group;
    tileColumns<W, 4>(count, m, x, w.k, panel, w.block, w.k, y + unit * 16, w.n, w.n - unit * 16);
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
template <typename W, int R, int C>
void dotTile(const float *x, const typename W::Element *w, int64_t k, float *y, int64_t n) {
  Vec acc[R][C] = {};
  int64_t i = 0;
  for (; i + 16 <= k; i += 16)
    for (int c = 0; c < C; ++c) {
      Vec b = W::row(w + c * k + i);
      for (int r = 0; r < R; ++r)
        acc[r][c] += load(x + r * k + i) * b;
    }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) {
      float total = sum(acc[r][c]);
      for (int64_t j = i; j < k; ++j)
        total += x[r * k + j] * W::one(w + c * k + j);
      y[r * n + c] = total;
    }
}

template <typename W, int R>
void dotColumns(const float *x, const typename W::Element *w, int64_t n, int64_t k, float *y, int64_t begin,
                int64_t end) {
  int64_t j = begin;
  for (; j + 4 <= end; j += 4)
    dotTile<W, R, 4>(x, w + j * k, k, y + j, n);
  for (; j < end; ++j)
    dotTile<W, R, 1>(x, w + j * k, k, y + j, n);
}

template <typename W>
void plainColumns(int64_t m, int64_t n, int64_t k, const float *x, const void *data, float *y, int64_t begin,
                  int64_t end) {
  auto *w = static_cast<const typename W::Element *>(data);
  for (; m >= 4; m -= 4, x += 4 * k, y += 4 * n)
    dotColumns<W, 4>(x, w, n, k, y, begin, end);
  for (; m > 0; --m, x += k, y += n)
    dotColumns<W, 1>(x, w, n, k, y, begin, end);
}

// A row of w holds one element of each column, as a row of a packed block does; but no vector may reach
// beyond the last of them.
template <typename W>
void transposedColumns(int64_t m, int64_t n, int64_t k, const float *x, const void *data, float *y,
                       int64_t begin, int64_t end) {
  auto *w = static_cast<const typename W::Element *>(data);
  int64_t most = m == 1 ? mostVectorsOfOneRow : mostVectors, whole = n / 16;
  for (int64_t unit = begin, count; unit < end && unit < whole; unit += count) {
    int64_t last = end < whole ? end : whole;
    count = last - unit < most ? last - unit : most;
    tileColumns<W, 4>(count, m, x, k, w + unit * 16, n, k, y + unit * 16, n, n - unit * 16);
  }
  if (end <= whole)
    return;
  int64_t first = whole * 16, left = n - first;
  for (int64_t r = 0; r < m; ++r) {
    float sums[16] = {};
    for (int64_t i = 0; i < k; ++i)
      for (int64_t c = 0; c < left; ++c)
        sums[c] += x[r * k + i] * W::one(w + i * n + first + c);
    for (int64_t c = 0; c < left; ++c)
      y[r * n + first + c] = sums[c];
  }
}

} // namespace

extern const GemmKernels TESSERA_ISA;
const GemmKernels TESSERA_ISA = {{{packedColumns<F32>, plainColumns<F32>, transposedColumns<F32>},
                                  {packedColumns<BF16>, plainColumns<BF16>, transposedColumns<BF16Across>},
                                  {packedColumns<F16>, plainColumns<F16>, transposedColumns<F16>}}};

} // namespace tessera::runtime
