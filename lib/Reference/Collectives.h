//===- Collectives.h - What collectives mean by their attributes -*- C++ -*-===//
#ifndef TESSERA_LIB_REFERENCE_COLLECTIVES_H
#define TESSERA_LIB_REFERENCE_COLLECTIVES_H

#include "tessera/Reference/ShardedShape.h"

#include "mlir/IR/Operation.h"

namespace tessera {

/// What the runtime would do with a collective of dialect dist: whom it meets, what it takes from whom and
/// where it puts it follows from the attributes (axes, dims) and from how the operand lies, never from the
/// type of the result, which only says how large a piece is. The second opinion is `exchange`, which knows
/// the two types and nothing of the attributes: elements must be the same, and padding is as poisoned as
/// there. `error` says which element differs, where one does.
llvm::FailureOr<RankValues> runCollective(mlir::Operation *op, const RankValues &pieces,
                                          const ShardedShape &from, const ShardedShape &to,
                                          std::string &error);

/// The same of dist.exchange_rows: rows of the result that `received` does not choose are poisoned, and it is
/// an error if the choices are not those of `sent`.
llvm::FailureOr<RankValues> runExchange(mlir::Operation *op, const RankValues &rows, const RankValues &sent,
                                        const RankValues &received, std::string &error);

} // namespace tessera
#endif
