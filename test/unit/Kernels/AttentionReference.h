// What attention kernels of every target are tested with: shapes, positions, a reference in float64.
#ifndef TESSERA_TEST_UNIT_KERNELS_ATTENTIONREFERENCE_H
#define TESSERA_TEST_UNIT_KERNELS_ATTENTIONREFERENCE_H

#include "tessera/Target/Forms/Attention.h"

#include <functional>
#include <vector>

namespace tessera::test {

/// With values as wide as keys, and the usual scale.
AttentionShape make(int64_t batch, int64_t seq, int64_t context, int64_t kvHeads, int64_t group,
                    int64_t headDim);
AttentionShape with(AttentionShape shape, std::function<void(AttentionShape &)> change);

/// Where the rows of an attention stand in their sequences, and its keys.
struct AttentionPositions {
  /// Row i of batch b stands at first + i - 5 b; rows from `inertFrom` on (below 0: none) are padding. Key j
  /// stands at base + j.
  AttentionPositions(const AttentionShape &shape, int64_t first, int64_t base, int64_t inertFrom);

  std::vector<int32_t> rows;    ///< [B, S]
  std::vector<int32_t> firsts;  ///< [B, S], where the shape has them: of the first keys in sight
  std::vector<int32_t> given;   ///< what a kernel is given: rows, or [B, S, 2] with firsts
  std::vector<int64_t> largest; ///< [B], of `rows`; -1: all are padding
  int64_t base;
};

struct AttentionResults {
  std::vector<double> out;       ///< [B, S, KVH, G, Dv]
  std::vector<double> logSumExp; ///< [B, S, KVH, G]
};

/// Of q [B, S, KVH, G, Dh] and, at `layer`, k [L, B, T, KVH, Dh] and v [L, B, T, KVH, Dv].
AttentionResults attentionReference(const AttentionShape &shape, const AttentionPositions &positions,
                                    const float *q, const float *k, const float *v, int64_t layer);

/// Calls `body` with the numbers of the rows of [L, B, T, KVH] that no query of `layer` sees: these must not
/// be read.
void forUnseenKeys(const AttentionShape &shape, const AttentionPositions &positions, int64_t layer,
                   const std::function<void(int64_t row)> &body);

} // namespace tessera::test

#endif
