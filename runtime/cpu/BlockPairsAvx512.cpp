// Products of rows of bfloat16 with weights in blocks, for CPUs with AVX512-BF16. Codes have at most 8
// significant bits, so as bfloat16 they are exact; scales are applied to the sums over a sub-block, in
// float32.
#include "GemmKernelsImpl.h"

namespace tessera::runtime {
namespace {

typedef __bf16 Pairs __attribute__((vector_size(64), aligned(4)));
typedef int16_t HalfWords __attribute__((vector_size(64), aligned(64)));

TESSERA_INLINE Vec addPairs(Vec sum, Bits x, Bits w) {
  return __builtin_ia32_dpbf16ps_512(sum, reinterpret_cast<Pairs>(x), reinterpret_cast<Pairs>(w));
}

// Codes of a sub-block as pairs: calls put(p, words of columns 2 p and 2 p + 1) in their order. This one by
// way of float32, of codes that come in the order of columns.
template <typename Codes, int zero> struct PairCodes {
  static constexpr bool looksUp = false;
  template <typename Put> static TESSERA_INLINE void each(const uint8_t *codes, Put put) {
    Bits even = {};
    Codes::each(codes, [&](int j, Vec code) __attribute__((always_inline)) {
      Bits bits = reinterpret_cast<Bits>(code - float(zero));
      if (j % 2)
        put(j / 2, even >> 16 | (bits & 0xFFFF0000u));
      else
        even = bits;
    });
  }
};

// Codes of up to 6 bits are looked up. A lookup of 32 sees the lowest 5 bits of each half word and no more,
// so the table of 4 bits repeats itself.
struct CodeTable {
  alignas(64) uint16_t numbers[64];
};
constexpr uint16_t bfloat16(int number) {
  return uint16_t(__builtin_bit_cast(uint32_t, float(number)) >> 16);
}
constexpr CodeTable countingFrom(int zero, int bits) {
  CodeTable table{};
  for (int i = 0; i < 64; ++i)
    table.numbers[i] = bfloat16(i % (1 << bits) - zero);
  return table;
}
constexpr CodeTable floatsOfFourBits() {
  constexpr int twice[] = {0, 1, 2, 3, 4, 6, 8, 12};
  CodeTable table{};
  for (int i = 0; i < 64; ++i)
    table.numbers[i] = uint16_t(bfloat16(twice[i % 8]) | (i & 8) << 12);
  return table;
}

TESSERA_INLINE Bits shifted(Bits v, int left) { return left < 0 ? v >> -left : v << left; }

// `extra` as of NibbleCodes, whose words these are: bytes of neighbouring columns stand side by side.
template <int extra, typename Put>
TESSERA_INLINE void eachNibblePair(const uint8_t *codes, const CodeTable &table, Put put) {
  const HalfWords low = *reinterpret_cast<const HalfWords *>(table.numbers),
                  high = *reinterpret_cast<const HalfWords *>(table.numbers + 32);
  // Two bytes of each word, below what else stands in their half words.
  Bits apart[8];
  for (int word = 0; word < 4; ++word) {
    Bits v = words(codes + 64 * word);
    apart[2 * word] = (v & 0xFFFFu) | (v << 8 & 0xFFFF0000u);
    apart[2 * word + 1] = v >> 16 | (v >> 8 & 0xFFFF0000u);
  }
#pragma clang loop unroll(full)
  for (int p = 0; p < 16; ++p) {
    Bits index = p < 8 ? apart[p] : apart[p - 8] >> 4;
    if (extra) {
      // The other bits of this column and of the next one.
      Bits more = words(codes + 256 + (extra == 2 ? p / 8 * 64 : 0));
      int place = extra == 2 ? p % 8 * 4 : 2 * p;
      uint32_t mask = extra == 2 ? 0x30 : 0x10;
      index = (index & 0x000F000Fu) | (shifted(more, 4 - place) & mask) |
              (shifted(more, 20 - place - extra) & mask << 16);
    }
    auto at = reinterpret_cast<HalfWords>(index);
    HalfWords numbers =
        extra == 2 ? __builtin_ia32_vpermi2varhi512(low, at, high) : __builtin_ia32_permvarhi512(low, at);
    put(p, reinterpret_cast<Bits>(numbers));
  }
}

template <int extra, int zero> struct PairCodes<NibbleCodes<extra>, zero> {
  static constexpr bool looksUp = true;
  static constexpr CodeTable table = countingFrom(zero, 4 + extra);
  template <typename Put> static TESSERA_INLINE void each(const uint8_t *codes, Put put) {
    eachNibblePair<extra>(codes, table, put);
  }
};
template <int zero> struct PairCodes<FloatCodes, zero> {
  static constexpr bool looksUp = true;
  static constexpr CodeTable table = floatsOfFourBits();
  template <typename Put> static TESSERA_INLINE void each(const uint8_t *codes, Put put) {
    eachNibblePair<0>(codes, table, put);
  }
};

// How a unit stands in a panel: of each sub-block 16 lines of pairs (columns 2 p and 2 p + 1), then lines of
// scales, then one of offsets; a line has a word of each row.
template <int scales, bool hasOffset> constexpr int panelLines = 16 + scales + hasOffset;

template <typename F>
void expandPairs(const BlockUnits &w, int64_t unit, int64_t first, int64_t count, uint32_t *panel) {
  eachSubBlock<F>(
      w, unit, first, count,
      [&](const uint8_t *codes, const Vec *scale, const Vec &offset) __attribute__((always_inline)) {
        auto put = [&](int line, auto words) __attribute__((always_inline)) {
          *reinterpret_cast<Bits *>(panel + line * kPanelRows) = reinterpret_cast<Bits>(words);
        };
        PairCodes<typename F::Codes, F::zero>::each(codes, put);
        for (int s = 0; s < F::scales; ++s)
          put(16 + s, scale[s]);
        if (F::hasOffset)
          put(16 + F::scales, offset);
        panel += panelLines<F::scales, F::hasOffset> * kPanelRows;
      });
}

void addUpPairs(int64_t count, const uint32_t *x, float *sums) {
  const Bits ones = Bits{} + 0x3F803F80u;
  for (int64_t i = 0; i < count; ++i) {
    Vec v = addPairs(Vec{}, *reinterpret_cast<const Bits *>(x + 16 * i), ones);
    v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    sums[i] = v[0] + v[1];
  }
}

// R rows of x, V vectors of the panel. Registers hold the sums of a sub-block and the totals, half of them
// each: totals in memory would be written as often as they are scaled, which costs a tenth of the time. A
// row's sums go through the columns in order, whatever rows stand beside it.
template <int scales, bool hasOffset, int R, int V>
void pairTile(int64_t blocks, const uint32_t *x, int64_t ldx, const float *sums, int64_t ldsums,
              const uint32_t *panel, float *y, int64_t ldy, bool adds) {
  constexpr int perScale = 16 / scales;
  Vec total[R][V] = {};
  if (adds)
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v)
        total[r][v] = load(y + r * ldy + v * 16);
  auto line = [&](int64_t at, int v) __attribute__((always_inline)) {
    return *reinterpret_cast<const Bits *>(panel + at * kPanelRows + 16 * v);
  };
  for (int64_t b = 0; b < blocks; ++b, panel += panelLines<scales, hasOffset> * kPanelRows) {
    for (int s = 0; s < scales; ++s) {
      Vec sum[R][V] = {};
#pragma clang loop unroll(disable)
      for (int p = s * perScale; p < (s + 1) * perScale; ++p) {
        Bits w[V];
        for (int v = 0; v < V; ++v)
          w[v] = line(p, v);
        for (int r = 0; r < R; ++r)
          for (int v = 0; v < V; ++v)
            sum[r][v] = addPairs(sum[r][v], x[r * ldx + b * 16 + p] - Bits{}, w[v]);
      }
      for (int v = 0; v < V; ++v)
        for (int r = 0; r < R; ++r)
          total[r][v] += reinterpret_cast<Vec>(line(16 + s, v)) * sum[r][v];
    }
    if (hasOffset)
      for (int v = 0; v < V; ++v)
        for (int r = 0; r < R; ++r)
          total[r][v] += reinterpret_cast<Vec>(line(16 + scales, v)) * splat(sums[r * ldsums + b]);
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v)
      store(y + r * ldy + v * 16, total[r][v]);
}

template <int scales, bool hasOffset, int R, int V>
void somePairRows(int64_t m, int64_t blocks, const uint32_t *x, int64_t ldx, const float *sums,
                  int64_t ldsums, const uint32_t *panel, float *y, int64_t ldy, bool adds) {
  if (m == R)
    return pairTile<scales, hasOffset, R, V>(blocks, x, ldx, sums, ldsums, panel, y, ldy, adds);
  if constexpr (R > 1)
    somePairRows<scales, hasOffset, R - 1, V>(m, blocks, x, ldx, sums, ldsums, panel, y, ldy, adds);
}

template <int scales, bool hasOffset, int V>
void pairVectors(int64_t m, int64_t blocks, const uint32_t *x, int64_t ldx, const float *sums, int64_t ldsums,
                 const uint32_t *panel, float *y, int64_t ldy, int vectors, bool adds) {
  if constexpr (V > 1)
    if (vectors < V)
      return pairVectors<scales, hasOffset, V - 1>(m, blocks, x, ldx, sums, ldsums, panel, y, ldy, vectors,
                                                   adds);
  constexpr int fitting = mostAccumulators / 2 / V, R = fitting < mostRows ? fitting : mostRows;
  for (int64_t tiles = (m + R - 1) / R; tiles > 0; --tiles) {
    int64_t rows = (m + tiles - 1) / tiles;
    somePairRows<scales, hasOffset, R, V>(rows, blocks, x, ldx, sums, ldsums, panel, y, ldy, adds);
    m -= rows, x += rows * ldx, y += rows * ldy;
    if (hasOffset) // or there may be none
      sums += rows * ldsums;
  }
}

// Pairs go from their codes to the sums, in the order of pairTile.
template <typename F, int R>
void fewRowsOfPairs(const BlockUnits &w, const uint32_t *x, int64_t ldx, const float *sums, float *y) {
  constexpr int perScale = 16 / F::scales;
  const int64_t all = w.chunks * w.blocks, bytes = w.unitBytes / all;
  for (int64_t unit = 0; unit < w.n / 16; ++unit) {
    UnitParts<F> parts(w, unit);
    Vec total[R] = {};
    for (int64_t c = 0, block = 0; c < w.chunks; ++c)
      for (int64_t i = 0; i < w.blocks; ++i, ++block) {
        Vec scale[2], offset, sum[R][F::scales] = {};
        F::read(parts.scales + block * 16 * F::scaleBytes, parts.super(w, c, i), scale, offset);
        fetchAhead<F>(parts.codes + block * bytes);
        PairCodes<typename F::Codes, F::zero>::each(
            parts.codes + block * parts.codeBytes, [&](int p, Bits pair) __attribute__((always_inline)) {
              for (int r = 0; r < R; ++r)
                sum[r][p / perScale] =
                    addPairs(sum[r][p / perScale], pair, x[r * ldx + block * 16 + p] - Bits{});
            });
        for (int r = 0; r < R; ++r) {
          for (int s = 0; s < F::scales; ++s)
            total[r] += scale[s] * sum[r][s];
          if (F::hasOffset)
            total[r] += offset * splat(sums[r * all + block]);
        }
      }
    for (int r = 0; r < R; ++r)
      store(y + r * w.n + unit * 16, total[r]);
  }
}

template <typename F>
void fewPairRows(const BlockUnits &w, int64_t m, const uint32_t *x, int64_t ldx, const float *sums,
                 float *y) {
  switch (m) {
  case 1:
    return fewRowsOfPairs<F, 1>(w, x, ldx, sums, y);
  case 2:
    return fewRowsOfPairs<F, 2>(w, x, ldx, sums, y);
  case 3:
    return fewRowsOfPairs<F, 3>(w, x, ldx, sums, y);
  case 4:
    return fewRowsOfPairs<F, 4>(w, x, ldx, sums, y);
  }
}

template <typename F>
constexpr BlockPairKernels pairKernelsOf = {panelLines<F::scales, F::hasOffset>,
                                            F::hasOffset,
                                            expandPairs<F>,
                                            addUpPairs,
                                            pairVectors<F::scales, F::hasOffset, mostVectors>,
                                            PairCodes<typename F::Codes, F::zero>::looksUp ? fewPairRows<F>
                                                                                           : nullptr};

} // namespace

extern const BlockPairKernels blockPairsAvx512[];
const BlockPairKernels blockPairsAvx512[] = {
    pairKernelsOf<HeldQ8_0>,     pairKernelsOf<HeldQ4_1>,     pairKernelsOf<HeldQ4_0>,
    pairKernelsOf<HeldQ5_0>,     pairKernelsOf<HeldQ5_1>,     pairKernelsOf<HeldQ4_K>,
    pairKernelsOf<HeldQ5_K>,     pairKernelsOf<HeldQ6_K>,     pairKernelsOf<HeldMXFP4>,
    pairKernelsOf<HeldFP8>,      pairKernelsOf<HeldINT4<32>>, pairKernelsOf<HeldINT4<64>>,
    pairKernelsOf<HeldINT4<128>>};

} // namespace tessera::runtime
