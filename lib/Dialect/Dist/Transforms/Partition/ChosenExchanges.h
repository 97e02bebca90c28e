//===- ChosenExchanges.h - Only rows that were chosen travel ----*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_CHOSENEXCHANGES_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_CHOSENEXCHANGES_H

#include "mlir/IR/PatternMatch.h"

namespace tessera::dist {

/// An all_to_all between tokens and experts of rows [n..., e, d], all of whose readers choose by the same ids
/// (ChosenRowsOpInterface): a dist.exchange_rows, which sends chosen rows alone. Where tokens do not divide,
/// or every expert is chosen, it stays what it is.
void addChosenExchanges(mlir::RewritePatternSet &patterns);

} // namespace tessera::dist
#endif
