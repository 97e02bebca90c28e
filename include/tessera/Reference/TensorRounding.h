//===- TensorRounding.h - Random rounding ---------------------------*- C++ -*-===//
#ifndef TESSERA_REFERENCE_TENSORROUNDING_H
#define TESSERA_REFERENCE_TENSORROUNDING_H

#include "tessera/Reference/Tensor.h"

#include <random>

namespace tessera {

/// Moves every float element that is no number of its element type to one of its two neighbours that are,
/// each as likely.
void roundAtRandom(ReferenceTensor &tensor, std::mt19937_64 &dice);
/// One of the two float32 next to `x`.
double roundFloat32AtRandom(double x, std::mt19937_64 &dice);

} // namespace tessera
#endif
