// float32 products on the CPU: packed weights for few rows (own kernels) and for many (oneDNN's brgemm on the
// same bytes).
#ifndef TESSERA_RUNTIME_CPU_GEMM_H
#define TESSERA_RUNTIME_CPU_GEMM_H

#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/core/ThreadPool.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

struct PackedWeight;

// A weight [n, k] packed once at load; see cpu/GemmKernels.h for the layout. Does not depend on the number of
// threads.
class PackedLayout {
public:
  PackedLayout(int64_t n, int64_t k);
  int64_t n, k, block, paddedN, paddedK;
  int64_t elements() const { return paddedN * paddedK; }
  // Writes row `i` (k floats) of the weight.
  void packRow(int64_t i, const float *row, float *packed) const;
  // Writes rows [begin, begin + rows) from a row-major buffer; faster than row by row. `begin` is a multiple
  // of `block`.
  void packRows(int64_t begin, int64_t rows, const float *from, float *packed) const;
  void unpackRow(int64_t i, const float *packed, float *row) const;
};

// One product shape y[m, n] = x[m, k] . W^T, ready to run: primitives are made here, not at the first call.
// Of one rank. Each thread takes a share of the rows of y where there are many, of its columns where there
// are few.
class Gemm {
public:
  // packed: W comes in PackedLayout(n, k); else plain row-major [n, k].
  Gemm(int64_t m, int64_t n, int64_t k, bool packed, ThreadPool &pool);
  ~Gemm();
  Gemm(Gemm &&) noexcept;

  void run(const float *x, const float *w, float *y);
  // "own", "brg:avx512_core", "gemm:jit": what computes it.
  const char *implementation() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tessera::runtime
#endif
