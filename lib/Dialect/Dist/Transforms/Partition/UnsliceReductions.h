//===- UnsliceReductions.h - Reduce before slicing --------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_UNSLICEREDUCTIONS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_UNSLICEREDUCTIONS_H

#include "tessera/AutoParallel/Machine.h"

#include "mlir/IR/PatternMatch.h"

namespace tessera::dist {

/// An op that reduces pieces which all_slice cut out of what every rank has whole, and an all_reduce behind
/// it: the whole is reduced instead, and nothing travels. Only where the work that is no longer divided takes
/// no longer on `machine` than the all_reduce.
void addUnsliceReductions(mlir::RewritePatternSet &patterns, Machine machine);

} // namespace tessera::dist
#endif
