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
// The first `count` numbers, at most all; none below 1.
inline void storeUpTo(int64_t count, float *p, Vec v) {
  if (count >= 16)
    return store(p, v);
  for (int64_t i = 0; i < count; ++i)
    p[i] = v[i];
}
inline Vec splat(float x) { return x - Vec{}; } // not a sum: -0 + 0 is 0, so an addition would remain

// What is stored: 16 elements of a row side by side (`row`), `group` elements of each of 16 packed rows
// (`packed`), widened; and what `x` is for them, with which they are added to sums.
struct ByFloats {
  typedef float Input;
  typedef Vec Words;
  static Vec added(Vec sum, float x, Vec w) { return sum + splat(x) * w; }
};
struct F32 : ByFloats {
  typedef float Element;
  static constexpr int group = 1;
  static Vec row(const Element *p) { return load(p); }
  static float one(const Element *p) { return *p; }
  static void packed(const Element *p, Vec *w) { w[0] = load(p); }
};
struct BF16 : ByFloats {
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
struct F16 : ByFloats {
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

// Weights of few rows are read once, and the processor itself fetches the next lines too late: this many
// bytes ahead they are there when they are wanted (measured on Zen 4: 6 to 10 kB give the most).
constexpr int64_t kAhead = 8192;

// y[r, 0..16 V) = x[r, :] . w[:, 0..16 V), added to whole vectors of y if `adds`: w has rows of `stride`
// groups, one for each group of k. R * V accumulators stay in registers. Each sum goes through groups of k in
// order, so that a row's result depends on nothing but the row: not on how many rows there are, on its place
// among them, or on which columns a thread has.
template <typename W, int R, int V>
void tile(const typename W::Input *x, int64_t ldx, const typename W::Element *w, int64_t stride, int64_t k,
          float *y, int64_t ldy, int64_t columns, bool adds) {
  constexpr int G = W::group;
  Vec acc[R][V] = {};
  if (adds)
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v)
        acc[r][v] = load(y + r * ldy + v * 16);
  typename W::Words b[G];
  // Few rows wait for memory: where the vectors are all that a row of w has, what follows lies behind them.
  const char *ahead = reinterpret_cast<const char *>(w) + (stride == V * 16 ? kAhead : 0);
  constexpr int64_t step = V * 16 * G * int64_t(sizeof(typename W::Element));
  int64_t i = 0;
  for (; i + G <= k; i += G) {
    if constexpr (R <= 2)
      for (int64_t line = 0; line < step; line += 64)
        __builtin_prefetch(ahead + i / G * step + line);
    for (int v = 0; v < V; ++v) {
      W::packed(w + i * stride + v * 16 * G, b);
      for (int g = 0; g < G; ++g)
        for (int r = 0; r < R; ++r)
          acc[r][v] = W::added(acc[r][v], x[r * ldx + i + g], b[g]);
    }
  }
  if (i < k)
    for (int v = 0; v < V; ++v) {
      W::packed(w + i * stride + v * 16 * G, b);
      for (int g = 0; i + g < k; ++g)
        for (int r = 0; r < R; ++r)
          acc[r][v] = W::added(acc[r][v], x[r * ldx + i + g], b[g]);
    }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v)
      storeUpTo(columns - v * 16, y + r * ldy + v * 16, acc[r][v]);
}

// Rows of the largest tile, and how many accumulators stay in registers. Few rows have more vectors each:
// with less than four or so of the CPU's vectors under way the multipliers would wait for each other.
constexpr int mostVectors = 4;
#if defined(__AVX512F__)
constexpr int mostRows = 6, mostAccumulators = 24;
#elif defined(__AVX2__)
constexpr int mostRows = 6, mostAccumulators = 6;
#else
constexpr int mostRows = 2, mostAccumulators = 2;
#endif

// How many vectors a tile of m rows has.
inline int64_t vectorsFor(int64_t m) {
  int64_t rows = m < 1 ? 1 : m < mostRows ? m : mostRows, vectors = mostAccumulators / rows;
  return vectors < mostVectors ? vectors : mostVectors;
}

// m <= R rows.
template <typename W, int R, int V>
void someRows(int64_t m, const typename W::Input *x, int64_t ldx, const typename W::Element *w,
              int64_t stride, int64_t k, float *y, int64_t ldy, int64_t columns, bool adds) {
  if (m == R)
    return tile<W, R, V>(x, ldx, w, stride, k, y, ldy, columns, adds);
  if constexpr (R > 1)
    someRows<W, R - 1, V>(m, x, ldx, w, stride, k, y, ldy, columns, adds);
}

