// Products on the CPU: packed weights for few rows (own kernels) and for many (oneDNN's brgemm on the same
// bytes). Operands and results are float32, bfloat16 or float16, sums always float32.
#ifndef TESSERA_RUNTIME_CPU_GEMM_H
#define TESSERA_RUNTIME_CPU_GEMM_H

#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/core/ProductFunction.h"
#include "tessera/runtime/core/ThreadPool.h"
#include "tessera/runtime/cpu/BlockWeight.h"
#include "tessera/runtime/io/DType.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

struct PackedWeight;

// A weight [n, k] packed once at load; see cpu/GemmKernels.h for the layout. Does not depend on the number of
// threads.
class PackedLayout {
public:
  // `type` has a packed form.
  PackedLayout(int64_t n, int64_t k, io::DType type);
  int64_t n, k, block, paddedN, paddedK;
  io::DType type;
  int64_t bytes() const { return io::bytesOf(type, paddedN * paddedK); }
  // Writes rows [begin, begin + rows) from a row-major buffer, rounded to the type. `begin` is a multiple of
  // `block`.
  void packRows(int64_t begin, int64_t rows, const float *from, void *packed) const;
  // Row `i`, k elements of the type.
  void unpackRow(int64_t i, const void *packed, void *row) const;

private:
  int64_t blockOffset(int64_t i) const { return io::bytesOf(type, i / block * block * paddedK); }
};

// Types of x, W and y. Any of float32, bfloat16 and float16; products are added up in float32 and rounded
// once.
struct GemmTypes {
  io::DType x = io::DType::F32, w = io::DType::F32, y = io::DType::F32;
};

// What is done to the sums before they are rounded: y = function(sum + addend + bias).
struct GemmEpilogue {
  bool bias = false, addend = false; // [n] and [m, n], of y's type
  ProductFunction function = ProductFunction::None;
  bool empty() const { return !bias && !addend && function == ProductFunction::None; }
};

// Which operands lie the other way round: x as [k, m], W as [k, n].
struct GemmOrientation {
  bool x = false, w = false;
};

// One product shape y[m, n] = x[m, k] . W^T, ready to run: primitives are made here, not at the first call.
// Of one rank. Each thread takes a share of the rows of y where there are many, of its columns where there
// are few.
class Gemm {
public:
  // packed: W comes in PackedLayout(n, k, types.w); else plain row-major [n, k].
  // oneDNN adds to what lies in y already; any other epilogue is a pass over float32 sums in our own kernels.
  // A packed W has one orientation.
  Gemm(int64_t m, int64_t n, int64_t k, GemmTypes types, bool packed, ThreadPool &pool,
       GemmEpilogue epilogue = {}, GemmOrientation transposed = {});
  // W is held in blocks, which are expanded exactly, to float32, whatever type the program gives W.
  Gemm(int64_t m, const BlockWeight &weight, GemmTypes types, ThreadPool &pool, GemmEpilogue epilogue = {},
       bool xTransposed = false);
  ~Gemm();
  Gemm(Gemm &&) noexcept;

  // `addend` may be `y`.
  void run(const void *x, const void *w, void *y, const void *bias = nullptr, const void *addend = nullptr);
  // "own", "own:pairs" (of bfloat16), "blocks", "brg:avx512_core", "gemm:jit": what computes it.
  const char *implementation() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tessera::runtime
#endif
