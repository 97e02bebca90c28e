//===- IdentityRule.h - The rule of what changes no element -----*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_IR_IDENTITYRULE_H
#define TESSERA_LIB_DIALECT_DIST_IR_IDENTITYRULE_H

#include "tessera/Dialect/Dist/IR/Dist.h"

namespace tessera::dist {

/// One factor per dimension, the same in operand and result: what comes in goes out, in any sharding.
ShardingRule identityRule(mlir::Value value);

} // namespace tessera::dist
#endif