// As many rows in each tile as in the others, or one more: two would cost as much as four.
template <typename W, int V>
void tileRows(int64_t m, const typename W::Input *x, int64_t ldx, const typename W::Element *w,
              int64_t stride, int64_t k, float *y, int64_t ldy, int64_t columns, bool adds) {
  constexpr int fitting = mostAccumulators / V, R = fitting < 1 ? 1 : fitting < mostRows ? fitting : mostRows;
  for (int64_t tiles = (m + R - 1) / R; tiles > 0; --tiles) {
    int64_t rows = (m + tiles - 1) / tiles;
    someRows<W, R, V>(rows, x, ldx, w, stride, k, y, ldy, columns, adds);
    m -= rows, x += rows * ldx, y += rows * ldy;
  }
}

// `count` vectors, at most V.
template <typename W, int V>
void tileColumns(int64_t count, int64_t m, const typename W::Input *x, int64_t ldx,
                 const typename W::Element *w, int64_t stride, int64_t k, float *y, int64_t ldy,
                 int64_t columns, bool adds = false) {
  if (count == V)
    return tileRows<W, V>(m, x, ldx, w, stride, k, y, ldy, columns, adds);
  if constexpr (V > 1)
    tileColumns<W, V - 1>(count, m, x, ldx, w, stride, k, y, ldy, columns, adds);
}

template <typename W>
void packedColumns(const PackedWeight &w, const void *data, int64_t m, const typename W::Input *x, float *y,
                   int64_t begin, int64_t end) {
  // Neighbouring vectors of a block go through one tile: the weights are read once, in the order they lie in.
  int64_t perBlock = w.block / 16, most = vectorsFor(m);
  for (int64_t unit = begin; unit < end;) {
    int64_t block = unit / perBlock, first = unit % perBlock;
    int64_t count = perBlock - first < end - unit ? perBlock - first : end - unit;
    count = count < most ? count : most;
    auto *panel =
        static_cast<const typename W::Element *>(data) + block * w.block * w.paddedK + first * 16 * W::group;
    tileColumns<W, mostVectors>(count, m, x, w.k, panel, w.block, w.k, y + unit * 16, w.n, w.n - unit * 16);
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
  int64_t most = vectorsFor(m), whole = n / 16;
  for (int64_t unit = begin, count; unit < end && unit < whole; unit += count) {
    int64_t last = end < whole ? end : whole;
    count = last - unit < most ? last - unit : most;
    tileColumns<W, mostVectors>(count, m, x, k, w + unit * 16, n, k, y + unit * 16, n, n - unit * 16);
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
} // namespace tessera::runtime

#include "BlockKernelsImpl.h"

#if defined(TESSERA_ISA) // some files add kernels of their own instead
namespace tessera::runtime {

static void panelColumns(int64_t m, int64_t k, const float *x, int64_t ldx, const float *panel, float *y,
                         int64_t ldy, int vectors, bool adds) {
  int64_t most = vectorsFor(m);
  for (int64_t first = 0, count; first < vectors; first += count) {
    count = vectors - first < most ? vectors - first : most;
    tileColumns<F32, mostVectors>(count, m, x, ldx, panel + first * 16, kPanelRows, k, y + first * 16, ldy,
                                  count * 16, adds);
  }
}

extern const GemmKernels TESSERA_ISA;
const GemmKernels TESSERA_ISA = {
    {{packedColumns<F32>, plainColumns<F32>, transposedColumns<F32>},
     {packedColumns<BF16>, plainColumns<BF16>, transposedColumns<BF16Across>},
     {packedColumns<F16>, plainColumns<F16>, transposedColumns<F16>}},
    {kernelsOf<HeldQ8_0>, kernelsOf<HeldQ4_1>, kernelsOf<HeldQ4_0>, kernelsOf<HeldQ5_0>, kernelsOf<HeldQ5_1>,
     kernelsOf<HeldQ4_K>, kernelsOf<HeldQ5_K>, kernelsOf<HeldQ6_K>, kernelsOf<HeldMXFP4>, kernelsOf<HeldFP8>,
     kernelsOf<HeldINT4<32>>, kernelsOf<HeldINT4<64>>, kernelsOf<HeldINT4<128>>},
    panelColumns};
static_assert(kPanelRows == 16 * mostVectors);

} // namespace tessera::runtime
#endif
