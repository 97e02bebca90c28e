// Attention kernels with rows in the lanes of vectors: what forward and the gradients share.
#ifndef TESSERA_LIB_TARGET_CPU_ROWLANES_H
#define TESSERA_LIB_TARGET_CPU_ROWLANES_H

#include "AttentionEmitter.h"

#include <functional>

namespace tessera {

/// A block of rows stands in the lanes and meets others row by row: products give a vector of lanes for each
/// of the others, sums go over the others.
///
/// An *operand* is scratch that holds what is multiplied: a vector of float32 for every term of a sum. Where
/// all arrays are bfloat16 and the CPU adds their products in pairs (VectorUnit::bf16Pairs), it holds a
/// vector of words for every two terms, and one instruction adds both to a float32 in every lane.
class RowLanes : public AttentionEmitter {
protected:
  /// Rows of `width` elements in memory; element `d` of row `row` is at `at(row, d)`.
  struct Rows {
    mlir::Value array;
    int64_t width, count;
    std::function<Values(mlir::Value row, mlir::Value d)> at;
  };

  /// `more`: arrays that are multiplied beside q, k and v.
  RowLanes(mlir::ImplicitLocOpBuilder &builder, const AttentionShape &shape,
           const AttentionArguments &buffers, const VectorUnit &unit, int64_t rows,
           mlir::ValueRange more = {});

  static int64_t rowVectors(int64_t rows, int64_t lanes) { return rows > lanes ? 2 : 1; }
  int64_t blockRows() const { return vectors * lanes; }

  // Scratch, for rows of `width` elements: what packLanes writes; float32 sums, transposed; what packRows
  // keeps of `count` rows (null where terms stand alone). For `count` rows: factors.
  mlir::Value lanesOf(int64_t width) { return operand(padded(width, terms * lanes), blockRows()); }
  mlir::Value sumsOf(int64_t width) { return scratch({padded(width, lanes), blockRows()}); }
  mlir::Value packedRows(int64_t count, int64_t width) {
    return terms == 2 ? operand(count, padded(width, 2 * lanes)) : mlir::Value();
  }
  mlir::Value factorsOf(int64_t count) { return operand(count, blockRows()); }

  /// Writes the rows from `row0` on into the lanes of `to`. Behind the last row stands that row again.
  void packLanes(const Rows &rows, mlir::Value row0, mlir::Value to);
  /// Keeps the rows [start, start + count) as accumulate reads them. None behind `last` is read: it stands
  /// for them.
  void packRows(const Rows &rows, mlir::Value start, mlir::Value count, mlir::Value last, mlir::Value to);
  /// Products of the rows `numbers` with what stands in the lanes: a vector for each row and row vector.
  Values products(const Rows &rows, const Values &numbers, mlir::Value inLanes);
  /// Keeps `factors` of accumulate: of row vector `v`, for the rows of a block from `first` on.
  void storeFactors(const Values &factors, mlir::Value to, mlir::Value first, int64_t v);
  /// Adds the rows [start, start + count), times their `factors`, to `sums`, which are multiplied by `shrink`
  /// first (empty: left as they are). Factors behind the last row are 0 up to whole operands.
  void accumulate(const Rows &rows, mlir::Value start, mlir::Value count, mlir::Value packed,
                  mlir::Value factors, mlir::Value sums, mlir::ValueRange shrink = {});
  void clear(mlir::Value sums);
  /// Writes `sums`, times a vector of factors for each row vector, as the rows from `row0` on.
  void storeLanes(mlir::Value sums, mlir::ValueRange factors, const Rows &rows, mlir::Value row0);
  void whereRowExists(mlir::Value row, int64_t rows, llvm::function_ref<void()> body);

  /// x and y, rounded to bfloat16, as the two terms of a word in every lane.
  mlir::Value pairOf(mlir::Value x, mlir::Value y);
  /// sum + both terms of `pair`, as float32.
  mlir::Value addTerms(mlir::Value sum, mlir::Value pair);
  /// sum + the products of the terms of x and y, as float32.
  mlir::Value addProducts(mlir::Value sum, mlir::Value x, mlir::Value y);

  int64_t terms;   ///< of a sum in an element of an operand: 1 or 2
  int64_t vectors; ///< of a block of rows
  int64_t tile;    ///< rows that products and factors go by

private:
  mlir::Value operand(int64_t count, int64_t columns);
  mlir::Value loadOperand(mlir::Value operand, mlir::ValueRange at);
  /// The terms at `at` of an array or an operand, in all lanes.
  mlir::Value everywhere(mlir::Value array, mlir::ValueRange at);
  /// `lanes` elements of an operand that holds the elements of an array's row, from the one at `at` on.
  mlir::Value loadTerms(mlir::Value array, mlir::ValueRange at, int64_t active);
  mlir::Value countTerms(mlir::Value count) { return div(add(count, terms - 1), terms); }
  static int64_t padded(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

  mlir::VectorType pairs; ///< two bfloat16 terms a lane
};

} // namespace tessera

#endif
