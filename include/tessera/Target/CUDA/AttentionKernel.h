// Attention as a kernel of the CUDA target: online softmax over tiles of keys (FlashAttention, arXiv
// 2205.14135), the keys split over blocks where rows are few (flash-decoding).
#ifndef TESSERA_TARGET_CUDA_ATTENTIONKERNEL_H
#define TESSERA_TARGET_CUDA_ATTENTIONKERNEL_H

#include "tessera/Target/CUDA/Warp.h"
#include "tessera/Target/Forms/Attention.h"

namespace tessera {

/// How a block works. A block has a tile of query rows (positions x heads of one group) of one KV head, which
/// `rowWarps` warps share; `keyWarps` warps share the keys of a tile.
struct AttentionTiling {
  bool matrix = false;  ///< products by mma.sync, of 16-bit elements; else by fma, of float32
  int64_t rowWarps = 1; ///< warps side by side along the rows
  int64_t keyWarps = 1; ///< warps side by side along the keys
  int64_t warpRows = 8; ///< rows of a warp: 8 or 16
  int64_t keys = 32;    ///< of a tile
  int64_t stages = 2;   ///< tiles in shared memory
  int64_t splits = 1;   ///< blocks that share the keys of a tile of rows
  int64_t rowTiles = 1;
  int64_t blocks = 1;     ///< of the launch
  int64_t warpgroups = 0; ///< products by wgmma, of so many times four warps; 0: not

  int64_t tileRows() const { return rowWarps * warpRows; }
  int64_t threads() const { return kWarp * rowWarps * keyWarps; }
};

/// None: no block can hold such heads, or what the kernel has no code for.
std::optional<AttentionTiling> tileAttention(const AttentionShape &shape);

/// The same for products of warpgroups, on sm_90a. None: they do not take such heads or elements, or rows are
/// too few for them.
std::optional<AttentionTiling> tileWarpgroupAttention(const AttentionShape &shape);

/// Elements (float32) of the scratch output that the blocks of a tile of rows meet by; 0 without splits.
int64_t attentionScratch(const AttentionShape &shape, const AttentionTiling &tiling);

/// The function of AttentionFunction (tessera/Target/Forms/Attention.h) with `scratch` elements of scratch,
/// at least attentionScratch; count is `tiling.blocks`.
mlir::func::FuncOp buildCUDAAttentionKernel(mlir::Location loc, llvm::StringRef name,
                                            const AttentionShape &shape, const AttentionTiling &tiling,
                                            int64_t scratch);

} // namespace tessera

#endif
