//===- AttentionBlock.h - What one block of attention does ------*- C++ -*-===//
//
// AttentionBlock.cpp: which rows and keys, the loop over tiles of keys, the softmax. AttentionTiles.cpp: what
// lies in shared memory and how it gets there. AttentionProducts.cpp: the two products of a tile.
// AttentionResults.cpp: what warps and blocks have is put together and written. AttentionWarpgroups.h: what
// is different where products are those of warpgroups.
//
// A thread of a warp has rows r and, of 16, r + 8, with r = lane / 4; of every 8 keys it has the scores of
// keys 2c and 2c + 1, with c = lane % 4: what mma.sync leaves it. The four lanes of a row are a quad.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_TARGET_CUDA_ATTENTIONBLOCK_H
#define TESSERA_LIB_TARGET_CUDA_ATTENTIONBLOCK_H

#include "ThreadCode.h"

#include "tessera/Target/CUDA/AttentionKernel.h"

namespace tessera {

/// Where things lie in the block's shared memory, in bytes.
struct AttentionMemory {
  int64_t keyStride, valueStride; ///< from row to row of a tile; of queries it is that of keys. For
                                  ///< warpgroups: bytes of a line, of which a row has several, each in a
                                  ///< panel
  int64_t query, tiles, weights;  ///< begin of the queries, of the first stage, of the weights (fma)
  int64_t values;                 ///< from a stage's begin to its values
  int64_t stage;                  ///< from stage to stage
  int64_t weightStride;           ///< from row to row of a warp's weights
  int64_t resultStride;           ///< from row to row of the results, which take the place of the tiles
  int64_t tops;                   ///< begin of the maxima and sums, behind the results
  int64_t total;

  AttentionMemory(const AttentionShape &shape, const AttentionTiling &tiling);

private:
  void placeTiles(const AttentionShape &shape, const AttentionTiling &tiling, int64_t keyWidth,
                  int64_t valueWidth);
  void placeWarpgroupTiles(const AttentionShape &shape, const AttentionTiling &tiling);
};

class AttentionBlock {
public:
  AttentionBlock(mlir::ImplicitLocOpBuilder &builder, const AttentionShape &shape,
                 const AttentionTiling &tiling, const AttentionArguments &arguments);
  virtual ~AttentionBlock() = default;
  /// The code of block number `block`.
  void emit(mlir::Value block);

protected:
  /// Scores of keys out of sight, and the maximum to start from: far below any score, above the former.
  static constexpr double kMasked = -1e30, kLowest = -1e20;
  /// Of scores, that the largest is scaled by instead of each: with less, kMasked would come near kLowest.
  static constexpr double kLeastFactor = 1e-6;
  static constexpr double kLog2E = 1.4426950408889634;
  /// Tiles that a block has at least where it has any.
  static constexpr int64_t kLeastTiles = 2;
  using Value = mlir::Value;

  /// What a thread carries from tile to tile.
  struct State {
    Values out;  ///< sums of values, weighted: see AttentionProducts.cpp
    Values tops; ///< of each of its rows the largest score of its warp
    Values sums; ///< of each of its rows the sum of its own weights
    Values flat() const;
  };
  State unflatten(mlir::ValueRange values) const;

  // AttentionBlock.cpp
  void locate(Value block);
  void findKeys();
  virtual void attend();
  Values softmax(Values &scores, State &state, Value firstKey);
  void shrinkSums(State &state, mlir::ArrayRef<Value> shrink);
  Values mask(mlir::ArrayRef<Value> scores, Value firstKey);
  Value rowPosition(Value row);

  // AttentionTiles.cpp
  struct Source {
    Value pointer, valid;
  };
  Source queryRow(Value row);
  Value firstKeyOf(Value tile) { return t.add(keyStart, t.mul(tile, tiling.keys)); }
  /// How far from their own place the keys of a tile stand; one that is beyond the last is the last's. Null
  /// without pages.
  Value shiftOf(Value tile);
  Source keyRow(Value pointer, Value key, Value shift, int64_t width);
  void copyRows(Value to, int64_t stride, int64_t rows, int64_t width, mlir::Type type,
                llvm::function_ref<Source(Value)> source);
  void clearPadding(Value to, int64_t stride, int64_t rows, int64_t width);
  void copyKeys(Value tile, Value stage, Value shift);
  Value stageAt(Value number);
  mlir::Type tileType() const { return tiling.matrix ? elementType : t.floatType(); }
  int64_t tileBytes() const { return tiling.matrix ? 2 : 4; }

  // AttentionProducts.cpp
  int64_t threadRows() const { return tiling.warpRows / 8; }
  int64_t warpKeys() const { return tiling.keys / tiling.keyWarps; }
  int64_t outValues() const;
  mlir::Type outType();
  Values scoresByMatrix(Value stage);
  Values scoresByFma(Value stage);
  void addValuesByMatrix(State &state, mlir::ArrayRef<Value> weights, Value stage);
  void addValuesByFma(State &state, mlir::ArrayRef<Value> weights, Value stage);

  // AttentionResults.cpp
  struct Result {
    Value top, sum, out;
  };
  void keepState(const State &state);
  Result mergeWarps(Value row, Value column);
  void forResults(llvm::function_ref<void(Value row, Value column)> body);
  void write(Value row, Value column, const Result &result);
  void writePartial(Value row, Value column, const Result &result);
  Result mergeSplits(Value row, Value column);
  Value scratchRow(Value row, Value split);
  void writeResults(const State &state);
  int64_t resultWidth() const;

  mlir::ImplicitLocOpBuilder &b;
  ThreadCode t;
  const AttentionShape &shape;
  const AttentionTiling &tiling;
  const AttentionArguments &arguments;
  AttentionMemory memory;
  mlir::Type elementType, keyType;
  int64_t rows;

  Value shared; // the block's memory
  Value q, k, v, positions, pages, out, logSumExp, scratch, counters, base;
  Value thread, lane, quadRow, quadLane, rowWarp, keyWarp;
  Value batch, head, rowTile, row0, split;        // of the block
  Value keyStart, keyEnd, leastSight, lastHidden; // keys that a row sees; all do from, and up to
  Value tiles, tilesPerSplit, activeSplits;
  Values upper, lower; // of the thread's rows: last key in sight; last one before
};

} // namespace tessera

#endif
