// Widening to float32 and narrowing from it.
#include "DTypeFunctions.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::io {

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  float value;
  if (exponent == 0) { // zero or subnormal: mantissa * 2^-24, exact
    value = float(mantissa) * 0x1p-24f;
    uint32_t word;
    std::memcpy(&word, &value, 4);
    word |= sign;
    std::memcpy(&value, &word, 4);
    return value;
  }
  uint32_t word = sign | (exponent == 31 ? 0x7F800000u : (exponent + 112) << 23) | mantissa << 13;
  std::memcpy(&value, &word, 4);
  return value;
}

uint16_t floatToHalf(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  uint16_t sign = uint16_t(word >> 16 & 0x8000);
  uint32_t magnitude = word & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) // a NaN stays one, with what fits of its payload
    return uint16_t(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
  if (magnitude >= 0x47800000) // 65536 and above
    return uint16_t(sign | 0x7C00);
  if (magnitude < 0x38800000) { // subnormal: adding 0.5 rounds to multiples of 2^-24
    float rest;
    std::memcpy(&rest, &magnitude, 4);
    rest += 0.5f;
    std::memcpy(&word, &rest, 4);
    return uint16_t(sign | (word - 0x3F000000));
  }
  // The carry of rounding may run into the exponent, up to infinity: that is right.
  return uint16_t(sign | ((magnitude + 0xFFF + (magnitude >> 13 & 1)) - 0x38000000) >> 13);
}

static uint16_t load16(const uint8_t *at) {
  uint16_t value;
  std::memcpy(&value, at, 2);
  return value;
}

// The loops are written once and compiled twice: for the base instruction set, and (x86-64) for AVX2 with
// F16C; what they cost most has AVX-512, too. always_inline makes them take the instruction set of the
// function they are inlined into.
#define TESSERA_INLINE inline __attribute__((always_inline))

static TESSERA_INLINE void bfloat16Loop(const uint8_t *src, int64_t n, float *__restrict out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = bfloat16ToFloat(load16(src + 2 * i));
}

static TESSERA_INLINE void toBfloat16Loop(const float *src, int64_t n, uint8_t *__restrict out) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t bits = floatToBfloat16(src[i]);
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

static void halfLoop(const uint8_t *src, int64_t n, float *out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = halfToFloat(load16(src + 2 * i));
}

static void toHalfLoop(const float *src, int64_t n, uint8_t *out) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t bits = floatToHalf(src[i]);
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

#if defined(__x86_64__)
#define TESSERA_AVX2 __attribute__((target("avx2,f16c")))

// Static initialization may come later than the first use of the table: asked once, at the first use.
static bool hasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}

TESSERA_AVX2 static void bfloat16Avx2(const uint8_t *src, int64_t n, float *out) {
  bfloat16Loop(src, n, out);
}
TESSERA_AVX2 static void toBfloat16Avx2(const float *src, int64_t n, uint8_t *out) {
  toBfloat16Loop(src, n, out);
}

#define TESSERA_AVX512 __attribute__((target("avx512f")))
static bool hasAvx512() {
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
}

// Results of products pass here: three times as fast as what the loop becomes with AVX2.
TESSERA_AVX512 static void toBfloat16Avx512(const float *src, int64_t n, uint8_t *out) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i word = _mm512_loadu_si512(src + i), high = _mm512_srli_epi32(word, 16),
                  odd = _mm512_and_si512(high, _mm512_set1_epi32(1)),
                  magnitude = _mm512_and_si512(word, _mm512_set1_epi32(0x7FFFFFFF));
    const __mmask16 none = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7F800000));
    __m512i bits = _mm512_add_epi32(_mm512_add_epi32(word, odd), _mm512_set1_epi32(0x7FFF));
    bits = _mm512_mask_or_epi32(_mm512_srli_epi32(bits, 16), none, high, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + 2 * i), _mm512_cvtepi32_epi16(bits));
  }
  toBfloat16Loop(src + i, n - i, out + 2 * i);
}

TESSERA_AVX2 static void halfAvx2(const uint8_t *src, int64_t n, float *out) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i half;
    std::memcpy(&half, src + 2 * i, 16);
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  halfLoop(src + 2 * i, n - i, out + i);
}

TESSERA_AVX2 static void toHalfAvx2(const float *src, int64_t n, uint8_t *out) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    std::memcpy(out + 2 * i, &half, 16);
  }
  toHalfLoop(src + i, n - i, out + 2 * i);
}
#define TESSERA_BEST(avx2, base) (hasAvx2() ? avx2 : base)
#else
#define TESSERA_BEST(avx2, base) base
#endif

static const uint8_t *bytes(const void *src) { return static_cast<const uint8_t *>(src); }

static void bfloat16Base(const uint8_t *src, int64_t n, float *out) { bfloat16Loop(src, n, out); }
static void toBfloat16Base(const float *src, int64_t n, uint8_t *out) { toBfloat16Loop(src, n, out); }

void widenF64(const void *src, int64_t n, float *dst) {
  for (int64_t i = 0; i < n; ++i) {
    double value;
    std::memcpy(&value, bytes(src) + 8 * i, 8);
    dst[i] = float(value);
  }
}
void widenF32(const void *src, int64_t n, float *dst) { std::memcpy(dst, src, size_t(n) * 4); }
void widenF16(const void *src, int64_t n, float *dst) {
  TESSERA_BEST(halfAvx2, halfLoop)(bytes(src), n, dst);
}
void widenBF16(const void *src, int64_t n, float *dst) {
  TESSERA_BEST(bfloat16Avx2, bfloat16Base)(bytes(src), n, dst);
}

void narrowF32(const float *src, int64_t n, void *dst) { std::memcpy(dst, src, size_t(n) * 4); }
void narrowF16(const float *src, int64_t n, void *dst) {
  TESSERA_BEST(toHalfAvx2, toHalfLoop)(src, n, static_cast<uint8_t *>(dst));
}
void narrowBF16(const float *src, int64_t n, void *dst) {
#if defined(__x86_64__)
  if (hasAvx512())
    return toBfloat16Avx512(src, n, static_cast<uint8_t *>(dst));
#endif
  TESSERA_BEST(toBfloat16Avx2, toBfloat16Base)(src, n, static_cast<uint8_t *>(dst));
}

} // namespace tessera::io
