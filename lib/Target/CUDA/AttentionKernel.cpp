//===- AttentionKernel.cpp - attention as a kernel function of threads ------===//

#include "tessera/Target/CUDA/AttentionKernel.h"

#include "Architectures.h"
#include "AttentionWarpgroups.h"

#include "tessera/Target/CUDA/Passes.h"

#include "llvm/Support/MathExtras.h"

namespace tessera {

using namespace mlir;

namespace {
/// Warps of a block.
constexpr int64_t kWarps = 4;
/// Blocks that fill a large GPU: two for each of 132 multiprocessors.
constexpr int64_t kWantedBlocks = 264;
/// Blocks of two warpgroups, one a multiprocessor, that nearly fill such a GPU.
constexpr int64_t kWarpgroupBlocks = 100;
constexpr int64_t kWarpgroupRows = 64;
/// The widest head whose sums a thread can hold in registers.
constexpr int64_t kWidestHead = 256;
} // namespace

/// Whether all keys of a tile stand in one page.
static bool fitsPage(const AttentionShape &shape, const AttentionTiling &tiling) {
  return !shape.page || shape.page % tiling.keys == 0;
}

/// Rows, warps and keys of a block that has room for it.
static bool fitBlock(const AttentionShape &shape, AttentionTiling &tiling) {
  int64_t rows = shape.seq * shape.group;
  tiling.warpRows = tiling.matrix || rows > 8 ? 16 : 8;
  int64_t wanted =
      std::min<int64_t>(kWarps, int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(rows, tiling.warpRows))));
  int64_t least = tiling.matrix ? 16 : 8;
  for (tiling.rowWarps = wanted; tiling.rowWarps; tiling.rowWarps /= 2) {
    tiling.keyWarps = kWarps / tiling.rowWarps;
    for (tiling.keys = tiling.matrix ? 64 : 32; tiling.keys >= least * tiling.keyWarps; tiling.keys /= 2)
      if (fitsPage(shape, tiling) && AttentionMemory(shape, tiling).total <= sharedBytesOf())
        return true;
  }
  return false;
}

std::optional<AttentionTiling> tileAttention(const AttentionShape &shape) {
  if (shape.headDim > kWidestHead || shape.valueDim > kWidestHead)
    return std::nullopt;
  AttentionTiling tiling;
  Type element = shape.elementType, key = shape.keyType ? shape.keyType : element;
  tiling.matrix = element && element == key && (element.isBF16() || element.isF16());
  if (!fitBlock(shape, tiling))
    return std::nullopt;
  int64_t rows = shape.seq * shape.group;
  tiling.rowTiles = int64_t(llvm::divideCeil(rows, tiling.tileRows()));
  int64_t tiles = shape.batch * shape.kvHeads * tiling.rowTiles;
  // Keys that one tile of rows may see.
  int64_t keys = shape.context;
  if (shape.window)
    keys = std::min(keys, *shape.window + tiling.tileRows() / shape.group + 1 + tiling.keys);
  int64_t keyTiles = int64_t(llvm::divideCeil(keys, tiling.keys));
  if (2 * tiles <= kWantedBlocks)
    tiling.splits = std::clamp<int64_t>(keyTiles / 2, 1, kWantedBlocks / tiles);
  tiling.blocks = tiles * tiling.splits;
  return tiling;
}

std::optional<AttentionTiling> tileWarpgroupAttention(const AttentionShape &shape) {
  Type element = shape.elementType, key = shape.keyType ? shape.keyType : element;
  auto takes = [](int64_t width) { return width % 16 == 0 && width <= kWidestHead; };
  int64_t rows = shape.seq * shape.group;
  if (!element || element != key || !(element.isBF16() || element.isF16()) || !takes(shape.headDim) ||
      !takes(shape.valueDim) || rows < kWarpgroupRows)
    return std::nullopt;
  AttentionTiling tiling;
  tiling.matrix = true;
  tiling.warpRows = 16;
  // Sums, scores and weights are all in registers.
  tiling.keys = std::max(shape.headDim, shape.valueDim) <= 128 ? 128 : 64;
  if (!fitsPage(shape, tiling))
    return std::nullopt;
  for (tiling.warpgroups = 2;; --tiling.warpgroups) {
    tiling.rowWarps = 4 * tiling.warpgroups;
    tiling.rowTiles = int64_t(llvm::divideCeil(rows, tiling.tileRows()));
    tiling.blocks = shape.batch * shape.kvHeads * tiling.rowTiles;
    if (tiling.warpgroups == 1 || tiling.blocks >= kWarpgroupBlocks)
      break;
  }
  tiling.stages = 3;
  if (AttentionMemory(shape, tiling).total > sharedBytesOf(kWarpgroupChip))
    tiling.stages = 2;
  return tiling;
}

func::FuncOp buildCUDAAttentionKernel(Location loc, StringRef name, const AttentionShape &shape,
                                      const AttentionTiling &tiling, int64_t scratch) {
  AttentionFunction function(loc, name, shape, scratch);
  ImplicitLocOpBuilder b(loc, function.builder);
  function.func->setAttr(kThreadsAttr, b.getI64IntegerAttr(tiling.threads()));
  function.func->setAttr(kNativeBF16Attr, b.getUnitAttr());
  Value block = function.openLoop(b);
  if (tiling.warpgroups) {
    function.func->setAttr(kChipAttr, b.getStringAttr(kWarpgroupChip));
    WarpgroupAttention(b, shape, tiling, function.arguments).emit(block);
  } else {
    AttentionBlock(b, shape, tiling, function.arguments).emit(block);
  }
  return function.func;
}

} // namespace tessera
