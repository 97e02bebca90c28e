// Kernels of the gradients of attention, from the log-sum-exp of forward.
#ifndef TESSERA_LIB_TARGET_CPU_ATTENTIONGRADIENTS_H
#define TESSERA_LIB_TARGET_CPU_ATTENTIONGRADIENTS_H

#include "AttentionEmitter.h"

namespace tessera {

/// One of the two gradient ops. What it gives a result for stands in the lanes: queries, or keys and values;
/// it goes through the others, which it sums over.
class AttentionGradient : public AttentionEmitter {
public:
  enum class Of { Queries, KeysAndValues };
  /// Beside what attention has: the gradient of its result, delta of a query, the results.
  struct Arrays {
    mlir::Value gradient, delta;
    mlir::Value results[2]; ///< of queries or keys; of values
  };
  AttentionGradient(mlir::ImplicitLocOpBuilder &builder, const AttentionShape &shape,
                    const AttentionArguments &buffers, unsigned lanes, Of of, const Arrays &arrays)
      : AttentionEmitter(builder, shape, buffers, lanes), of(of), arrays(arrays) {}

  static int64_t iterations(const AttentionShape &shape, unsigned lanes, Of of);
  void allocate() override;
  void emit(mlir::Value item) override;

private:
  /// What is multiplied with what: queries with keys, gradients with values.
  enum Product { Scores, Weights };
  bool ofQueries() const { return of == Of::Queries; }
  static int64_t laneRows(const AttentionShape &shape, Of of);
  static int64_t rowVectors(const AttentionShape &shape, int64_t lanes, Of of);
  int64_t blockRows() const { return vectors * lanes; }
  int64_t width(Product product) const { return product == Scores ? shape.headDim : shape.valueDim; }
  int64_t queries() const { return shape.seq * shape.group; }
  mlir::Value array(Product product, bool queriesSide) const;
  Values indices(const AttentionIteration &iteration, bool queriesSide, mlir::Value row, mlir::Value d);
  Values ofQuery(const AttentionIteration &iteration, mlir::Value row);
  void packLanes(const AttentionIteration &iteration, Product product, mlir::Value row0);
  void loadQueries(const AttentionIteration &iteration, mlir::Value row0, int64_t rows, mlir::Value end);
  Values products(const AttentionIteration &iteration, Product product, const Values &rows);
  void differentiateBlock(const AttentionIteration &iteration, mlir::Value start, mlir::Value count,
                          mlir::Value end);
  void accumulate(const AttentionIteration &iteration, Product product, mlir::Value start, mlir::Value count,
                  mlir::Value factors);
  void storeResult(const AttentionIteration &iteration, Product product, mlir::Value row0, double factor);
  mlir::Value seen(mlir::Value key, mlir::Value position, mlir::Value first);

  Of of;
  Arrays arrays;
  int64_t vectors = 0, tile = 0;
  mlir::Value lanesOf[2], sums[2];        ///< transposed: [width, block of lanes]
  mlir::Value weights, slopes;            ///< [block of rows, block of lanes]
  mlir::Value positions, logSums, deltas; ///< of the queries, in the lanes or of a block of rows
  mlir::Value firsts;                     ///< likewise: the first keys in sight, where the front is limited
  Values laneKeys;                        ///< positions of the keys in the lanes
};

} // namespace tessera

#endif
