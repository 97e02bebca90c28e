// Our own product kernels: bound by memory bandwidth for few rows, about two thirds of peak for many.
#ifndef TESSERA_RUNTIME_CPU_GEMMKERNELS_H
#define TESSERA_RUNTIME_CPU_GEMMKERNELS_H

#include "BlockKernels.h"

#include <stdint.h>

namespace tessera::runtime {

// Layout of one packed weight [n, k]: blocks of `block` rows (64, fewer if n is small); within a block
// k-major in groups of g neighbours: element (i, j) at (((i / block) * paddedK / g + j / g) * block + i %
// block) * g + j % g. g is 1, and 2 for bfloat16. k is padded to 16 g, n to the block, with zeros. It is
// oneDNN's BA16a<block>b (BA16a<block>b2a) of the transposed matrix.
struct PackedWeight {
  int64_t n, k, block, paddedN, paddedK;
};

// How weights are stored; x and y are float32.
enum class WeightFormat { F32, BF16, F16 };

struct GemmKernelSet {
  // y[m, n] = x[m, k] . w^T for the columns [16 begin, 16 end) of y.
  void (*packedColumns)(const PackedWeight &w, const void *data, int64_t m, const float *x, float *y,
                        int64_t begin, int64_t end);
  // y[m, n] = x[m, k] . w[n, k]^T, w row-major, for the columns [begin, end).
  void (*plainColumns)(int64_t m, int64_t n, int64_t k, const float *x, const void *w, float *y,
                       int64_t begin, int64_t end);
  // y[m, n] = x[m, k] . w[k, n], w row-major, for the columns [16 begin, 16 end) of y.
  void (*transposedColumns)(int64_t m, int64_t n, int64_t k, const float *x, const void *w, float *y,
                            int64_t begin, int64_t end);
};

struct GemmKernels {
  GemmKernelSet sets[3]; // by WeightFormat
  const GemmKernelSet &operator[](WeightFormat format) const { return sets[int(format)]; }

  // Of types of blocks, in the order of io::DType from Q8_0 on.
  BlockKernelSet blocks[13];
  // y[r, 0..16 vectors) = x[r, :] . panel[:, 0..16 vectors) for m rows, added to what y has if `adds`; panel
  // is [k, kPanelRows].
  void (*panelColumns)(int64_t m, int64_t k, const float *x, int64_t ldx, const float *panel, float *y,
                       int64_t ldy, int vectors, bool adds);
};

// As `packedColumns`, of a weight and rows of x of bfloat16, by pairs of neighbours in k: k is even.
using PackedPairColumns = void (*)(const PackedWeight &w, const void *data, int64_t m, const uint16_t *x,
                                   float *y, int64_t begin, int64_t end);

// All that this machine runs, the fastest last.
struct RunnableKernels {
  const GemmKernels *kernels[3];
  int count;
  const GemmKernels *const *begin() const { return kernels; }
  const GemmKernels *const *end() const { return kernels + count; }
};
RunnableKernels runnableKernels();
// The fastest.
const GemmKernels &gemmKernels();
// Where the CPU multiplies bfloat16, else null; the first one by type as `blocks`.
const BlockPairKernels *blockPairKernels();
PackedPairColumns packedPairColumns();

} // namespace tessera::runtime
#endif
