// Quantized blocks to float32. What the bytes of a block mean stands in DType.h; all values but those of FP8
// and of a scale with a minimum are exact in float32, and those are rounded once.
#include "DTypeFunctions.h"
#include "tessera/runtime/io/BlockParts.h"

#include <cstring>

namespace tessera::io {
namespace {

// Written once and compiled twice, as in DTypeConvert.cpp.
#define TESSERA_INLINE inline __attribute__((always_inline))

TESSERA_INLINE float half(const uint8_t *at) {
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return halfToFloat(bits);
}

TESSERA_INLINE uint32_t load32(const uint8_t *at) {
  uint32_t bits;
  std::memcpy(&bits, at, 4);
  return bits;
}

struct Q8_0 {
  static constexpr int64_t elements = 32, bytes = 34;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    float d = half(src);
    int8_t q[32];
    std::memcpy(q, src + 2, 32);
    for (int i = 0; i < 32; ++i)
      out[i] = d * float(q[i]);
  }
};

// 32 nibbles, low ones first, less `zero`, times a scale and plus a minimum; a fifth bit of each in `high`.
// scale * q is exact: fusing the addition changes nothing.
TESSERA_INLINE void widenNibbles(const uint8_t *src, uint32_t high, int zero, float scale, float minimum,
                                 float *__restrict out) {
  uint8_t q[16];
  std::memcpy(q, src, 16);
  for (int i = 0; i < 16; ++i)
    out[i] = scale * float((q[i] & 15) + int((high >> i & 1) << 4) - zero) + minimum;
  for (int i = 0; i < 16; ++i)
    out[i + 16] = scale * float((q[i] >> 4) + int((high >> (i + 16) & 1) << 4) - zero) + minimum;
}

// Without a minimum: adding 0 would make 0 of -0.
TESSERA_INLINE void widenNibbles(const uint8_t *src, uint32_t high, int zero, float scale,
                                 float *__restrict out) {
  uint8_t q[16];
  std::memcpy(q, src, 16);
  for (int i = 0; i < 16; ++i)
    out[i] = scale * float((q[i] & 15) + int((high >> i & 1) << 4) - zero);
  for (int i = 0; i < 16; ++i)
    out[i + 16] = scale * float((q[i] >> 4) + int((high >> (i + 16) & 1) << 4) - zero);
}

struct Q4_0 {
  static constexpr int64_t elements = 32, bytes = 18;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    widenNibbles(src + 2, 0, 8, half(src), out);
  }
};
struct Q4_1 {
  static constexpr int64_t elements = 32, bytes = 20;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    widenNibbles(src + 4, 0, 0, half(src), half(src + 2), out);
  }
};
struct Q5_0 {
  static constexpr int64_t elements = 32, bytes = 22;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    widenNibbles(src + 6, load32(src + 2), 16, half(src), out);
  }
};
struct Q5_1 {
  static constexpr int64_t elements = 32, bytes = 24;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    widenNibbles(src + 8, load32(src + 4), 0, half(src), half(src + 2), out);
  }
};

// Q4_K and Q5_K; of Q5_K bit s of byte i of `high` is the fifth of element i of sub-block s.
TESSERA_INLINE void widenSubBlocks(const uint8_t *src, const uint8_t *high, const uint8_t *low,
                                   float *__restrict out) {
  float d = half(src), dmin = half(src + 2);
  for (int s = 0; s < 8; ++s) {
    SubScale sub = subScale(src + 4, s);
    float scale = d * float(sub.scale), minimum = dmin * float(sub.minimum); // exact
    const uint8_t *q = low + s / 2 * 32;
    int shift = s % 2 * 4;
    for (int i = 0; i < 32; ++i)
      out[s * 32 + i] = scale * float((q[i] >> shift & 15) + (high ? (high[i] >> s & 1) << 4 : 0)) - minimum;
  }
}

struct Q4_K {
  static constexpr int64_t elements = 256, bytes = 144;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    widenSubBlocks(src, nullptr, src + 16, out);
  }
};
struct Q5_K {
  static constexpr int64_t elements = 256, bytes = 176;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    widenSubBlocks(src, src + 16, src + 48, out);
  }
};

