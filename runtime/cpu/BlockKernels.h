// Kernels over weights in quantized blocks (io/BlockLayout.h), for every instruction set.
#ifndef TESSERA_RUNTIME_CPU_BLOCKKERNELS_H
#define TESSERA_RUNTIME_CPU_BLOCKKERNELS_H

#include <stdint.h>

namespace tessera::runtime {

// One layer: 16 rows a unit. Sub-blocks, and super-blocks, of each of its chunks; `phases`: of each chunk the
// place of its first sub-block in the super-block.
struct BlockUnits {
  const uint8_t *units;
  int64_t unitBytes, n, chunks, blocks, supers;
  const uint8_t *phases;
};

// Products of rows of bfloat16, by pairs of columns; where the CPU multiplies these.
struct BlockPairKernels {
  int lines;      // of a panel, for each sub-block
  bool readsSums; // `columns` does
  // panel[sub-block, line, stride]: a unit's words stand in 16 neighbouring columns.
  void (*expand)(const BlockUnits &w, int64_t unit, uint32_t *panel, int64_t stride);
  // y[r, 0..columns) = x[r, :] . panel for m rows; x[m, 16 blocks] has pairs, the even column in the low
  // half; sums[m, blocks] are as below.
  void (*columns)(int64_t m, int64_t blocks, const uint32_t *x, const float *sums, const uint32_t *panel,
                  int64_t stride, float *y, int64_t ldy, int64_t columns);
};

struct BlockKernelSet {
  // y[m, n] = x[m, columns] . w^T for m <= 4 rows and the columns [16 begin, 16 end) of y. sums[m,
  // sub-blocks]: of x over each sub-block.
  void (*fewRows)(const BlockUnits &w, int64_t m, const float *x, const float *sums, float *y, int64_t begin,
                  int64_t end);
  // panel[c * stride + r] = element c of row r of a unit.
  void (*expand)(const BlockUnits &w, int64_t unit, float *panel, int64_t stride);
};

} // namespace tessera::runtime
#endif
