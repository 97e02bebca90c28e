//===- ShortRounding.h - Where a program rounds to few bits -----*- C++ -*-===//
#ifndef TESSERA_EXECUTION_SHORTROUNDING_H
#define TESSERA_EXECUTION_SHORTROUNDING_H

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// How often `op` runs in one call of its entry, by the loops around it.
double timesRun(mlir::Operation *op);

/// What a program's types say of its numbers: floats of at most 16 bits anywhere, or caches in blocks, whose
/// codes have fewer.
struct ShortRounding {
  double unit = 0;  ///< how far the coarsest of them rounds a number, relative to it; 0: there is none
  double most = 0;  ///< such roundings of the entry that has most
  double every = 0; ///< results of floats of any type that the entry with most makes
  explicit operator bool() const { return unit > 0; }
  /// How far roundings carry results, relative to the largest element: they add up at random.
  double error() const;
};
ShortRounding shortRounding(mlir::ModuleOp module);

} // namespace tessera
#endif