struct Q6_K {
  static constexpr int64_t elements = 256, bytes = 210;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    const uint8_t *low = src, *high = src + 128;
    int8_t scales[16];
    std::memcpy(scales, src + 192, 16);
    float d = half(src + 208);
    for (int part = 0; part < 8; ++part) { // 32 elements each
      const uint8_t *l = low + part / 4 * 64 + part % 2 * 32, *h = high + part / 4 * 32;
      int lowShift = part % 4 / 2 * 4, highShift = part % 4 * 2;
      for (int i = 0; i < 32; ++i) {
        int q = (l[i] >> lowShift & 15) | (h[i] >> highShift & 3) << 4;
        out[part * 32 + i] = d * float(scales[part * 2 + i / 16]) * float(q - 32); // exact
      }
    }
  }
};

struct MXFP4 {
  static constexpr int64_t elements = 32, bytes = 17;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    float scale = mxfp4Scale(src[0]);
    for (int i = 0; i < 16; ++i) {
      out[i] = scale * float(mxfp4Values[src[1 + i] & 15]);
      out[i + 16] = scale * float(mxfp4Values[src[1 + i] >> 4]);
    }
  }
};

struct FP8 {
  static constexpr int64_t elements = 128, bytes = 132;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    float d;
    std::memcpy(&d, src, 4);
    for (int i = 0; i < 128; ++i)
      out[i] = d * e4m3ToFloat(src[4 + i]);
  }
};

template <int group> struct INT4 {
  static constexpr int64_t elements = group, bytes = 3 + group / 2;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) {
    for (int s = 0; s < group / 32; ++s)
      widenNibbles(src + 3 + 16 * s, 0, src[2], half(src), out + 32 * s);
  }
};

struct F8_E4M3 {
  static constexpr int64_t elements = 1, bytes = 1;
  static TESSERA_INLINE void widen(const uint8_t *src, float *__restrict out) { *out = e4m3ToFloat(*src); }
};

template <typename Block> TESSERA_INLINE void widenBlocks(const void *src, int64_t n, float *__restrict out) {
  auto *at = static_cast<const uint8_t *>(src);
  for (int64_t b = 0; b < n / Block::elements; ++b, at += Block::bytes, out += Block::elements)
    Block::widen(at, out);
}

#if defined(__x86_64__)
// Static initialization may come later than the first use of the table: asked once, at the first use.
bool hasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}
template <typename Block>
__attribute__((target("avx2,f16c"))) void widenAvx2(const void *src, int64_t n, float *out) {
  widenBlocks<Block>(src, n, out);
}
#endif

template <typename Block> void widenBest(const void *src, int64_t n, float *out) {
#if defined(__x86_64__)
  if (hasAvx2())
    return widenAvx2<Block>(src, n, out);
#endif
  widenBlocks<Block>(src, n, out);
}

} // namespace

void widenQ8_0(const void *src, int64_t n, float *dst) { widenBest<Q8_0>(src, n, dst); }
void widenQ4_0(const void *src, int64_t n, float *dst) { widenBest<Q4_0>(src, n, dst); }
void widenQ4_1(const void *src, int64_t n, float *dst) { widenBest<Q4_1>(src, n, dst); }
void widenQ5_0(const void *src, int64_t n, float *dst) { widenBest<Q5_0>(src, n, dst); }
void widenQ5_1(const void *src, int64_t n, float *dst) { widenBest<Q5_1>(src, n, dst); }
void widenQ4_K(const void *src, int64_t n, float *dst) { widenBest<Q4_K>(src, n, dst); }
void widenQ5_K(const void *src, int64_t n, float *dst) { widenBest<Q5_K>(src, n, dst); }
void widenQ6_K(const void *src, int64_t n, float *dst) { widenBest<Q6_K>(src, n, dst); }
void widenMXFP4(const void *src, int64_t n, float *dst) { widenBest<MXFP4>(src, n, dst); }
void widenFP8(const void *src, int64_t n, float *dst) { widenBest<FP8>(src, n, dst); }
void widenINT4_32(const void *src, int64_t n, float *dst) { widenBest<INT4<32>>(src, n, dst); }
void widenINT4_64(const void *src, int64_t n, float *dst) { widenBest<INT4<64>>(src, n, dst); }
void widenINT4_128(const void *src, int64_t n, float *dst) { widenBest<INT4<128>>(src, n, dst); }
void widenF8_E4M3(const void *src, int64_t n, float *dst) { widenBest<F8_E4M3>(src, n, dst); }

} // namespace tessera::io
