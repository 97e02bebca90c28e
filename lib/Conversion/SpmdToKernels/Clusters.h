//===- Clusters.h - Which ops share a kernel --------------------*- C++ -*-===//
//
// Neighbouring ops become one kernel when the loop of the kernel can run over leading dimensions ("rows")
// that all of them compute independently: pass-through factors of their sharding rules that lead every
// result. Everything else happens within a row. No op kinds.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_SPMDTOKERNELS_CLUSTERS_H
#define TESSERA_LIB_CONVERSION_SPMDTOKERNELS_CLUSTERS_H

#include "Lowering.h"

namespace tessera::kernels {

/// Per dimension of a tensor: the row dimension of the kernel it is, or -1 (whole in every tile).
using RowDims = SmallVector<int, 4>;

/// How the rows of a kernel run through one op's operands and results.
struct OpRows {
  SmallVector<RowDims> operands, results;
};

/// Most leading dimensions of the results that can be rows of `op` (an op with a sharding rule and at least
/// one result).
int maxRows(Operation *op);
/// The places of the first `rows` (<= maxRows) leading dimensions. Dimensions of size 1 are nowhere.
OpRows rowsOf(Operation *op, int rows);

struct Cluster {
  SmallVector<Operation *> ops; ///< in order of execution
  int rows = 0;                 ///< leading dimensions of every result that the kernel's loop runs over
};

/// Iterations of the kernel's loop: product of the row sizes.
int64_t iterations(const Cluster &cluster);
/// Elements that one iteration touches.
int64_t tileElements(const Cluster &cluster);

/// Partitions the ops of `block` that can be lowered to tiles (TileLoweringOpInterface) and reorders the
/// block so that the ops of each cluster stand side by side. Producers join consumers if the rows agree and
/// nothing outside stands between them. O(n^2) in the ops of the block.
SmallVector<Cluster> formClusters(Block &block, const TilingChoices &tiling);

} // namespace tessera::kernels
#endif
