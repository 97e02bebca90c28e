//===- ShardingAgrees.h - Trait: shardings agree with the rule -*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_IR_SHARDINGAGREES_H
#define TESSERA_DIALECT_DIST_IR_SHARDINGAGREES_H

#include "mlir/IR/OpDefinition.h"

namespace tessera::dist {

/// See verifyOpSharding in Dist.h; here without its includes, for the trait.
llvm::LogicalResult verifyShardingAgrees(mlir::Operation *op);

/// The op's operands and results carry shardings that agree with its rule, or none at all. Checked as a
/// region trait, that is after the op's own verifier: rules may trust that ranks, sizes and attributes make
/// sense.
template <typename ConcreteType>
struct ShardingAgrees : public mlir::OpTrait::TraitBase<ConcreteType, ShardingAgrees> {
  static llvm::LogicalResult verifyRegionTrait(mlir::Operation *op) { return verifyShardingAgrees(op); }
};

} // namespace tessera::dist
#endif
