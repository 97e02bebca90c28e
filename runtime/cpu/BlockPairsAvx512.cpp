// Products of rows of bfloat16 with weights in blocks, for CPUs with AVX512-BF16. Codes have at most 8
// significant bits, so as bfloat16 they are exact; scales are applied to the sums over a sub-block, in
// float32.
#include "GemmKernelsImpl.h"

namespace tessera::runtime {
namespace {

typedef __bf16 Pairs __attribute__((vector_size(64), aligned(4)));

TESSERA_INLINE Vec addPairs(Vec sum, Bits x, Bits w) {
  return __builtin_ia32_dpbf16ps_512(sum, reinterpret_cast<Pairs>(x), reinterpret_cast<Pairs>(w));
}

// How a unit stands in a panel of `stride` rows: of each sub-block 16 lines of pairs (columns 2 p and 2 p +
// 1), then lines of scales, then one of offsets; a line has a word of each row.
template <int scales, bool hasOffset> constexpr int panelLines = 16 + scales + hasOffset;

template <typename F> void expandPairs(const BlockUnits &w, int64_t unit, uint32_t *panel, int64_t stride) {
  UnitParts<F> parts(w, unit);
  auto put = [&](int line, auto words) __attribute__((always_inline)) {
    *reinterpret_cast<Bits *>(panel + line * stride) = reinterpret_cast<Bits>(words);
  };
  for (int64_t c = 0, block = 0; c < w.chunks; ++c)
    for (int64_t i = 0; i < w.blocks; ++i, ++block, panel += panelLines<F::scales, F::hasOffset> * stride) {
      Vec scale[2], offset;
      F::read(parts.scales + block * 16 * F::scaleBytes, parts.super(w, c, i), scale, offset);
      Bits codes[32];
      F::Codes::each(parts.codes + block * parts.codeBytes,
                     [&](int j, Vec code) __attribute__((always_inline)) {
                       codes[j] = reinterpret_cast<Bits>(code - float(F::zero));
                     });
      for (int p = 0; p < 16; ++p)
        put(p, codes[2 * p] >> 16 | (codes[2 * p + 1] & 0xFFFF0000u));
      for (int s = 0; s < F::scales; ++s)
        put(16 + s, scale[s]);
      if (F::hasOffset)
        put(16 + F::scales, offset);
    }
}

// R rows of x, V vectors of the panel. Sums of a sub-block are in registers, totals in the cache. A row's
// sums go through the columns in order, whatever rows stand beside it.
template <int scales, bool hasOffset, int R, int V>
void pairTile(int64_t blocks, const uint32_t *x, const float *sums, const uint32_t *panel, int64_t stride,
              float *y, int64_t ldy, int64_t columns) {
  constexpr int perScale = 16 / scales;
  Vec total[R][V] = {};
  auto line = [&](int64_t at, int v) __attribute__((always_inline)) {
    return *reinterpret_cast<const Bits *>(panel + at * stride + 16 * v);
  };
  for (int64_t b = 0; b < blocks; ++b, panel += panelLines<scales, hasOffset> * stride) {
    for (int s = 0; s < scales; ++s) {
      Vec sum[R][V] = {};
#pragma clang loop unroll(disable)
      for (int p = s * perScale; p < (s + 1) * perScale; ++p) {
        Bits w[V];
        for (int v = 0; v < V; ++v)
          w[v] = line(p, v);
        for (int r = 0; r < R; ++r)
          for (int v = 0; v < V; ++v)
            sum[r][v] = addPairs(sum[r][v], x[(r * blocks + b) * 16 + p] - Bits{}, w[v]);
      }
      for (int v = 0; v < V; ++v)
        for (int r = 0; r < R; ++r)
          total[r][v] += reinterpret_cast<Vec>(line(16 + s, v)) * sum[r][v];
    }
    if (hasOffset)
      for (int v = 0; v < V; ++v)
        for (int r = 0; r < R; ++r)
          total[r][v] += reinterpret_cast<Vec>(line(16 + scales, v)) * splat(sums[r * blocks + b]);
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v)
      storeUpTo(columns - v * 16, y + r * ldy + v * 16, total[r][v]);
}

template <int scales, bool hasOffset, int R, int V>
void somePairRows(int64_t m, int64_t blocks, const uint32_t *x, const float *sums, const uint32_t *panel,
                  int64_t stride, float *y, int64_t ldy, int64_t columns) {
  if (m == R)
    return pairTile<scales, hasOffset, R, V>(blocks, x, sums, panel, stride, y, ldy, columns);
  if constexpr (R > 1)
    somePairRows<scales, hasOffset, R - 1, V>(m, blocks, x, sums, panel, stride, y, ldy, columns);
}

template <int scales, bool hasOffset, int V>
void pairVectors(int64_t m, int64_t blocks, const uint32_t *x, const float *sums, const uint32_t *panel,
                 int64_t stride, float *y, int64_t ldy, int64_t columns) {
  if constexpr (V > 1)
    if (columns <= 16 * (V - 1))
      return pairVectors<scales, hasOffset, V - 1>(m, blocks, x, sums, panel, stride, y, ldy, columns);
  constexpr int R = mostAccumulators / V < mostRows ? mostAccumulators / V : mostRows;
  for (int64_t tiles = (m + R - 1) / R; tiles > 0; --tiles) {
    int64_t rows = (m + tiles - 1) / tiles;
    somePairRows<scales, hasOffset, R, V>(rows, blocks, x, sums, panel, stride, y, ldy, columns);
    m -= rows, x += rows * blocks * 16, y += rows * ldy;
    if (hasOffset) // or there may be none
      sums += rows * blocks;
  }
}

template <typename F>
constexpr BlockPairKernels pairKernelsOf = {panelLines<F::scales, F::hasOffset>, F::hasOffset, expandPairs<F>,
                                            pairVectors<F::scales, F::hasOffset, mostVectors>};

} // namespace

extern const BlockPairKernels blockPairsAvx512[];
const BlockPairKernels blockPairsAvx512[] = {
    pairKernelsOf<HeldQ8_0>,     pairKernelsOf<HeldQ4_1>,     pairKernelsOf<HeldQ4_0>,
    pairKernelsOf<HeldQ5_0>,     pairKernelsOf<HeldQ5_1>,     pairKernelsOf<HeldQ4_K>,
    pairKernelsOf<HeldQ5_K>,     pairKernelsOf<HeldQ6_K>,     pairKernelsOf<HeldMXFP4>,
    pairKernelsOf<HeldFP8>,      pairKernelsOf<HeldINT4<32>>, pairKernelsOf<HeldINT4<64>>,
    pairKernelsOf<HeldINT4<128>>};

} // namespace tessera::runtime
