// Included by GemmKernelsImpl.h, once for every instruction set. A vector holds one column of the 16 rows of
// a unit, so scales are vectors too and nothing is added up across lanes.
namespace tessera::runtime {
namespace {

typedef int32_t Ints __attribute__((vector_size(64), aligned(4)));
typedef uint8_t Bytes __attribute__((vector_size(16), aligned(1)));
typedef int8_t SignedBytes __attribute__((vector_size(16), aligned(1)));
#define TESSERA_INLINE inline __attribute__((always_inline))

TESSERA_INLINE Bits words(const uint8_t *p) { return *reinterpret_cast<const Bits *>(p); }
TESSERA_INLINE Vec toFloats(Bits v) { return __builtin_convertvector(reinterpret_cast<Ints>(v), Vec); }
TESSERA_INLINE Vec halves(const uint8_t *p) { return F16::row(reinterpret_cast<const uint16_t *>(p)); }
TESSERA_INLINE Vec bytes(const uint8_t *p) {
  return __builtin_convertvector(__builtin_convertvector(*reinterpret_cast<const Bytes *>(p), Ints), Vec);
}
TESSERA_INLINE Vec signedBytes(const uint8_t *p) {
  return __builtin_convertvector(__builtin_convertvector(*reinterpret_cast<const SignedBytes *>(p), Ints),
                                 Vec);
}

// Codes of a sub-block: calls use(j, codes of column j) for its 32 columns. Words are those of the file: of
// nibbles, byte b of word d holds columns 4 d + b and 16 + 4 d + b.
struct Int8Codes {
  static constexpr int words = 8;
  template <typename Use> static TESSERA_INLINE void each(const uint8_t *p, Use use) {
    for (int d = 0; d < 8; ++d) {
      Bits v = tessera::runtime::words(p + 64 * d);
      for (int b = 0; b < 4; ++b)
        use(4 * d + b, __builtin_convertvector(reinterpret_cast<Ints>(v << (24 - 8 * b)) >> 24, Vec));
    }
  }
};
// `extra` bits of each code stand in further words: the fifth bits of all columns in one, two bits of 16
// columns in each of two.
template <int extra> struct NibbleCodes {
  static constexpr int words = 4 + extra;
  template <typename Use> static TESSERA_INLINE void each(const uint8_t *p, Use use) {
    Bits high[2] = {};
    for (int i = 0; i < extra; ++i)
      high[i] = tessera::runtime::words(p + 256 + 64 * i);
    auto upper = [&](int j) __attribute__((always_inline)) {
      if (extra == 1)
        return j < 4 ? (high[0] << (4 - j)) & 16u : (high[0] >> (j - 4)) & 16u;
      int place = j % 16 * 2;
      return place < 4 ? (high[j / 16] << (4 - place)) & 48u : (high[j / 16] >> (place - 4)) & 48u;
    };
    for (int d = 0; d < 4; ++d) {
      Bits v = tessera::runtime::words(p + 64 * d);
      for (int b = 0; b < 4; ++b) {
        int j = 4 * d + b;
        Bits low = v >> (8 * b) & 15u, top = v >> (8 * b + 4) & 15u;
        if (extra) {
          low |= upper(j);
          top |= upper(j + 16);
        }
        use(j, toFloats(low));
        use(j + 16, toFloats(top));
      }
    }
  }
};
// Twice the 4-bit floats 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
struct FloatCodes {
  static constexpr int words = 4;
  static TESSERA_INLINE Vec value(Bits code) {
    Bits whole = ((code & 1u) + 2u) << (code >> 1 & 3u) >> 1; // 1 instead of 0 for the first
    whole += reinterpret_cast<Bits>((code & 7u) == 0u);
    return reinterpret_cast<Vec>(reinterpret_cast<Bits>(toFloats(whole)) | (code & 8u) << 28);
  }
  template <typename Use> static TESSERA_INLINE void each(const uint8_t *p, Use use) {
    for (int d = 0; d < 4; ++d) {
      Bits v = tessera::runtime::words(p + 64 * d);
      for (int b = 0; b < 4; ++b) {
        use(4 * d + b, value(v >> (8 * b)));
        use(16 + 4 * d + b, value(v >> (8 * b + 4) & 15u));
      }
    }
  }
};

// Floats of 8 bits (io/BlockParts.h, e4m3ToFloat).
struct EightBitFloatCodes {
  static constexpr int words = 8;
  static TESSERA_INLINE Vec value(Bits code) {
    Bits magnitude = (code & 127u) << 20;
    Bits small = reinterpret_cast<Bits>(magnitude < (1u << 23)),
         none = reinterpret_cast<Bits>(magnitude == (127u << 20));
    Vec whole = reinterpret_cast<Vec>(magnitude + (120u << 23) + (small & (1u << 23))) -
                reinterpret_cast<Vec>(small & (121u << 23));
    return reinterpret_cast<Vec>(reinterpret_cast<Bits>(whole) | (none & 0x7FC00000u) | (code & 128u) << 24);
  }
  template <typename Use> static TESSERA_INLINE void each(const uint8_t *p, Use use) {
    for (int d = 0; d < 8; ++d) {
      Bits v = tessera::runtime::words(p + 64 * d);
      for (int b = 0; b < 4; ++b)
        use(4 * d + b, value(v >> (8 * b)));
    }
  }
};

// Element = scale * (code - zero) + offset. `scales` of 16 columns each, or one of all 32. Parts of rows
// stand side by side: 16 scales, then 16 minima.
struct Plain {
  static constexpr int scales = 1, superBytes = 0, perSuper = 8;
  static constexpr bool hasOffset = false;
};
struct HeldQ8_0 : Plain {
  typedef Int8Codes Codes;
  static constexpr int zero = 0, scaleBytes = 2;
  static TESSERA_INLINE void read(const uint8_t *p, const uint8_t *, Vec *scale, Vec &) {
    scale[0] = halves(p);
  }
};
struct HeldQ4_0 : Plain {
  typedef NibbleCodes<0> Codes;
  static constexpr int zero = 8, scaleBytes = 2;
  static TESSERA_INLINE void read(const uint8_t *p, const uint8_t *, Vec *scale, Vec &) {
    scale[0] = halves(p);
  }
};
struct HeldQ5_0 : HeldQ4_0 {
  typedef NibbleCodes<1> Codes;
  static constexpr int zero = 16;
};
struct HeldQ4_1 : Plain {
  typedef NibbleCodes<0> Codes;
  static constexpr int zero = 0, scaleBytes = 4;
  static constexpr bool hasOffset = true;
  static TESSERA_INLINE void read(const uint8_t *p, const uint8_t *, Vec *scale, Vec &offset) {
    scale[0] = halves(p);
    offset = halves(p + 32);
  }
};
struct HeldQ5_1 : HeldQ4_1 {
  typedef NibbleCodes<1> Codes;
};
struct HeldQ4_K : Plain {
  typedef NibbleCodes<0> Codes;
  static constexpr int zero = 0, scaleBytes = 2, superBytes = 4;
  static constexpr bool hasOffset = true;
  static TESSERA_INLINE void read(const uint8_t *p, const uint8_t *super, Vec *scale, Vec &offset) {
    scale[0] = halves(super) * bytes(p);
    offset = -(halves(super + 32) * bytes(p + 16));
  }
};
struct HeldQ5_K : HeldQ4_K {
  typedef NibbleCodes<1> Codes;
};
struct HeldQ6_K : Plain {
  typedef NibbleCodes<2> Codes;
  static constexpr int scales = 2, zero = 32, scaleBytes = 2, superBytes = 2;
  static TESSERA_INLINE void read(const uint8_t *p, const uint8_t *super, Vec *scale, Vec &) {
    Vec d = halves(super);
    scale[0] = d * signedBytes(p);
    scale[1] = d * signedBytes(p + 16);
  }
};
struct HeldMXFP4 : Plain {
  typedef FloatCodes Codes;
  static constexpr int zero = 0, scaleBytes = 1;
  static TESSERA_INLINE void read(const uint8_t *p, const uint8_t *, Vec *scale, Vec &) {
    Bits e = reinterpret_cast<Bits>(__builtin_convertvector(*reinterpret_cast<const Bytes *>(p), Ints));
    // 2^(e - 128); below 2 a subnormal number.
    Bits small = reinterpret_cast<Bits>(e < 2u);
    scale[0] = reinterpret_cast<Vec>((((e - 1u) << 23) & ~small) | ((0x00200000u << (e & 1u)) & small));
  }
};

struct HeldFP8 : Plain {
  typedef EightBitFloatCodes Codes;
  static constexpr int zero = 0, scaleBytes = 0, superBytes = 4, perSuper = 4;
  static TESSERA_INLINE void read(const uint8_t *, const uint8_t *super, Vec *scale, Vec &) {
    scale[0] = reinterpret_cast<Vec>(words(super));
  }
};
// scale * code and scale * zero are exact, and so is their difference.
template <int group> struct HeldINT4 : Plain {
  typedef NibbleCodes<0> Codes;
  static constexpr int zero = 0, scaleBytes = 0, superBytes = 3, perSuper = group / 32;
  static constexpr bool hasOffset = true;
  static TESSERA_INLINE void read(const uint8_t *, const uint8_t *super, Vec *scale, Vec &offset) {
    scale[0] = halves(super);
    offset = -(scale[0] * bytes(super + 32));
  }
};

// The parts of one unit.
template <typename F> struct UnitParts {
  static constexpr int64_t codeBytes = 64 * F::Codes::words;
  const uint8_t *codes, *scales, *supers;
  UnitParts(const BlockUnits &w, int64_t unit)
      : codes(w.units + unit * w.unitBytes), scales(codes + w.chunks * w.blocks * codeBytes),
        supers(scales + w.chunks * w.blocks * 16 * F::scaleBytes) {}
  // Of sub-block i of chunk c.
  TESSERA_INLINE const uint8_t *super(const BlockUnits &w, int64_t c, int64_t i) const {
    return F::superBytes ? supers + (c * w.supers + (w.phases[c] + i) / F::perSuper) * 16 * F::superBytes
                         : nullptr;
  }
};

// Units are read once (kAhead). With each sub-block goes its share of all that follows, scales too: whatever
// is left out is waited for.
template <typename F> TESSERA_INLINE void fetchAhead(const uint8_t *at) {
  static_assert(16 * F::scaleBytes + 16 * F::superBytes / F::perSuper <= 64);
  for (int line = 0; line <= F::Codes::words; ++line)
    __builtin_prefetch(at + kAhead + 64 * line);
}

template <typename F, int R>
void fewRowsOf(const BlockUnits &w, const float *x, const float *sums, float *y, int64_t begin, int64_t end) {
  // Several accumulators of a row, or the multipliers would wait for one.
  constexpr int U = R == 1 ? 4 / F::scales : R == 2 ? 2 / F::scales : 1;
  const int64_t all = w.chunks * w.blocks, columns = all * 32, bytes = w.unitBytes / all;
  for (int64_t unit = begin; unit < end; ++unit) {
    UnitParts<F> parts(w, unit);
    Vec total[R] = {};
    for (int64_t c = 0, block = 0; c < w.chunks; ++c)
      for (int64_t i = 0; i < w.blocks; ++i, ++block) {
        Vec scale[2], offset, sum[R][F::scales][U] = {};
        F::read(parts.scales + block * 16 * F::scaleBytes, parts.super(w, c, i), scale, offset);
        const float *at = x + block * 32;
        fetchAhead<F>(parts.codes + block * bytes);
        F::Codes::each(parts.codes + block * parts.codeBytes,
                       [&](int j, Vec code) __attribute__((always_inline)) {
                         // Of two scales the sums by 16 columns already have their zero.
                         if (F::scales > 1)
                           code -= float(F::zero);
                         for (int r = 0; r < R; ++r)
                           sum[r][F::scales > 1 ? j / 16 : 0][j % U] += splat(at[r * columns + j]) * code;
                       });
        for (int r = 0; r < R; ++r) {
          float sumOfX = sums[r * all + block];
          for (int s = 0; s < F::scales; ++s) {
            for (int u = 1; u < U; ++u)
              sum[r][s][0] += sum[r][s][u];
            if (F::zero && F::scales == 1)
              sum[r][s][0] -= splat(float(F::zero) * sumOfX);
            total[r] += scale[s] * sum[r][s][0];
          }
          if (F::hasOffset)
            total[r] += offset * splat(sumOfX);
        }
      }
    for (int r = 0; r < R; ++r)
      storeUpTo(w.n - unit * 16, y + r * w.n + unit * 16, total[r]);
  }
}

template <typename F>
void fewRows(const BlockUnits &w, int64_t m, const float *x, const float *sums, float *y, int64_t begin,
             int64_t end) {
  switch (m) {
  case 1:
    return fewRowsOf<F, 1>(w, x, sums, y, begin, end);
  case 2:
    return fewRowsOf<F, 2>(w, x, sums, y, begin, end);
  case 3:
    return fewRowsOf<F, 3>(w, x, sums, y, begin, end);
  case 4:
    return fewRowsOf<F, 4>(w, x, sums, y, begin, end);
  }
}

// Calls use(codes, scale, offset) for sub-blocks [first, first + count) of a unit, counted through all
// chunks.
template <typename F, typename Use>
TESSERA_INLINE void eachSubBlock(const BlockUnits &w, int64_t unit, int64_t first, int64_t count, Use use) {
  if (count == 0)
    return;
  UnitParts<F> parts(w, unit);
  int64_t c = first / w.blocks, i = first % w.blocks;
  for (int64_t block = first; block < first + count; ++block) {
    Vec scale[2], offset;
    F::read(parts.scales + block * 16 * F::scaleBytes, parts.super(w, c, i), scale, offset);
    use(parts.codes + block * parts.codeBytes, scale, offset);
    if (++i == w.blocks)
      i = 0, ++c;
  }
}

template <typename F>
void expand(const BlockUnits &w, int64_t unit, int64_t first, int64_t count, float *panel, int64_t stride) {
  eachSubBlock<F>(w, unit, first, count,
                  [&](const uint8_t *codes, const Vec *scale, const Vec &offset)
                      __attribute__((always_inline)) {
                        F::Codes::each(codes, [&](int j, Vec code) __attribute__((always_inline)) {
                          // The product is exact, so that a sum with it is rounded once.
                          Vec value = scale[F::scales > 1 ? j / 16 : 0] * (code - float(F::zero));
                          if (F::hasOffset)
                            value += offset;
                          store(panel + j * stride, value);
                        });
                        panel += 32 * stride;
                      });
}

template <typename F> constexpr BlockKernelSet kernelsOf = {fewRows<F>, expand<F>};

} // namespace
} // namespace tessera::runtime
