// The rows of the table. What the functions do is in DTypeConvert.cpp, DTypeBlocks.cpp, DTypeQuantize.cpp,
// DTypePack.cpp and DTypeReduce.cpp.
#include "tessera/runtime/io/DType.h"
#include "DTypeFunctions.h"

#include <cassert>
#include <iterator>

namespace tessera::io {

// In the order of DType.
static constexpr DTypeTraits table[] = {
    {"F64", "f64", 1, 8, widenF64, nullptr, 0, nullptr, nullptr, nullptr},
    {"F32", "f32", 1, 4, widenF32, narrowF32, 1, packF32, unpackRow32, reduceF32},
    {"F16", "f16", 1, 2, widenF16, narrowF16, 1, packF16, unpackRow16, reduceF16},
    // Pairs: what bfloat16 dot products of the hardware (and oneDNN) read.
    {"BF16", "bf16", 1, 2, widenBF16, narrowBF16, 2, packBF16, unpackRowPairs16, reduceBF16},
    {"I64", "i64", 1, 8, nullptr, nullptr, 0, nullptr, nullptr, reduceI64},
    {"I32", "i32", 1, 4, nullptr, nullptr, 0, nullptr, nullptr, reduceI32},
    {"I16", "i16", 1, 2, nullptr, nullptr, 0, nullptr, nullptr, nullptr},
    {"I8", "i8", 1, 1, nullptr, nullptr, 0, nullptr, nullptr, nullptr},
    {"U64", nullptr, 1, 8, nullptr, nullptr, 0, nullptr, nullptr, nullptr},
    {"U32", nullptr, 1, 4, nullptr, nullptr, 0, nullptr, nullptr, nullptr},
    {"U16", nullptr, 1, 2, nullptr, nullptr, 0, nullptr, nullptr, nullptr},
    {"U8", nullptr, 1, 1, nullptr, nullptr, 0, nullptr, nullptr, nullptr},
    {"BOOL", "i1", 1, 1, nullptr, nullptr, 0, nullptr, nullptr, nullptr},
    {"Q8_0", nullptr, 32, 34, widenQ8_0, narrowQ8_0, 0, nullptr, nullptr, nullptr},
    {"Q4_1", nullptr, 32, 20, widenQ4_1, narrowQ4_1, 0, nullptr, nullptr, nullptr},
    {"Q4_0", nullptr, 32, 18, widenQ4_0, narrowQ4_0, 0, nullptr, nullptr, nullptr},
    {"Q5_0", nullptr, 32, 22, widenQ5_0, narrowQ5_0, 0, nullptr, nullptr, nullptr},
    {"Q5_1", nullptr, 32, 24, widenQ5_1, narrowQ5_1, 0, nullptr, nullptr, nullptr},
    {"Q4_K", nullptr, 256, 144, widenQ4_K, narrowQ4_K, 0, nullptr, nullptr, nullptr},
    {"Q5_K", nullptr, 256, 176, widenQ5_K, narrowQ5_K, 0, nullptr, nullptr, nullptr},
    {"Q6_K", nullptr, 256, 210, widenQ6_K, narrowQ6_K, 0, nullptr, nullptr, nullptr},
    {"MXFP4", nullptr, 32, 17, widenMXFP4, narrowMXFP4, 0, nullptr, nullptr, nullptr},
    {"FP8", nullptr, 128, 132, widenFP8, narrowFP8, 0, nullptr, nullptr, nullptr},
    {"INT4_32", nullptr, 32, 19, widenINT4_32, narrowINT4_32, 0, nullptr, nullptr, nullptr},
    {"INT4_64", nullptr, 64, 35, widenINT4_64, narrowINT4_64, 0, nullptr, nullptr, nullptr},
    {"INT4_128", nullptr, 128, 67, widenINT4_128, narrowINT4_128, 0, nullptr, nullptr, nullptr},
    {"F8_E4M3", nullptr, 1, 1, widenF8_E4M3, nullptr, 0, nullptr, nullptr, nullptr},
};
static_assert(std::size(table) == size_t(DType::F8_E4M3) + 1);

const DTypeTraits &traits(DType type) { return table[static_cast<int>(type)]; }

std::vector<DType> allDTypes() {
  std::vector<DType> all(std::size(table));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = DType(i);
  return all;
}

std::optional<DType> dtypeFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i)
    if (table[i].name && name == table[i].name)
      return DType(i);
  return std::nullopt;
}

std::optional<DType> dtypeFromFileName(std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i)
    if (table[i].blockElements == 1 && name == table[i].fileName)
      return DType(i);
  return std::nullopt;
}

std::optional<DType> weightTypeFromFileName(std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i)
    if (table[i].widen && name == table[i].fileName)
      return DType(i);
  return std::nullopt;
}

void dequantize(DType type, const void *source, int64_t elements, float *out) {
  assert(isFloatLike(type) && elements % blockElements(type) == 0);
  if (elements)
    traits(type).widen(source, elements, out);
}

} // namespace tessera::io
