// What both forms of the attention kernel are written with: buffers, vectors, loops.
#ifndef TESSERA_LIB_TARGET_CPU_ATTENTIONEMITTER_H
#define TESSERA_LIB_TARGET_CPU_ATTENTIONEMITTER_H

#include "tessera/Target/CPU/AttentionKernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

using Values = llvm::SmallVector<mlir::Value>;

/// Where an iteration works: one row of the batch, one KV head.
struct AttentionIteration {
  mlir::Value batch, head;
};

class AttentionEmitter {
public:
  AttentionEmitter(mlir::ImplicitLocOpBuilder &builder, const AttentionShape &shape,
                   const AttentionArguments &buffers, int64_t lanes)
      : b(builder), shape(shape), buffers(buffers), lanes(lanes),
        floats(mlir::VectorType::get({lanes}, b.getF32Type())),
        ints(mlir::VectorType::get({lanes}, b.getI32Type())) {}
  virtual ~AttentionEmitter() = default;

  /// Scratch buffers; called once at the entry of the function.
  virtual void allocate() = 0;
  /// The code of iteration `item`.
  virtual void emit(mlir::Value item) = 0;

protected:
  /// Scores of keys out of sight, and the maximum to start from: far below any score, above the former.
  static constexpr double kMasked = -1e30, kLowest = -1e20;
  static constexpr double kLog2E = 1.4426950408889634;

