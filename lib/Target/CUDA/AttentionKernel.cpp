//===- AttentionKernel.cpp - attention as a kernel function of threads ------===//

#include "tessera/Target/CUDA/AttentionKernel.h"

#include "AttentionBlock.h"

#include "tessera/Target/CUDA/Passes.h"

#include "llvm/Support/MathExtras.h"

namespace tessera {

using namespace mlir;

namespace {
/// Bytes of shared memory that a block may have on every architecture.
constexpr int64_t kSharedBytes = 99 * 1024;
/// Warps of a block.
constexpr int64_t kWarps = 4;
/// Blocks that fill a large GPU: two for each of 132 multiprocessors.
constexpr int64_t kWantedBlocks = 264;
/// The widest head whose sums a thread can hold in registers.
constexpr int64_t kWidestHead = 256;
} // namespace

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
      if (AttentionMemory(shape, tiling).total <= kSharedBytes)
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

func::FuncOp buildCUDAAttentionKernel(Location loc, StringRef name, const AttentionShape &shape,
                                      const AttentionTiling &tiling) {
  AttentionFunction function(loc, name, shape, attentionScratch(shape, tiling));
  ImplicitLocOpBuilder b(loc, function.builder);
  function.func->setAttr(kThreadsAttr, b.getI64IntegerAttr(tiling.threads()));
  function.func->setAttr(kNativeBF16Attr, b.getUnitAttr());
  Value block = function.openLoop(b);
  AttentionBlock(b, shape, tiling, function.arguments).emit(block);
  return function.func;
}

} // namespace tessera
