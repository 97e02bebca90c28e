//===- CanonicalOrder.h - The ops of a block, however they are written ------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_CANONICALORDER_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_CANONICALORDER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace tessera::dist {

/// The ops of `block` in an order that dependencies allow and that does not hang on the order they are
/// written in: where several could come next, it is the one that reads what was made last, then what the op
/// is, reads and is read by decides. Ops that none of this tells apart, as good as the same, stay in program
/// order. Whoever breaks ties by order decides alike, then, for all ways of writing a program. Names do not
/// count. n log n in the ops, nested ones included.
std::vector<mlir::Operation *> canonicalOrder(mlir::Block &block);

} // namespace tessera::dist
#endif
