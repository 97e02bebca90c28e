//===- TileDistributor.h - One tile op on the threads of a block -*- C++ -*-===//
//
// TileDistributor.cpp chooses how the op is spread, TileDistributorLoops.cpp emits what one thread does,
// TileDistributorGroups.cpp what threads do that share a reduction.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_TARGET_CUDA_TILEDISTRIBUTOR_H
#define TESSERA_LIB_TARGET_CUDA_TILEDISTRIBUTOR_H

#include "tessera/Target/CUDA/Warp.h"
#include "tessera/Target/Kernels/TileVectorizer.h"

namespace tessera {

/// How an op is spread over the threads of a block. An item is what one thread, or one group, finishes.
struct TileSpread {
  enum Kind {
    Parallel, ///< an item a thread; reductions run in the thread
    Scalar,   ///< the same, element by element: the body has no vector form
    Grouped,  ///< an item a group of threads, which share the reduction along the vectorized dimension
    Split     ///< an item for each of `slices` threads, which share the reductions
  };
  Kind kind = Parallel;
  int64_t dim = -1;   ///< the vectorized one
  int64_t width = 1;  ///< elements that move at once
  int64_t items = 1;  ///< in all
  int64_t group = 1;  ///< threads of a group (Grouped); a power of two
  int64_t slices = 1; ///< (Split)
  int64_t places = 1; ///< (Split) threads of a slice
  SmallVector<int64_t>
      sizes;                 ///< of the item's number, major to minor; the last of Parallel and Split: chunks
  SmallVector<int64_t> dims; ///< which dimension each is
};

class TileDistributor : public TileVectorizer {
public:
  TileDistributor(RewriterBase &rewriter, linalg::LinalgOp op)
      : TileVectorizer(rewriter, op, kMostElements) {}

  /// Threads that the op can use, before a block's size is known.
  int64_t wantedThreads();
  /// How `threads` threads share the op.
  TileSpread spread(int64_t threads);
  /// Replaces the op by what the thread `id` of `threads` does. `again`: the place is passed more than once.
  void emit(const TileSpread &how, Value id, int64_t threads, bool again);

private:
  static constexpr int64_t kMostElements = 8; // of a chunk: 16 bytes of the narrowest wide type

  bool chooseSpreadDimension();
  int64_t widthAlong(int64_t dim);
  bool reductionsCombine();
  SmallVector<int64_t> dimsOf(utils::IteratorType kind, int64_t except);

  Value remainder(Value value, int64_t divisor);
  Value quotient(Value value, int64_t divisor);
  Values delinearize(Value number, ArrayRef<int64_t> sizes);
  Values forPlaces(Value first, int64_t end, int64_t step, ValueRange carried,
                   llvm::function_ref<Values(Value, ValueRange)> body);
  void forItems(Value first, int64_t step, llvm::function_ref<void(Value)> body);
  void placeItem(Value number, Chunk *chunk);
  Value held(OpOperand &out, const Chunk &chunk);
  Values neutrals(int64_t width);
  Value combine(unsigned output, Value a, Value b);
  Value reduceLanes(unsigned output, Value vector);
  Value shuffle(Value value, int64_t distance);
  void finish(unsigned output, Value total, const Chunk &chunk);
  /// Groups of threads that share reductions.
  struct Groups {
    SmallVector<unsigned> reduced; ///< outputs
    Values parts;                  ///< of each of these: what the warps of a group have, where it is several
    Value lane, number;            ///< of this thread within its group, and of the group
  };
  Values accumulate(const Groups &groups, Value number);
  Values accumulateWhere(const Groups &groups, Value number, Value active);
  void shareTotals(const Groups &groups, Values &totals, bool again);
  void emitRound(const Groups &groups, Value base);
  void emitParallel();
  void emitScalar();
  void emitGrouped();
  void emitSplit();
  /// `body` where `condition` holds; everywhere if there is none.
  void where(Value condition, llvm::function_ref<void()> body);
  /// Partial sums of a split reduction, [slices, places * width].
  Value partColumn(Value place);
  Value loadPart(Value part, Value row, Value place);
  void storePart(Value part, Value row, Value place, Value value);
  void sumSlice(ArrayRef<Value> parts, Value slice, Value place);
  void joinSlices(ArrayRef<Value> parts, Value place);
  Values runScalarBody(ValueRange outs);
  Value scratch(ArrayRef<int64_t> shape, Type element);

  TileSpread how;
  Value id;
  int64_t threads = 0;
  bool again = false;
};

} // namespace tessera

#endif
