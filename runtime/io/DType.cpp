#include "tessera/runtime/io/DType.h"

#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::io {

namespace {
struct TypeFacts {
  const char *name;
  int64_t blockElements, blockBytes;
  bool floatLike;
};
} // namespace

static const TypeFacts &facts(DType type) {
  static const TypeFacts table[] = {
      {"F64", 1, 8, true},   {"F32", 1, 4, true},    {"F16", 1, 2, true},    {"BF16", 1, 2, true},
      {"I64", 1, 8, false},  {"I32", 1, 4, false},   {"I16", 1, 2, false},   {"I8", 1, 1, false},
      {"U64", 1, 8, false},  {"U32", 1, 4, false},   {"U16", 1, 2, false},   {"U8", 1, 1, false},
      {"BOOL", 1, 1, false}, {"Q8_0", 32, 34, true}, {"Q4_1", 32, 20, true},
  };
  return table[static_cast<int>(type)];
}

const char *dtypeName(DType type) { return facts(type).name; }
int64_t blockElements(DType type) { return facts(type).blockElements; }
int64_t blockBytes(DType type) { return facts(type).blockBytes; }
bool isFloatLike(DType type) { return facts(type).floatLike; }

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

static uint16_t load16(const uint8_t *at) {
  uint16_t value;
  std::memcpy(&value, at, 2);
  return value;
}

// The loops are written once and compiled twice: for the base instruction set, and (x86-64) for AVX2 with
// F16C. always_inline makes them take the instruction set of the function they are inlined into.
#define TESSERA_INLINE inline __attribute__((always_inline))

static TESSERA_INLINE void convertBFloat16(const uint8_t *src, int64_t n, float *__restrict out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = bfloat16ToFloat(load16(src + 2 * i));
}

static TESSERA_INLINE void convertQ8(const uint8_t *src, int64_t blocks, float *__restrict out) {
  for (int64_t b = 0; b < blocks; ++b, src += 34, out += 32) {
    float scale = halfToFloat(load16(src));
    int8_t q[32];
    std::memcpy(q, src + 2, 32);
    for (int i = 0; i < 32; ++i)
      out[i] = scale * float(q[i]);
  }
}

static TESSERA_INLINE void convertQ4(const uint8_t *src, int64_t blocks, float *__restrict out) {
  for (int64_t b = 0; b < blocks; ++b, src += 20, out += 32) {
    float scale = halfToFloat(load16(src)), minimum = halfToFloat(load16(src + 2));
    uint8_t q[16];
    std::memcpy(q, src + 4, 16);
    for (int i = 0; i < 16; ++i)
      out[i] = scale * float(q[i] & 15) + minimum; // scale * q is exact: fusing the addition changes nothing
    for (int i = 0; i < 16; ++i)
      out[i + 16] = scale * float(q[i] >> 4) + minimum;
  }
}

static TESSERA_INLINE void convertHalf(const uint8_t *src, int64_t begin, int64_t n, float *__restrict out) {
  for (int64_t i = begin; i < n; ++i)
    out[i] = halfToFloat(load16(src + 2 * i));
}

static TESSERA_INLINE void convert(DType type, const uint8_t *src, int64_t n, float *out) {
  switch (type) {
  case DType::F16:
    return convertHalf(src, 0, n, out);
  case DType::BF16:
    return convertBFloat16(src, n, out);
  case DType::Q8_0:
    return convertQ8(src, n / 32, out);
  case DType::Q4_1:
    return convertQ4(src, n / 32, out);
  default:
    assert(false && "not a type of weights");
  }
}

static void convertBase(DType type, const uint8_t *src, int64_t n, float *out) { convert(type, src, n, out); }

#if defined(__x86_64__)
__attribute__((target("avx2,f16c"))) static void convertAvx2(DType type, const uint8_t *src, int64_t n, float *out) {
  if (type != DType::F16)
    return convert(type, src, n, out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i half;
    std::memcpy(&half, src + 2 * i, 16);
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  convertHalf(src, i, n, out);
}
#endif

void dequantize(DType type, const void *source, int64_t elements, float *out) {
  assert(isFloatLike(type) && elements % blockElements(type) == 0);
  const auto *src = static_cast<const uint8_t *>(source);
  if (elements == 0)
    return;
  if (type == DType::F32) {
    std::memcpy(out, src, size_t(elements) * 4);
    return;
  }
  if (type == DType::F64) {
    for (int64_t i = 0; i < elements; ++i) {
      double value;
      std::memcpy(&value, src + 8 * i, 8);
      out[i] = float(value);
    }
    return;
  }
#if defined(__x86_64__)
  static const bool hasAvx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (hasAvx2)
    return convertAvx2(type, src, elements, out);
#endif
  convertBase(type, src, elements, out);
}

} // namespace tessera::io
