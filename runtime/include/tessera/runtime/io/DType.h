// Element types of tensors in model files, and their conversion to float32.
#ifndef TESSERA_RUNTIME_IO_DTYPE_H
#define TESSERA_RUNTIME_IO_DTYPE_H

#include <cstddef>
#include <cstdint>

namespace tessera::io {

// Q8_0: blocks of 32: f16 scale d, 32 int8 q; value = d * q. 34 bytes.
// Q4_1: blocks of 32: f16 scale d, f16 minimum m, 16 bytes q (element i < 16 in the low nibble of byte i,
// element i + 16
//       in its high nibble); value = d * q + m. 20 bytes.
enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, Bool, Q8_0, Q4_1 };

// "F32", "BF16", "Q8_0", ...: the spelling of safetensors (BOOL) and of GGUF.
const char *dtypeName(DType type);
// Elements of one block: 1 for plain types, 32 for Q8_0 and Q4_1.
int64_t blockElements(DType type);
// Bytes of one block: 4 for F32, 34 for Q8_0, 20 for Q4_1.
int64_t blockBytes(DType type);
// A type whose elements are weights: everything that dequantize converts (floats and quantized blocks).
bool isFloatLike(DType type);
inline bool isQuantized(DType type) { return blockElements(type) > 1; }

// Converts `elements` (a multiple of blockElements) at `src` (no alignment needed) to float32, rounding F64
// to nearest. isFloatLike(type) must hold. About the speed of memory for all types.
void dequantize(DType type, const void *src, int64_t elements, float *out);

float halfToFloat(uint16_t bits);
inline float bfloat16ToFloat(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}

} // namespace tessera::io
#endif
