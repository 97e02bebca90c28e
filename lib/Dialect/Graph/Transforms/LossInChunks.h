//===- LossInChunks.h - A loss whose logits are never there whole -*- C++ -*-===//
//
// Logits are the largest value of a step: 206 MB for GPT-2's 1024 positions, as much as eight of its layers
// save. What follows from one position's logits needs no other's, and the gradient of a sum is known before
// the sum is. So the program's tail, the loss and their gradients are one loop over parts of the positions,
// and no product runs twice.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_LOSSINCHUNKS_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_LOSSINCHUNKS_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/PositionWise.h"

#include "mlir/IR/IRMapping.h"

namespace tessera::graph {

/// Into how many parts `rows` x `seq` positions are cut, a divisor of `seq`, so that a part's logits are no
/// more than what a layer's forward and backward hold of all positions: about 20 numbers for each of the
/// `width` of a position. At least 64 positions stay together, for products of fewer read a weight for
/// little. 1: the logits are small.
int64_t chunksOfLoss(int64_t rows, int64_t seq, int64_t width, int64_t vocab);

struct LossInChunks {
  const PositionWise &positionWise;
  const PositionWise::Tail &tail; ///< of the function whose tail it is, not empty
  mlir::Value logits;             ///< what the tail gives there
  int64_t rows, seq, chunks;
  mlir::Value targets, tokenWeight; ///< i32 [rows, seq]; f32 []

  /// What a gradient is known of, and the gradient, null where nothing depends on it.
  using Gradient = std::pair<mlir::Value, mlir::Value>;

  /// Emits the loop and gives the loss, f32 []: the sum over targets, times `tokenWeight`. `values` maps
  /// values of the function to those of the block it was cloned into, the tail apart. With a `seed`, the
  /// loss's own gradient, `gradients` are those of what the tail reads.
  mlir::FailureOr<mlir::Value> emit(mlir::OpBuilder &builder, mlir::Location loc, mlir::IRMapping &values,
                                    mlir::Value seed, llvm::SmallVectorImpl<Gradient> &gradients);
};

} // namespace tessera::graph
#endif
