//===- Judge.h - Random inputs and comparison ------------------*- C++ -*-===//
#ifndef TESSERA_REFERENCE_JUDGE_H
#define TESSERA_REFERENCE_JUDGE_H

#include "tessera/Reference/Interpreter.h"

namespace tessera {

/// Global inputs for `func` (any rung), the same for the same global types, argument attributes and seed.
/// Floats are uniform in [-1, 1), parameters scaled by the square root of their last dimension. Integers by
/// `graph.fill`: positions count up from 0 (a single position starts at 0 to 3) with a tail of -1 in some
/// rows, the index of the wanted position is 0 or 1, token ids are any of the module's vocabulary
/// (`graph.generate`), everything else is small and not negative.
std::vector<ReferenceTensor> randomInputs(mlir::func::FuncOp func, uint64_t seed);

/// Largest difference of `a` and `b` over the largest element of `a` (integers: 0 if equal, else 1). Infinite
/// if shapes differ or one has a NaN or infinity where the other has none.
double relativeError(const ReferenceTensor &a, const ReferenceTensor &b);

} // namespace tessera
#endif
