//===- Interfaces.h - What every op of ours can say about itself -*- C++ -*-===//
#ifndef TESSERA_INTERFACES_INTERFACES_H
#define TESSERA_INTERFACES_INTERFACES_H

#include "tessera/Analysis/Sharding/ShardingRule.h"
#include "tessera/Reference/Tensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {

/// What a region op hands on: an operand, block arguments, yielded values and a result.
struct DataFlowEdge {
  llvm::SmallVector<mlir::Value> values;
  /// Those that the edge gives its sharding to: block arguments, then results; at least one. The others are
  /// where it takes from. One of them may be an argument of the op, too: a place of another edge, or a slice.
  llvm::SmallVector<mlir::Value, 2> places = {};
};

/// `stack` is [n, d...]; each of `slices` is [d...] and shares the sharding of d.
struct StackEdge {
  mlir::Value stack;                     ///< operand, or (collected) result
  llvm::SmallVector<mlir::Value> slices; ///< block arguments, or (collected) operands of terminators
  bool collected = false;
};

/// Work of one execution of an op.
struct OpCost {
  double flops = 0;     ///< multiply-add counts two; transcendental functions count one
  double bytesRead = 0; ///< operands, each element once
  double bytesWritten = 0;
};

/// Bytes of a ranked tensor at its present shape (i1 counts one byte).
double tensorBytes(mlir::Type type);
/// Reads every operand and writes every result once, with `flops` operations.
OpCost streamingCost(mlir::Operation *op, double flops);

} // namespace tessera

#include "tessera/Interfaces/CostOpInterface.h.inc"
#include "tessera/Interfaces/DecomposableOpInterface.h.inc"
#include "tessera/Interfaces/DerivativeOpInterface.h.inc"
#include "tessera/Interfaces/DropOpInterface.h.inc"
#include "tessera/Interfaces/ElementwiseOpInterface.h.inc"
#include "tessera/Interfaces/PositionMixingOpInterface.h.inc"
#include "tessera/Interfaces/ReferenceOpInterface.h.inc"
#include "tessera/Interfaces/SameElementsOpInterface.h.inc"
#include "tessera/Interfaces/ShardingRuleOpInterface.h.inc"

#endif
