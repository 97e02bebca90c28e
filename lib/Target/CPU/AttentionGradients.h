// Kernels of the gradients of attention, from the log-sum-exp of forward.
#ifndef TESSERA_LIB_TARGET_CPU_ATTENTIONGRADIENTS_H
#define TESSERA_LIB_TARGET_CPU_ATTENTIONGRADIENTS_H

#include "RowLanes.h"

namespace tessera {

/// One of the two gradient ops. What it gives a result for stands in the lanes: queries, or keys and values;
/// it goes through the others, which it sums over.
class AttentionGradient : public RowLanes {
public:
  enum class Of { Queries, KeysAndValues };
  /// Beside what attention has: the gradient of its result, delta of a query, the results.
  struct Arrays {
    mlir::Value gradient, delta;
    mlir::Value results[2]; ///< of queries or keys; of values
  };
  AttentionGradient(mlir::ImplicitLocOpBuilder &builder, const AttentionShape &shape,
                    const AttentionArguments &buffers, const VectorUnit &unit, Of of, const Arrays &arrays)
      : RowLanes(builder, shape, buffers, unit, laneRows(shape, of), arrays.gradient), of(of),
        arrays(arrays) {}

  static int64_t iterations(const AttentionShape &shape, int64_t lanes, Of of);
  void allocate() override;
  void emit(mlir::Value item) override;

private:
  /// What is multiplied with what: queries with keys, gradients with values.
  enum Product { Scores, Weights };
  bool ofQueries() const { return of == Of::Queries; }
  /// Those whose sums are results.
  llvm::SmallVector<Product> results() const {
    return ofQueries() ? llvm::SmallVector<Product>{Scores} : llvm::SmallVector<Product>{Scores, Weights};
  }
  static int64_t laneRows(const AttentionShape &shape, Of of);
  int64_t width(Product product) const { return product == Scores ? shape.headDim : shape.valueDim; }
  int64_t queries() const { return shape.seq * shape.group; }
  Rows rows(const AttentionIteration &iteration, Product product, bool queriesSide);
  Rows inLanes(const AttentionIteration &iteration, Product product) {
    return rows(iteration, product, ofQueries());
  }
  Rows others(const AttentionIteration &iteration, Product product) {
    return rows(iteration, product, !ofQueries());
  }
  Values ofQuery(const AttentionIteration &iteration, mlir::Value row);
  void loadQueries(const AttentionIteration &iteration, mlir::Value row0, int64_t rows, mlir::Value end);
  void differentiateBlock(const AttentionIteration &iteration, mlir::Value start, mlir::Value count,
                          mlir::Value end);
  mlir::Value seen(mlir::Value key, mlir::Value position, mlir::Value first);

  Of of;
  Arrays arrays;
  mlir::Value packedLanes[2], packed[2], sums[2]; ///< of RowLanes
  mlir::Value factors[2];                         ///< likewise: slopes of scores, and weights
  mlir::Value held, bends;                        ///< of a tile: weights, the slopes of a soft cap
  mlir::Value positions, logSums, deltas;         ///< of the queries, in the lanes or of a block of rows
  mlir::Value firsts; ///< likewise: the first keys in sight, where the front is limited
  Values laneKeys;    ///< positions of the keys in the lanes
};

} // namespace tessera

#endif
