// Which thread of a block touches which element.
#ifndef TESSERA_LIB_TARGET_CUDA_TOUCHES_H
#define TESSERA_LIB_TARGET_CUDA_TOUCHES_H

#include "TileDistributor.h"

namespace tessera {

/// Points beyond which an op is not gone through: it may touch anything, from any thread.
inline constexpr int64_t kMostPoints = 1 << 20;

/// What an op does to an argument or an allocation of a kernel.
struct Touch {
  static constexpr int32_t kSeveral = -1;

  Value root;
  bool writes = false;
  bool exact = false; ///< `threads` is all of it; else any thread may touch any element
  /// Elements are numbered from the root's start plus what these values, times these numbers, add up to.
  /// Null: a value of another round of a loop.
  SmallVector<std::pair<Value, int64_t>> origin;
  DenseMap<int64_t, int32_t> threads; ///< of each element: the one that touches it, or kSeveral
};

/// The argument or allocation that `memref` is a view of.
Value rootOf(Value memref);

/// Whether a thread touches in `a` what another one touches in `b`, one of them writing.
bool crossesThreads(const Touch &a, const Touch &b);

/// What a tile op touches that is spread over `threads` threads as `spread` says.
void collectTouches(linalg::LinalgOp op, const TileSpread &spread, int64_t threads,
                    SmallVectorImpl<Touch> &touches);
/// What a load (by all threads) or a store (by the first one) between tile ops touches.
Touch touchOf(Value memref, ValueRange indices, bool writes);

} // namespace tessera

#endif
