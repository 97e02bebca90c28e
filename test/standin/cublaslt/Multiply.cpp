// The numbers: every element of D is a sum of its own, in the order of k, a few lanes side by side.
#include "Problem.h"

#include <algorithm>
#include <cmath>

namespace standin {

using tessera::io::traits;

typedef float Lanes __attribute__((vector_size(32)));

static float dot(const float *x, const float *y, uint64_t count) {
  Lanes sums[2] = {};
  uint64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int part : {0, 1}) {
      Lanes u, v;
      __builtin_memcpy(&u, x + i + 8 * part, sizeof(u));
      __builtin_memcpy(&v, y + i + 8 * part, sizeof(v));
      sums[part] += u * v;
    }
  sums[0] += sums[1];
  float sum = 0;
  for (int lane = 0; lane < 8; ++lane)
    sum += sums[0][lane];
  for (; i < count; ++i)
    sum += x[i] * y[i];
  return sum;
}

static float rounded(float value, tessera::io::DType type) {
  uint32_t held = 0;
  traits(type).narrow(&value, 1, &held);
  traits(type).widen(&held, 1, &value);
  return value;
}

// The same with every sum in 16 bits.
static float halfDot(const float *x, const float *y, uint64_t count) {
  float sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum = rounded(sum + x[i] * y[i], tessera::io::DType::F16);
  return sum;
}

// To 10 bits of mantissa.
static void roundToTF32(float *values, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, values + i, 4);
    bits = (bits + 0x1000) & ~uint32_t(0x1FFF);
    __builtin_memcpy(values + i, &bits, 4);
  }
}

// Row i of op(X) [rows, count] as floats: a column of X where it is transposed.
static void readRow(const Layout &layout, const void *data, bool columns, uint64_t i, uint64_t count,
                    float *out) {
  const auto &type = traits(elementType(layout.type));
  size_t bytes = elementBytes(layout.type);
  auto *base = static_cast<const char *>(data);
  if (columns)
    return type.widen(base + i * uint64_t(layout.leading) * bytes, int64_t(count), out);
  for (uint64_t j = 0; j < count; ++j)
    type.widen(base + (j * uint64_t(layout.leading) + i) * bytes, 1, out + j);
}

static float activate(uint32_t epilogue, float value) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU)
    return std::max(value, 0.0f);
  if (epilogue & CUBLASLT_EPILOGUE_GELU)
    return 0.5f * value * (1 + std::tanh(0.7978845608f * (value + 0.044715f * value * value * value)));
  return value;
}

void multiply(const Problem &p, const Operands &operands, const Algorithm &algorithm) {
  uint32_t splits = algorithm.splits;
  bool tf32 = algorithm.numerics & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32,
       half = algorithm.numerics & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F;
  bool aColumns = p.desc.transA != CUBLAS_OP_N, bColumns = p.desc.transB == CUBLAS_OP_N;
  size_t dBytes = elementBytes(p.d.type);
  const auto &dType = traits(elementType(p.d.type));
  std::vector<float> right(size_t(p.n * p.k)), row(size_t(p.k));
  for (uint64_t j = 0; j < p.n; ++j)
    readRow(p.b, operands.b, bColumns, j, p.k, right.data() + j * p.k);
  if (tf32)
    roundToTF32(right.data(), right.size());
  for (uint64_t i = 0; i < p.m; ++i) {
    readRow(p.a, operands.a, aColumns, i, p.k, row.data());
    if (tf32)
      roundToTF32(row.data(), p.k);
    float bias = 0;
    if (p.hasBias())
      dType.widen(static_cast<const char *>(operands.bias) + i * dBytes, 1, &bias);
    for (uint64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (uint32_t part = 0; part < splits; ++part) {
        uint64_t begin = p.k * part / splits, end = p.k * (part + 1) / splits;
        float more = (half ? halfDot : dot)(row.data() + begin, right.data() + j * p.k + begin, end - begin);
        sum = algorithm.narrowParts
                  ? rounded(sum + rounded(more, elementType(p.d.type)), elementType(p.d.type))
                  : sum + more;
      }
      float value = operands.alpha * sum;
      if (operands.beta != 0) {
        float before;
        dType.widen(static_cast<const char *>(operands.c) + (j * uint64_t(p.c.leading) + i) * dBytes, 1,
                    &before);
        value += operands.beta * before;
      }
      value = activate(p.desc.epilogue, value + bias);
      dType.narrow(&value, 1, static_cast<char *>(operands.d) + (j * uint64_t(p.d.leading) + i) * dBytes);
    }
  }
}

} // namespace standin
