//===- Judge.h - Random inputs and comparison ------------------*- C++ -*-===//
#ifndef TESSERA_REFERENCE_JUDGE_H
#define TESSERA_REFERENCE_JUDGE_H

#include "tessera/Reference/Interpreter.h"

namespace tessera {

/// Global inputs for `func` (any rung), the same for the same global types, argument attributes and seed.
/// Floats are uniform in [-1, 1), parameters scaled by the square root of their last dimension. Integers by
/// `graph.fill`: positions count up from 0 (a single position starts at 0 to 3) with a tail of -1 in some
/// rows, the index of the wanted position is 0 or 1, token ids are any of the module's vocabulary
/// (`graph.generate`, `graph.train`), targets too, but a fifth and the tails of rows are -1, everything else
/// is small and not negative. Hyperparameters and what optimizers keep are not negative either, and `clip` is
/// 0 for half of the seeds.
std::vector<ReferenceTensor> randomInputs(mlir::func::FuncOp func, uint64_t seed);
/// A table of pages (`#graph.fill<pages>`) whose rows lead every page to another's place.
ReferenceTensor randomPages(mlir::RankedTensorType type, uint64_t seed);

/// Largest difference of `a` and `b` over the largest element of `a` (integers: 0 if equal, else 1). Infinite
/// if shapes differ or one has a NaN or infinity where the other has none. `least`: what the largest element
/// counts as at least.
double relativeError(const ReferenceTensor &a, const ReferenceTensor &b, double least = 0);

} // namespace tessera
#endif
