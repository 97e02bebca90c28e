// The table of element types: one row for each type of elements that a tensor can have, in a model file, in
// memory or on its way between ranks. The compiler and the runtime both read it; whoever adds a type adds a
// row (docs/Types.md).
#ifndef TESSERA_RUNTIME_IO_DTYPE_H
#define TESSERA_RUNTIME_IO_DTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::io {

// Quantized blocks, as in GGUF (ggml-common.h). d, m: f16. Nibbles q of 32 elements are 16 bytes: element
// i < 16 is the low nibble of byte i, element i + 16 its high one; a fifth bit is bit i of 4 more bytes.
// Q8_0: 32 elements: d, 32 int8 q; value = d * q. 34 bytes.
// Q4_0: 32: d, nibbles; d * (q - 8). 18 bytes. Q4_1: d, m, nibbles; d * q + m. 20 bytes.
// Q5_0: 32: d, fifth bits, nibbles; d * (q - 16). 22 bytes. Q5_1: d, m, fifth bits, nibbles; d * q + m. 24.
// Q4_K: 256 in 8 sub-blocks s: d, m, 12 bytes with 6 bits of scale and of minimum of each sub-block, then 128
// bytes q: the low nibbles of bytes 32 k .. 32 k + 31 are sub-block 2 k, their high ones 2 k + 1; value =
// d * scale * q - m * minimum. 144 bytes. Q5_K: 32 bytes of fifth bits (bit s of byte i) before q. 176 bytes.
// Q6_K: 256 in 16 sub-blocks: 128 bytes of low nibbles, 64 of upper two bits, 16 int8 scales, d; value =
// d * scale * (q - 32). 210 bytes.
// MXFP4: 32: an exponent e, nibbles that are floats (mxfp4Values); value = 2^(e - 128) * float. 17 bytes.
// Of safetensors, whose parts stand in tensors of their own and are put together (io/Quantization.h):
// FP8: 128: a float32 d, 128 floats of 8 bits (F8_E4M3: sign, 4 bits of exponent, 3 of fraction, no
// infinity); value = d * float, rounded once. 132 bytes. INT4_32, INT4_64, INT4_128: d, a byte z, then
// nibbles, 32 elements in 16 bytes as above; value = d * (q - z). 3 bytes and half a byte an element.
enum class DType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool,
  Q8_0,
  Q4_1,
  Q4_0,
  Q5_0,
  Q5_1,
  Q4_K,
  Q5_K,
  Q6_K,
  MXFP4,
  FP8,
  INT4_32,
  INT4_64,
  INT4_128,
  F8_E4M3
};

// None: of collectives that combine nothing.
enum class ReduceOp : uint8_t { None, Sum, Max };

// Where a function is null the type does not know the operation. No function needs aligned pointers.
struct DTypeTraits {
  const char *fileName; // "F32", "BF16", "BOOL", "Q8_0": the spelling of safetensors and of GGUF
  const char *name; // "f32", "bf16", "i1": the spelling of programs and manifests; null: stands in files only
  int64_t blockElements, blockBytes; // of one block; a plain type's block is one element
  // To float32. Exact but for F64, FP8 and blocks with a minimum, which round to nearest once. About the
  // speed of memory.
  void (*widen)(const void *src, int64_t elements, float *dst);
  // From float32, to nearest, ties to even; what is too large becomes infinite. Of blocks what simple scales
  // give: for made-up weights.
  void (*narrow)(const float *src, int64_t elements, void *dst);
  // Packed matrices (see pack below): so many neighbours of a row stay together. 0: the type has no packed
  // form.
  int64_t packGroup;
  // Element (i, j) of the `rows` x `columns` matrix at `src` (`stride` floats from row to row) is narrowed
  // and goes to dst[(j / packGroup * block + i) * packGroup + j % packGroup]. rows <= block; elements of
  // `dst` beyond the matrix stay.
  void (*pack)(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block, void *dst);
  // Row `i` of what pack wrote, not widened.
  void (*unpackRow)(const void *src, int64_t i, int64_t columns, int64_t block, void *dst);
  // dst[e] = op over s of sources[s][e], s ascending; dst may be one of the sources. 16-bit floats are added
  // up in float32 and rounded once; sums of integers wrap round; a NaN is larger than all.
  void (*reduce)(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t elements);
};

const DTypeTraits &traits(DType type);
std::vector<DType> allDTypes();

inline const char *dtypeName(DType type) { return traits(type).fileName; }
inline int64_t blockElements(DType type) { return traits(type).blockElements; }
inline int64_t blockBytes(DType type) { return traits(type).blockBytes; }
constexpr int64_t kMostBlockElements = 256;
inline bool isQuantized(DType type) { return blockElements(type) > 1; }
// A type whose elements are weights: everything that can be widened (floats and quantized blocks).
inline bool isFloatLike(DType type) { return traits(type).widen != nullptr; }
// Of `elements`, a multiple of the block's.
inline int64_t bytesOf(DType type, int64_t elements) {
  return elements / blockElements(type) * blockBytes(type);
}

// "bf16" -> BF16: a name of programs and manifests; none for other text.
std::optional<DType> dtypeFromName(std::string_view name);
// "BF16" -> BF16: a name of safetensors; none for other text and for quantized types.
std::optional<DType> dtypeFromFileName(std::string_view name);

// "Q4_K" -> Q4_K: any type that holds weights, as files spell it.
std::optional<DType> weightTypeFromFileName(std::string_view name);

// traits(type).widen with its conditions checked: isFloatLike(type), elements a multiple of the block's.
void dequantize(DType type, const void *src, int64_t elements, float *out);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
inline float bfloat16ToFloat(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}
inline uint16_t floatToBfloat16(float value) {
  uint32_t word;
  __builtin_memcpy(&word, &value, 4);
  if ((word & 0x7FFFFFFF) > 0x7F800000) // a NaN stays one
    return uint16_t(word >> 16 | 0x40);
  return uint16_t((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}

} // namespace tessera::io
#endif
