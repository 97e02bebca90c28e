// Attention with query rows in the lanes.
#ifndef TESSERA_LIB_TARGET_CPU_ATTENTIONROWS_H
#define TESSERA_LIB_TARGET_CPU_ATTENTIONROWS_H

#include "RowLanes.h"

namespace tessera {

/// Query rows in the lanes: prefill. No transposition of keys or values, no horizontal operation.
class RowLaneAttention : public RowLanes {
public:
  RowLaneAttention(mlir::ImplicitLocOpBuilder &builder, const AttentionShape &shape,
                   const AttentionArguments &buffers, const VectorUnit &unit)
      : RowLanes(builder, shape, buffers, unit, shape.seq * shape.group) {}
  static bool fits(const AttentionShape &shape, int64_t lanes);
  static int64_t iterations(const AttentionShape &shape, int64_t lanes);
  void allocate() override;
  void emit(mlir::Value item) override;

private:
  int64_t rowCount() const { return shape.seq * shape.group; }
  void loadPositions(const AttentionIteration &iteration, mlir::Value row0);
  Values beginRows();
  Values scoreKeys(const Rows &keys, mlir::Value start, mlir::Value count, mlir::Value keyEnd);
  Values weighKeys(mlir::ValueRange tops, mlir::Value start, mlir::Value count);
  Rows expanded(const AttentionIteration &iteration, const Rows &rows, mlir::Value start, mlir::Value count,
                mlir::Value to);
  void storeSums(const AttentionIteration &iteration, mlir::Value row0, mlir::ValueRange tops,
                 mlir::ValueRange sums);

  mlir::Value queryT, scores, weights, packedValues, outT, rowPositions, rowFirsts, firstTops, firstSums;
  mlir::Value keyRows, valueRows; ///< of a block of keys; null where these are in no blocks of bytes
  Values upper, lower;            // per row vector: last position in sight; first, where the front is limited
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>
      words; // of the rows' keys, where weights are dropped
};

} // namespace tessera

#endif
