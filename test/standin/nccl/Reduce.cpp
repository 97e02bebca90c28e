#include "Reduce.h"
#include "tessera/runtime/io/DType.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tessera::nccl;

namespace standin::nccl {

size_t elementBytes(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  default:
    return 8;
  }
}

const char *typeName(ncclDataType_t type) {
  static const char *names[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                "uint64", "float16", "float32", "float64", "bfloat16"};
  return names[int(type)];
}

bool canReduce(ncclDataType_t type, ncclRedOp_t operation) {
  return operation == ncclSum || operation == ncclMax;
}

namespace {

// A value in memory, and as what it is added.
struct Half {
  static float load(uint16_t bits) { return tessera::io::halfToFloat(bits); }
  static uint16_t store(float value) { return tessera::io::floatToHalf(value); }
};
struct Brain {
  static float load(uint16_t bits) { return tessera::io::bfloat16ToFloat(bits); }
  static uint16_t store(float value) { return tessera::io::floatToBfloat16(value); }
};
template <typename T> struct Plain {
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};

template <typename T> T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else
    return a + b;
}
template <typename T> T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(a, b);
  else
    return std::max(a, b);
}

uint64_t mixed(uint64_t h) {
  h ^= h >> 30, h *= 0xBF58476D1CE4E5B9ull, h ^= h >> 27, h *= 0x94D049BB133111EBull;
  return h ^ h >> 31;
}

template <typename Stored, typename Form>
void reduceAs(ncclRedOp_t operation, const std::vector<const char *> &sources, char *into, size_t first,
              size_t count, size_t total, uint64_t seed) {
  size_t ranks = sources.size(), chunk = std::max<size_t>(1, (total + ranks - 1) / ranks);
  uint64_t drawn = mixed(seed);
  size_t step = ranks > 2 && drawn >> 32 & 1 ? ranks - 1 : 1; // around the ring one way or the other
  for (size_t i = 0; i < count; ++i) {
    // In a ring each chunk of the array begins its way at another rank.
    size_t rank = ((first + i) / chunk + drawn) % ranks;
    auto value = [&](size_t r) {
      Stored bits;
      memcpy(&bits, sources[r] + i * sizeof(Stored), sizeof(Stored));
      return Form::load(bits);
    };
    auto result = value(rank);
    for (size_t turn = 1; turn < ranks; ++turn) {
      rank = (rank + step) % ranks;
      auto next = value(rank);
      result = operation == ncclSum ? add(result, next) : larger(result, next);
      result = Form::load(Form::store(result)); // what goes to the next rank has the array's type
    }
    Stored bits = Form::store(result);
    memcpy(into + i * sizeof(Stored), &bits, sizeof(Stored));
  }
}

} // namespace

void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const char *> &sources, char *into,
            size_t first, size_t count, size_t total, uint64_t seed) {
  auto as = [&](auto stored, auto form) {
    reduceAs<decltype(stored), decltype(form)>(operation, sources, into, first, count, total, seed);
  };
  switch (type) {
  case ncclInt8:
    return as(int8_t(), Plain<int8_t>());
  case ncclUint8:
    return as(uint8_t(), Plain<uint8_t>());
  case ncclInt32:
    return as(int32_t(), Plain<int32_t>());
  case ncclUint32:
    return as(uint32_t(), Plain<uint32_t>());
  case ncclInt64:
    return as(int64_t(), Plain<int64_t>());
  case ncclUint64:
    return as(uint64_t(), Plain<uint64_t>());
  case ncclFloat16:
    return as(uint16_t(), Half());
  case ncclFloat32:
    return as(float(), Plain<float>());
  case ncclFloat64:
    return as(double(), Plain<double>());
  case ncclBfloat16:
    return as(uint16_t(), Brain());
  }
}

} // namespace standin::nccl