  // Constants and index arithmetic.
  mlir::Value index(int64_t value);
  mlir::Value f32(double value);
  mlir::Value i32(int64_t value);
  mlir::Value splat(double value);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::AddIOp>(x, y); }
  mlir::Value add(mlir::Value x, int64_t y) { return y ? add(x, index(y)) : x; }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::SubIOp>(x, y); }
  mlir::Value mul(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::MulIOp>(x, index(y)); }
  mlir::Value div(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::DivUIOp>(x, index(y)); }
  mlir::Value rem(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::RemUIOp>(x, index(y)); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MinSIOp>(x, y); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MaxSIOp>(x, y); }
  mlir::Value toI32(mlir::Value x) { return mlir::arith::IndexCastOp::create(b, b.getI32Type(), x); }
  mlir::Value toIndex(mlir::Value x) { return mlir::arith::IndexCastOp::create(b, b.getIndexType(), x); }
  /// `x` rounded up to a multiple of `to`.
  mlir::Value roundUp(mlir::Value x, int64_t to) { return mul(div(add(x, to - 1), to), to); }

  // Memory. Narrow floats are widened on load and rounded on store; `active` < lanes masks the rest (loaded
  // as 0).
  mlir::Value scratch(llvm::ArrayRef<int64_t> dims, mlir::Type element = {});
  mlir::Value load(mlir::Value buffer, mlir::ValueRange at);
  /// As they lie there.
  mlir::Value loadElements(mlir::VectorType type, mlir::Value buffer, mlir::ValueRange at, int64_t active);
  mlir::Value loadVector(mlir::Value buffer, mlir::ValueRange at, int64_t active);
  mlir::Value loadVector(mlir::Value buffer, mlir::ValueRange at) { return loadVector(buffer, at, lanes); }
  void store(mlir::Value value, mlir::Value buffer, mlir::ValueRange at);
  void storeVector(mlir::Value value, mlir::Value buffer, mlir::ValueRange at, int64_t active);
  void storeVector(mlir::Value value, mlir::Value buffer, mlir::ValueRange at) {
    storeVector(value, buffer, at, lanes);
  }
  /// Indices of element `d` of key (or value) `j`, which is a row, or in a ring goes round.
  Values keyIndices(const AttentionIteration &iteration, mlir::Value j, mlir::Value d);
  /// `lanes` elements from `d` on of key (or value) `j`, of which the first `active` are there. Of keys in
  /// blocks all are: whole vectors make up a block.
  mlir::Value loadKey(mlir::Value buffer, const AttentionIteration &iteration, mlir::Value j, mlir::Value d,
                      int64_t active);
  bool hasBlocks() const;
  /// Indices of element `d` of query row `row` (position row / group, head row % group).
  Values queryIndices(const AttentionIteration &iteration, mlir::Value row, mlir::Value d);
  /// The number of keys to go through, of which `end` is the first that no query sees: not below 0, and as
  /// many as there are rows, but for a ring.
  mlir::Value boundedKeyEnd(mlir::Value end);
  /// The position of query row `row`, which is that of the last key in sight.
  mlir::Value positionOf(const AttentionIteration &iteration, mlir::Value row);
  /// Of a shape that limits the keys in front: the first one that a row at `position` sees.
  bool limitsFront() const { return shape.window || shape.firsts; }
  mlir::Value firstInSight(const AttentionIteration &iteration, mlir::Value row, mlir::Value position);

  // Vectors.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value mulf(mlir::Value x, mlir::Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  mlir::Value addf(mlir::Value x, mlir::Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  mlir::Value maxf(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, c, x, y);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, predicate, x, y);
  }
  /// 2^x of x <= 0, vector or scalar: relative error 2e-7; below -126.5 exactly 0.
  mlir::Value exp2(mlir::Value x);
  /// The score of a product q.k, in base 2 logarithms (soft cap applied); the query was scaled by
  /// queryScale().
  mlir::Value score(mlir::Value product);
  double queryScale() const;
  /// Writes the log-sum-exp output of query `row`, from its maximum (base 2) and its sum.
  void storeLogSumExp(const AttentionIteration &iteration, mlir::Value row, mlir::Value top, mlir::Value sum);
  /// What a row's maximum (base 2) and sum begin with, scalars: nothing, or the sink of its head as the first
  /// key, of weight 1.
  std::pair<mlir::Value, mlir::Value> beginSoftmax(const AttentionIteration &iteration, mlir::Value row);
  // Dropout of weights. Words are those of a row's key: vectors, or scalars that are splat.
  /// Scratch for the words of `rows` rows.
  void allocateWords(int64_t rows);
  /// Called once an iteration, before any weight is dropped.
  void beginDropout();
  /// Keeps the words of query row `row` at `l`.
  void storeWords(const AttentionIteration &iteration, mlir::Value row, mlir::Value l);
  /// Lanes whose weight for the keys at `columns` goes.
  mlir::Value isDropped(mlir::Value low, mlir::Value high, mlir::Value columns);
  /// x, dropped from and scaled, where `gone` says so.
  mlir::Value keep(mlir::Value gone, mlir::Value x) { return select(gone, splat(0.0), mulf(x, keptScale)); }

  /// 1 / x, or 0 where x is 0.
  mlir::Value inverse(mlir::Value x);
  /// `lanes` vectors as rows of a square, transposed.
  Values transpose(Values rows);
  /// Vector whose lane i is the sum over vector i.
  mlir::Value sumEach(Values vectors);

  /// for (i = lower; i < upper; i += step); `body` gets i and the carried values and returns them updated.
  Values loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange carried,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// `body(start, active)` on stretches of `length` elements of [0, size), the last one maybe shorter.
  void forStretches(int64_t size, int64_t length, llvm::function_ref<void(mlir::Value, int64_t)> body);

  mlir::ImplicitLocOpBuilder &b;
  const AttentionShape &shape;
  AttentionArguments buffers;
  int64_t lanes;
  mlir::VectorType floats, ints;
  mlir::Value lowWords, highWords;      ///< of rows, where weights are dropped
  mlir::Value dropThreshold, keptScale; ///< splat
};

/// Few query rows, head dimension and keys in the lanes: decode.
class KeyLaneAttention : public AttentionEmitter {
public:
  using AttentionEmitter::AttentionEmitter;
  static int64_t iterations(const AttentionShape &shape);
  void allocate() override;
  void emit(mlir::Value item) override;

private:
  static int64_t rowTile(const AttentionShape &shape);
  int64_t rows() const { return shape.seq * shape.group; }
  void scoreKeys(const AttentionIteration &iteration, mlir::Value r, mlir::Value start, mlir::Value count,
                 mlir::Value last);
  void softmax(mlir::Value r, mlir::Value start, mlir::Value count);
  mlir::Value laneNumbers();
  void accumulateValues(const AttentionIteration &iteration, mlir::Value start, mlir::Value count,
                        mlir::Value last);

  int64_t tile = 0;
  mlir::Value query, scores, sums, tops, scales, accumulators, rowPositions, rowFirsts;
};

} // namespace tessera

#endif
