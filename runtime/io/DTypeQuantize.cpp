// Blocks from float32, for made-up weights: the nearest codes that simple scales give. Quantizers that search
// for better scales are no task of ours; what blocks of a file say is never quantized again.
#include "DTypeFunctions.h"
#include "tessera/runtime/io/BlockParts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera::io {
namespace {

void putHalf(uint8_t *at, float value) {
  uint16_t bits = floatToHalf(value);
  std::memcpy(at, &bits, 2);
}
float asHalf(float value) { return halfToFloat(floatToHalf(value)); }

int nearest(float x, float scale, int low, int high) {
  return scale == 0 ? 0 : int(std::clamp(std::nearbyint(x / scale), float(low), float(high)));
}

// Codes of 32 elements: nibbles, and a fifth bit of each.
void putNibbles(uint8_t *at, const int *q) {
  for (int i = 0; i < 16; ++i)
    at[i] = uint8_t((q[i] & 15) | (q[i + 16] & 15) << 4);
}
void putFifths(uint8_t *at, const int *q) {
  uint32_t bits = 0;
  for (int i = 0; i < 32; ++i)
    bits |= uint32_t(q[i] >> 4 & 1) << i;
  std::memcpy(at, &bits, 4);
}

// Of formats with 5 bits the fifth ones stand first.
template <int bits> void putCodes(uint8_t *at, const int *q) {
  if (bits == 5)
    putFifths(at, q);
  putNibbles(at + (bits == 5 ? 4 : 0), q);
}

float extreme(const float *x, int count) {
  return *std::max_element(x, x + count, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
}

void quantizeQ8_0(const float *x, uint8_t *out) {
  float d = asHalf(std::fabs(extreme(x, 32)) / 127);
  putHalf(out, d);
  for (int i = 0; i < 32; ++i)
    out[2 + i] = uint8_t(nearest(x[i], d, -127, 127));
}

// d * (q - zero), bits of q: 4 or 5.
template <int bits> void quantizeCentred(const float *x, uint8_t *out) {
  constexpr int zero = 1 << (bits - 1);
  float d = asHalf(extreme(x, 32) / -zero);
  int q[32];
  for (int i = 0; i < 32; ++i)
    q[i] = nearest(x[i], d, -zero, zero - 1) + zero;
  putHalf(out, d);
  putCodes<bits>(out + 2, q);
}

// d * q + m
template <int bits> void quantizeFromMinimum(const float *x, uint8_t *out) {
  auto [low, high] = std::minmax_element(x, x + 32);
  float m = asHalf(*low), d = asHalf((*high - m) / ((1 << bits) - 1));
  int q[32];
  for (int i = 0; i < 32; ++i)
    q[i] = nearest(x[i] - m, d, 0, (1 << bits) - 1);
  putHalf(out, d);
  putHalf(out + 2, m);
  putCodes<bits>(out + 4, q);
}

template <int bits> void quantizeSubBlocks(const float *x, uint8_t *out) {
  constexpr int most = (1 << bits) - 1;
  float range[8], low[8];
  for (int s = 0; s < 8; ++s) {
    auto [least, largest] = std::minmax_element(x + 32 * s, x + 32 * s + 32);
    low[s] = std::max(0.0f, -*least);
    range[s] = std::max(0.0f, *largest + low[s]) / most;
  }
  float d = asHalf(*std::max_element(range, range + 8) / 63),
        dmin = asHalf(*std::max_element(low, low + 8) / 63);
  std::memset(out, 0, bits == 5 ? 176 : 144);
  putHalf(out, d);
  putHalf(out + 2, dmin);
  uint8_t *packed = out + 4, *high = out + 16, *nibbles = out + (bits == 5 ? 48 : 16);
  for (int s = 0; s < 8; ++s) {
    int scale = nearest(range[s], d, 0, 63), minimum = nearest(low[s], dmin, 0, 63);
    if (s < 4) {
      packed[s] = uint8_t(packed[s] | scale);
      packed[s + 4] = uint8_t(packed[s + 4] | minimum);
    } else {
      packed[s + 4] = uint8_t((scale & 15) | (minimum & 15) << 4);
      packed[s - 4] = uint8_t(packed[s - 4] | (scale >> 4) << 6);
      packed[s] = uint8_t(packed[s] | (minimum >> 4) << 6);
    }
    for (int i = 0; i < 32; ++i) {
      int q = nearest(x[32 * s + i] + dmin * float(minimum), d * float(scale), 0, most);
      nibbles[s / 2 * 32 + i] = uint8_t(nibbles[s / 2 * 32 + i] | (q & 15) << s % 2 * 4);
      if (bits == 5)
        high[i] = uint8_t(high[i] | (q >> 4) << s);
    }
  }
}

void quantizeQ6_K(const float *x, uint8_t *out) {
  std::memset(out, 0, 210);
  float most = 0;
  for (int part = 0; part < 16; ++part)
    most = std::max(most, std::fabs(extreme(x + 16 * part, 16)));
  float d = asHalf(most / 31 / 127);
  putHalf(out + 208, d);
  for (int part = 0; part < 16; ++part)
    out[192 + part] = uint8_t(nearest(std::fabs(extreme(x + 16 * part, 16)) / 31, d, 0, 127));
  for (int i = 0; i < 256; ++i) {
    int q = nearest(x[i], d * float(int8_t(out[192 + i / 16])), -32, 31) + 32;
    int half = i / 128, part = i % 128 / 32, e = i % 32;
    uint8_t &low = out[half * 64 + part % 2 * 32 + e], &high = out[128 + half * 32 + e];
    low = uint8_t(low | (q & 15) << part / 2 * 4);
    high = uint8_t(high | (q >> 4) << part * 2);
  }
}

void quantizeMXFP4(const float *x, uint8_t *out) {
  float most = std::fabs(extreme(x, 32));
  int e = 0;
  while (e < 254 && mxfp4Scale(uint8_t(e)) * 12 < most)
    ++e;
  out[0] = uint8_t(e);
  int q[32];
  for (int i = 0; i < 32; ++i) {
    float scaled = x[i] / mxfp4Scale(uint8_t(e));
    q[i] = int(std::min_element(mxfp4Values, mxfp4Values + 16,
                                [&](int a, int b) {
                                  return std::fabs(scaled - float(a)) < std::fabs(scaled - float(b));
                                }) -
               mxfp4Values);
  }
  putNibbles(out + 1, q);
}

void quantizeFP8(const float *x, uint8_t *out) {
  float d = std::fabs(extreme(x, 128)) / 448; // the largest of its floats
  std::memcpy(out, &d, 4);
  for (int i = 0; i < 128; ++i) {
    float scaled = d == 0 ? 0 : std::min(std::fabs(x[i]) / d, 448.0f);
    // The unit of the last of 3 bits, and no less than that of the smallest exponent.
    int exponent;
    std::frexp(scaled, &exponent);
    float unit = std::ldexp(1.0f, std::max(exponent - 4, -9));
    int whole = int(std::nearbyint(scaled / unit)); // 16: the next exponent's 8
    int code = scaled == 0 ? 0 : exponent - 4 > -9 ? (exponent + 6) * 8 + whole - 8 : whole;
    out[4 + i] = uint8_t(std::min(code, 126) | (std::signbit(x[i]) ? 128 : 0));
  }
}

template <int group> void quantizeINT4(const float *x, uint8_t *out) {
  auto [least, most] = std::minmax_element(x, x + group);
  float low = std::min(*least, 0.0f), d = asHalf((std::max(*most, 0.0f) - low) / 15);
  int zero = nearest(-low, d, 0, 15);
  putHalf(out, d);
  out[2] = uint8_t(zero);
  for (int s = 0; s < group / 32; ++s) {
    int q[32];
    for (int i = 0; i < 32; ++i)
      q[i] = std::clamp(nearest(x[32 * s + i], d, -15, 15) + zero, 0, 15);
    putNibbles(out + 3 + 16 * s, q);
  }
}

template <int64_t elements, int64_t bytes, void (*quantize)(const float *, uint8_t *)>
void inBlocks(const float *src, int64_t n, void *dst) {
  auto *to = static_cast<uint8_t *>(dst);
  for (int64_t b = 0; b < n / elements; ++b)
    quantize(src + b * elements, to + b * bytes);
}

} // namespace

void narrowQ8_0(const float *src, int64_t n, void *dst) { inBlocks<32, 34, quantizeQ8_0>(src, n, dst); }
void narrowQ4_0(const float *src, int64_t n, void *dst) { inBlocks<32, 18, quantizeCentred<4>>(src, n, dst); }
void narrowQ4_1(const float *src, int64_t n, void *dst) {
  inBlocks<32, 20, quantizeFromMinimum<4>>(src, n, dst);
}
void narrowQ5_0(const float *src, int64_t n, void *dst) { inBlocks<32, 22, quantizeCentred<5>>(src, n, dst); }
void narrowQ5_1(const float *src, int64_t n, void *dst) {
  inBlocks<32, 24, quantizeFromMinimum<5>>(src, n, dst);
}
void narrowQ4_K(const float *src, int64_t n, void *dst) {
  inBlocks<256, 144, quantizeSubBlocks<4>>(src, n, dst);
}
void narrowQ5_K(const float *src, int64_t n, void *dst) {
  inBlocks<256, 176, quantizeSubBlocks<5>>(src, n, dst);
}
void narrowQ6_K(const float *src, int64_t n, void *dst) { inBlocks<256, 210, quantizeQ6_K>(src, n, dst); }
void narrowMXFP4(const float *src, int64_t n, void *dst) { inBlocks<32, 17, quantizeMXFP4>(src, n, dst); }
void narrowFP8(const float *src, int64_t n, void *dst) { inBlocks<128, 132, quantizeFP8>(src, n, dst); }
void narrowINT4_32(const float *src, int64_t n, void *dst) {
  inBlocks<32, 19, quantizeINT4<32>>(src, n, dst);
}
void narrowINT4_64(const float *src, int64_t n, void *dst) {
  inBlocks<64, 35, quantizeINT4<64>>(src, n, dst);
}
void narrowINT4_128(const float *src, int64_t n, void *dst) {
  inBlocks<128, 67, quantizeINT4<128>>(src, n, dst);
}

} // namespace tessera::io
