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

// Rows of weights, columns of y, that a panel of expanded weights has.
constexpr int64_t kPanelRows = 64;

// Products of rows of bfloat16, by pairs of columns; where the CPU multiplies these.
struct BlockPairKernels {
  int lines;      // of a panel, for each sub-block
  bool readsSums; // `columns` does
  // Sub-blocks [first, first + count) of a unit, counted through all chunks: panel[sub-block, line,
  // kPanelRows], where a unit's words stand in 16 neighbouring columns.
  void (*expand)(const BlockUnits &w, int64_t unit, int64_t first, int64_t count, uint32_t *panel);
  // sums[0, count) of pairs over sub-blocks that stand side by side.
  void (*addUp)(int64_t count, const uint32_t *x, float *sums);
  // y[r, 0..16 vectors) = x[r, :] . panel for m rows, added to what y has if `adds`. x[r, 16 blocks] has
  // pairs, the even column in the low half; sums[r, blocks] are of these.
  void (*columns)(int64_t m, int64_t blocks, const uint32_t *x, int64_t ldx, const float *sums,
                  int64_t ldsums, const uint32_t *panel, float *y, int64_t ldy, int vectors, bool adds);
  // y[m, n] = x[m, columns] . w^T for m <= 4 rows, each with the bits that `columns` gives it; sums as there.
  // Null where codes become floats faster than pairs.
  void (*fewRows)(const BlockUnits &w, int64_t m, const uint32_t *x, int64_t ldx, const float *sums,
                  float *y);
};

struct BlockKernelSet {
  // y[m, n] = x[m, columns] . w^T for m <= 4 rows and the columns [16 begin, 16 end) of y. sums[m,
  // sub-blocks]: of x over each sub-block.
  void (*fewRows)(const BlockUnits &w, int64_t m, const float *x, const float *sums, float *y, int64_t begin,
                  int64_t end);
  // panel[c * stride + r] = element c of row r of a unit, of sub-blocks [first, first + count).
  void (*expand)(const BlockUnits &w, int64_t unit, int64_t first, int64_t count, float *panel,
                 int64_t stride);
};

} // namespace tessera::runtime
#endif
